package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// maxFile is the size up to which a password, certificate or key is read.
const maxFile = 1 << 20

// TLS sets how the connections of an engine are secured, by the names of files or
// as a whole. The engine's Open reads the files. A nil *TLS means no TLS, and the
// zero value means the system's certificates.
type TLS struct {
	// CAFile holds the certificates (PEM) that are trusted. Empty means the system's.
	CAFile string

	// CertFile and KeyFile hold the certificate and the private key (PEM) that are
	// shown. Both are given, or neither.
	CertFile, KeyFile string

	// Config is used instead. Files beside it are refused.
	Config *tls.Config `json:"-"`
}

// Load reads the files. Its error names the field, as a URL has it, and the file.
// Without TLS it returns nil.
func (t *TLS) Load() (*tls.Config, error) {
	if t == nil {
		return nil, nil //nolint:nilnil // no TLS
	}
	if err := t.check(); err != nil || t.Config != nil {
		return t.Config, err
	}
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.CAFile != "" {
		pem, err := ReadFile(t.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca=%q: must hold certificates in PEM", t.CAFile)
		}
	}
	if t.CertFile == "" {
		return config, nil
	}
	cert, err := ReadFile(t.CertFile)
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	key, err := ReadFile(t.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, fmt.Errorf("cert=%q with key=%q: %w", t.CertFile, t.KeyFile, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// check returns an error unless the fields fit together. It reads nothing.
func (t *TLS) check() error {
	switch {
	case (t.CertFile == "") != (t.KeyFile == ""):
		return errors.New("cert and key: must be given both or neither")
	case t.Config != nil && t.CAFile+t.CertFile != "":
		return errors.New("ca, cert and key: must not be given with a TLS configuration")
	}
	return nil
}

// CheckFiles is an engine's CheckFiles: it returns an error that names the engine, the
// field and the file unless TLS can be had from its files and each password file holds
// a password. Empty names stand for no file.
func CheckFiles(engine string, t *TLS, passwordFiles ...string) error {
	if _, err := t.Load(); err != nil {
		return fmt.Errorf("%s: %w", engine, err)
	}
	for _, file := range passwordFiles {
		if _, err := Password("", file); err != nil {
			return fmt.Errorf("%s: password-file: %w", engine, err)
		}
	}
	return nil
}

// Password returns the password that is given or, when there is a file, the
// file's first line, without its end.
func Password(given Secret, file string) (Secret, error) {
	if file == "" {
		return given, nil
	}
	content, err := ReadFile(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("%s: its first line is empty", file)
	}
	return Secret(line), nil
}

// ReadFile reads a file's content, up to 1 MiB. It must be a regular one: others
// may never end.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: must be a regular file", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(io.LimitReader(f, maxFile))
	return content, errors.Join(err, f.Close())
}
