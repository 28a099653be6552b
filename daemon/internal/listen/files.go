package listen

import (
	"crypto/tls"
	"fmt"
	"maps"
	"os"
	"runtime"
	"slices"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/token"
)

// Tokens opens the settings' file of tokens, or returns nil if clients need no token.
// A [*config.Error] is returned when the file can't be used.
func Tokens(settings config.Config) (*token.Ring, error) {
	if settings.TokenFile == "" {
		return nil, nil
	}
	ring, err := token.Open(settings.TokenFile)
	if err != nil {
		return nil, settings.Fault(config.KeyTokenFile, settings.TokenFile, err.Error())
	}
	return ring, nil
}

// Check returns a [*config.Error] for each file, of the token and of TLS, that can't be used.
func Check(settings config.Config) error {
	_, err := Tokens(settings)
	if settings.TLS.Certificate == "" || settings.TLS.Key == "" {
		return err // one without the other is refused before it is read
	}
	_, tlsErr := NewCertificates(settings, nil)
	return config.Join(err, tlsErr)
}

// others are the permissions of everybody but a file's owner.
const others = 0o077

// soon is how long before the end of a certificate a warning comes.
const soon = 14 * 24 * time.Hour

// Warnings returns warnings about the files: a token that is weak or for a generator that is not
// configured, a certificate that has ended or ends soon, and a file of tokens or a key that other users
// can reach. Windows keeps permissions elsewhere.
func Warnings(settings config.Config, now time.Time) (warnings []string) {
	if pair, err := tls.LoadX509KeyPair(settings.TLS.Certificate, settings.TLS.Key); err == nil && now.Add(soon).After(pair.Leaf.NotAfter) {
		warnings = append(warnings, fmt.Sprintf("%s: %s: the certificate ends at %s", config.KeyCertificate, settings.TLS.Certificate, pair.Leaf.NotAfter.UTC().Format(time.RFC3339)))
	}
	if ring, err := Tokens(settings); err == nil && ring != nil {
		warnings = append(warnings, ring.Warnings(settings.Names())...)
	}
	if runtime.GOOS == "windows" {
		return warnings
	}
	files := map[string]string{config.KeyTokenFile: settings.TokenFile, config.KeyPrivateKey: settings.TLS.Key}
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
