package daemon

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/httpfront"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/listen"
)

// front is the HTTP front. Without an address there is none, and its listener is nil.
type front struct {
	listener net.Listener
	server   *http.Server
}

// newFront listens, and reports the address to the config's Listening.
func newFront(ctx context.Context, d *daemon, metrics http.Handler) (*front, error) {
	s := d.settings
	if s.HTTP == "" {
		return &front{}, nil
	}
	listener, err := listen.Address(ctx, s)
	if err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(s.HTTP)
	if err != nil {
		return nil, errors.Join(err, listener.Close()) // Complete has seen it
	}
	if s.Insecure && !config.Loopback(host) {
		d.log.Warn("others than this host can mint ids here, and nothing keeps them from it", "http", listener.Addr().String())
	}
	anyHost := d.service.Guarded() || !config.Loopback(host)
	handler := httpfront.New(httpfront.Config{Service: d.service, Metrics: metrics, AnyHost: anyHost, Hosts: s.Hosts})
	if d.config.Listening != nil {
		d.config.Listening(listener.Addr())
	}
	return &front{listener, httpfront.NewServer(handler, s.Limits, d.log)}, nil
}

// serve accepts connections, and calls failed once it no longer can.
func (f *front) serve(failed func(error)) {
	if f.listener == nil {
		return
	}
	go func() {
		if err := f.server.Serve(f.listener); !errors.Is(err, http.ErrServerClosed) {
			failed(fmt.Errorf("serve HTTP: %w", err))
		}
	}()
}

// address returns what the front listens on, or nothing.
func (f *front) address() string {
	if f.listener == nil {
		return ""
	}
	return f.listener.Addr().String()
}

// drain accepts no more connections and waits for the requests under way, but
// not beyond the limit: then it cuts them off.
func (f *front) drain(ctx context.Context, limit time.Duration) error {
	if f.listener == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	err := f.server.Shutdown(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return errors.Join(fmt.Errorf("drain: requests were cut off after %s", limit), f.server.Close())
	}
	return err
}
