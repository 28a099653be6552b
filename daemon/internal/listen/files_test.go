package listen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
)

func TestFilesOfSecretsThatOthersCanReadAreWarnedOf(t *testing.T) {
	folder := t.TempDir()
	file := func(name string) string { return filepath.Join(folder, name) }
	settings := config.Config{TokenFile: file("token"), TLS: config.TLS{Certificate: file("cert"), Key: file("key")}}
	for mode, want := range map[os.FileMode][]string{0o600: nil, 0o640: {"tls.key: ", "token-file: "}} {
		for _, name := range []string{"token", "cert", "key"} {
			if err := os.WriteFile(file(name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(file(name), mode); err != nil {
				t.Fatal(err)
			}
		}
		got := Warnings(settings, time.Now())
		if len(got) != len(want) {
			t.Fatalf("%o: %q", mode, got)
		}
		for i, begin := range want {
			if !strings.HasPrefix(got[i], begin) || !strings.Contains(got[i], "mode 0640, should be 0600") {
				t.Errorf("%o: %q", mode, got)
			}
		}
	}
}

func TestCertificateThatEndsSoonIsWarnedOf(t *testing.T) {
	c, files := certificates(t)
	end := c.current.Certificates[0].Leaf.NotAfter
	for now, want := range map[time.Time]int{end.Add(-15 * 24 * time.Hour): 0, end.Add(-6 * 24 * time.Hour): 1, end.Add(time.Hour): 1} {
		got := Warnings(config.Config{TLS: files}, now)
		if len(got) != want || want > 0 && !strings.HasPrefix(got[0], "tls.certificate: "+files.Certificate+": the certificate ends at "+end.UTC().Format(time.RFC3339)) {
			t.Errorf("at %s: %q", now, got)
		}
	}
}
