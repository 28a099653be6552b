package listen

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"syscall"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
)

// Front is one front's address, limits and certificates.
type Front struct {
	// Key is the setting that has the address.
	Key string
	// Address is where to listen, as host:port.
	Address string
	// Listener, if it is set, listens there already.
	Listener net.Listener
	// Protocols are offered by TLS with ALPN. They may be empty.
	Protocols []string
	// Meter counts connections. Nil means that they are not counted.
	Meter Meter
	// Certificates turn TLS on. Nil means plain connections.
	Certificates *Certificates
	// Room is for the connections of several fronts. It must be given.
	Room *Room
	// Keeps is how many bytes a connection keeps that sends nothing, without TLS.
	Keeps int
	// Memory bounds the memory of incomplete requests and unread answers. Nil means that they are not counted.
	Memory *budget.Budget
	// Patience is how long a client may take for a request.
	Patience time.Duration
	// Behind is how long a client may leave its answers unread, while writes go on without it. Zero
	// means that writes wait for clients.
	Behind time.Duration
}

// keptByTLS is how many bytes a connection of TLS keeps.
const keptByTLS = 24 << 10

// Meter counts the connections of a front.
type Meter interface {
	Opened()
	Closed()
	// Refused counts a connection that was closed at once, by the limit in its way.
	Refused(limit string)
}

// Open listens for a front. With certificates connections speak TLS 1.2 or later, and with authorities for
// clients they show a certificate. It closes connections beyond the room as they come. An
// error is returned when the address is taken.
func Open(ctx context.Context, front Front) (net.Listener, error) {
	var tlsConfig *tls.Config
	if front.Certificates != nil {
		tlsConfig = front.Certificates.config(front.Protocols)
	}
	listener, err := front.Listener, error(nil)
	if listener == nil {
		listener, err = new(net.ListenConfig).Listen(ctx, "tcp", front.Address)
	}
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return nil, fmt.Errorf(`listen on %s: address already in use: set %s to another address, or to "" to turn it off`, front.Address, front.Key)
	case err != nil:
		return nil, fmt.Errorf("listen on %s: %w", front.Address, err)
	}
	if front.Meter == nil {
		front.Meter = uncounted{}
	}
	within := &limited{listener, front, front.Keeps}
	listener = within
	if tlsConfig != nil {
		within.cost += keptByTLS
		listener = tls.NewListener(listener, tlsConfig)
	}
	return listener, nil
}
