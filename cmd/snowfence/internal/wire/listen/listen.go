package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// Address listens on a host:port. With TLS, connections speak TLS 1.2 or later
// and offer the protocols, such as "h2" and "http/1.1", in this order.
func Address(ctx context.Context, address string, settings config.TLS, protocols ...string) (net.Listener, error) {
	var tlsConfig *tls.Config
	if settings != (config.TLS{}) {
		certificates, err := newCertificates(settings)
		if err != nil {
			return nil, err
		}
		tlsConfig = &tls.Config{GetCertificate: certificates.forClient, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", address, err)
	}
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}
	return listener, nil
}

// Lengths of a token: the least makes guessing hopeless if the token is
// random, the most is what any client can put into a header.
const (
	minToken = 16
	maxToken = 1024
)

// Token reads the token that a file holds, without blanks around it. It
// returns an error, which never shows the token, unless that has 16 to 1024
// bytes of visible ASCII.
func Token(path string) (string, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read the token: %w", err)
	}
	token := strings.TrimSpace(string(content))
	if n := len(token); n < minToken || n > maxToken {
		return "", fmt.Errorf("read the token: %s holds %d bytes: must be from %d to %d", path, n, minToken, maxToken)
	}
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", errors.New("read the token: " + path + " holds something else than visible ASCII")
	}
	return token, nil
}
