package listen

import (
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// Lengths of a token: the least makes guessing hopeless if the token is
// random, the most is what any client can put into a header.
const (
	minToken = 16
	maxToken = 1024
)

// Token reads the token that the settings' file holds, without blanks around
// it; without a file it is empty. A [*config.Error], which never shows the
// token, is returned unless that has 16 to 1024 bytes of visible ASCII.
func Token(settings config.Config) (string, error) {
	path := settings.TokenFile
	if path == "" {
		return "", nil
	}
	refuse := func(reason string) (string, error) {
		return "", settings.Fault(config.KeyTokenFile, path, reason)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return refuse(plain(err))
	}
	token := strings.TrimSpace(string(content))
	if n := len(token); n < minToken || n > maxToken {
		return refuse(fmt.Sprintf("the file holds %d bytes: must be from %d to %d", n, minToken, maxToken))
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return refuse("the file holds something else than visible ASCII")
	}
	return token, nil
}

// Check returns a [*config.Error] for each file, of the token and of TLS, that can't be used.
func Check(settings config.Config) error {
	_, err := Token(settings)
	if settings.TLS.Certificate == "" || settings.TLS.Key == "" {
		return err // one without the other is refused before it is read
	}
	_, tlsErr := newCertificates(settings)
	return config.Join(err, tlsErr)
}

// others are the permissions of everybody but a file's owner.
const others = 0o077

// Warnings returns what is odd about the files but keeps nothing from working: a token or a key
// that others can reach is no secret. Windows keeps permissions elsewhere.
func Warnings(settings config.Config) (warnings []string) {
	if runtime.GOOS == "windows" {
		return nil
	}
	files := map[string]string{config.KeyTokenFile: settings.TokenFile}
	for name, g := range settings.Generators {
		files["generators."+name+".settings.key-file"] = g.Settings["key-file"]
	}
	for _, key := range slices.Sorted(maps.Keys(files)) {
		if info, err := os.Stat(files[key]); err == nil && info.Mode()&others != 0 {
			warnings = append(warnings, fmt.Sprintf("%s: %s: others than its owner have access (mode %04o, should be 0600)", key, files[key], info.Mode().Perm()))
		}
	}
	return warnings
}
