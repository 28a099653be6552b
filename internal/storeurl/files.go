package storeurl

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"os"
)

// maxFile is the size up to which a password, certificate or key is read.
const maxFile = 1 << 20

// TLS returns what the keys tls, ca, cert and key ask for: nil when the scheme
// does not say that the connection is secured (implied) and tls is not true.
// Without ca the system's certificates are trusted.
func (u *URL) TLS(implied bool) *tls.Config {
	wanted, ca, cert, key := u.Flag("tls"), u.Text("ca"), u.Text("cert"), u.Text("key")
	if implied && u.Text("tls") != "" && !wanted {
		u.fail(fmt.Errorf("tls=false: must not be given with %s://", u.Scheme))
	}
	if !implied && !wanted {
		if ca != "" || cert != "" || key != "" {
			u.fail(errors.New("ca, cert and key: need tls=true"))
		}
		return nil
	}
	config, err := loadTLS(ca, cert, key)
	if err != nil {
		u.fail(err)
	}
	return config
}

func loadTLS(ca, cert, key string) (*tls.Config, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != "" {
		pem, err := ReadFile(ca)
		if err != nil {
			return nil, fmt.Errorf("ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca=%q: must hold certificates in PEM", ca)
		}
	}
	if (cert == "") != (key == "") {
		return nil, errors.New("cert and key: must be given both or neither")
	}
	if cert == "" {
		return config, nil
	}
	certPEM, err := ReadFile(cert)
	if err != nil {
		return nil, fmt.Errorf("cert: %w", err)
	}
	keyPEM, err := ReadFile(key)
	if err != nil {
		return nil, fmt.Errorf("key: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("cert=%q with key=%q: %w", cert, key, err)
	}
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}

// ReadFile reads what a file holds, up to 1 MiB. It must be a regular one: others
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
