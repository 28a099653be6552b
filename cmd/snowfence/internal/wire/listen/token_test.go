package listen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

func TestTokenIsReadFromItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	for content, want := range map[string]string{
		"correct-horse-battery\n":        "correct-horse-battery",
		"  correct-horse-battery \r\n":   "correct-horse-battery",
		strings.Repeat("x", maxToken):    strings.Repeat("x", maxToken),
		"too short":                      "",
		"":                               "",
		strings.Repeat("x", maxToken+1):  "",
		"correct horse battery staple":   "",
		"correct-horse-battery-\x00-bla": "",
		"correct-hörse-battery":          "",
	} {
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := Token(config.Config{TokenFile: path})
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%.30q: %.30q, %v; want %.30q", content, got, err, want)
		}
		if trimmed := strings.TrimSpace(content); err != nil && trimmed != "" && strings.Contains(err.Error(), trimmed) {
			t.Errorf("%.30q: the error shows the token: %v", content, err)
		}
	}
	if _, err := Token(config.Config{TokenFile: "/nowhere/token"}); err == nil {
		t.Error("a missing file was accepted")
	}
}

func TestTokenThatOthersCanReachIsWarnedOf(t *testing.T) {
	path := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(path, []byte("correct-horse-battery"), 0o600); err != nil {
		t.Fatal(err)
	}
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o400: false, 0o640: true, 0o604: true, 0o666: true} {
		if err := os.Chmod(path, mode); err != nil {
			t.Fatal(err)
		}
		if got := Warnings(config.Config{TokenFile: path}); (len(got) > 0) != warned {
			t.Errorf("mode %04o: warnings are %q, want one: %v", mode, got, warned)
		}
	}
}
