package listen

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// Address listens on the HTTP address of the settings. With TLS, connections
// speak TLS 1.2 or later. A [*config.Error] is returned when the certificate or
// its key can't be used.
func Address(ctx context.Context, settings config.Config) (net.Listener, error) {
	var tlsConfig *tls.Config
	if settings.TLS != (config.TLS{}) {
		certificates, err := newCertificates(settings)
		if err != nil {
			return nil, err
		}
		protocols := []string{"h2", "http/1.1"}
		tlsConfig = &tls.Config{GetCertificate: certificates.forClient, NextProtos: protocols, MinVersion: tls.VersionTLS12}
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", settings.HTTP)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", settings.HTTP, err)
	}
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}
	return listener, nil
}
