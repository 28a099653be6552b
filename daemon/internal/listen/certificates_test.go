package listen

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"snowfence.example/snowfence/daemon/config"
)

func TestFilesThatDoNotFitAreReadOnce(t *testing.T) {
	folder := t.TempDir()
	files := config.TLS{Certificate: filepath.Join(folder, "c.pem"), Key: filepath.Join(folder, "k.pem")}
	certify(t, files, "first")
	c, err := NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(files.Key, []byte("half a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	if changed, err := c.load(); changed || err == nil {
		t.Errorf("half a key: changed %v, %v", changed, err)
	}
	if changed, err := c.load(); changed || err != nil {
		t.Errorf("the same half again: changed %v, %v", changed, err)
	}
	certify(t, files, "second")
	if changed, err := c.load(); !changed || err != nil {
		t.Errorf("a new pair: changed %v, %v", changed, err)
	}
}

func TestFileThatCanNotBeReadIsTriedAgain(t *testing.T) {
	folder := t.TempDir()
	files := config.TLS{Certificate: filepath.Join(folder, "c.pem"), Key: filepath.Join(folder, "k.pem")}
	certify(t, files, "first")
	c, err := NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	// A folder can be looked at and not read, as a file without the permission.
	if err := errors.Join(os.Remove(files.Key), os.Mkdir(files.Key, 0o700)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if changed, err := c.load(); changed || err == nil {
			t.Errorf("changed %v, %v", changed, err)
		}
	}
}

// TestFileOfTheSameSizeAndTimeIsAnother puts another certificate and key in the place of the first ones, as cp -p
// and mv do.
func TestFileOfTheSameSizeAndTimeIsAnother(t *testing.T) {
	folder, next := t.TempDir(), t.TempDir()
	files := config.TLS{Certificate: filepath.Join(folder, "c.pem"), Key: filepath.Join(folder, "k.pem")}
	certify(t, files, "first")
	c, err := NewCertificates(config.Config{TLS: files}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{files.Certificate, files.Key} {
		before, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		another := filepath.Join(next, filepath.Base(path))
		if err := os.WriteFile(another, content, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(another, before.ModTime(), before.ModTime()); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(another, path); err != nil {
			t.Fatal(err)
		}
	}
	if changed, err := c.load(); !changed || err != nil {
		t.Errorf("changed %v, %v", changed, err)
	}
}
