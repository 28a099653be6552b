package listen

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"syscall"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

// Front says what one front listens for.
type Front struct {
	// Key is the setting that has the address.
	Key string
	// Address is where to listen, as host:port.
	Address string
	// Protocols are what TLS offers by ALPN. None means that it offers nothing.
	Protocols []string
	// Meter counts connections. Nil means that they are not counted.
	Meter Meter
	// Logger is told of files that were read again. Nil means that nothing is logged.
	Logger *slog.Logger
}

// Meter counts the connections of a front.
type Meter interface {
	Opened()
	Closed()
	// Refused counts a connection that was closed at once, by the limit in its way.
	Refused(limit string)
}

// Open listens for a front. With TLS, connections speak TLS 1.2 or later, and with authorities for
// clients they show a certificate. Beyond the limits of the settings, connections are closed as they
// come. A [*config.Error] is returned when a file of TLS can't be used, or the address is taken.
func Open(ctx context.Context, settings config.Config, front Front) (net.Listener, error) {
	var tlsConfig *tls.Config
	if settings.TLS != (config.TLS{}) {
		certificates, err := newCertificates(settings, cmp.Or(front.Logger, slog.New(slog.DiscardHandler)))
		if err != nil {
			return nil, err
		}
		tlsConfig = certificates.config(front.Protocols)
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", front.Address)
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(`listen on %s: address already in use: set %s to another address, or to "" to turn it off`, front.Address, front.Key)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", front.Address, err)
	}
	listener = newLimited(listener, settings.Limits, front.Meter)
	if tlsConfig != nil {
		listener = tls.NewListener(listener, tlsConfig)
	}
	return listener, nil
}
