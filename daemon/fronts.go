package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/grpcfront"
	"snowfence.example/snowfence/daemon/internal/httpfront"
	"snowfence.example/snowfence/daemon/internal/listen"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/respfront"
	"snowfence.example/snowfence/daemon/internal/thriftfront"
)

// server answers the clients of one protocol.
type server interface {
	// Serve answers the connections of a listener until Drain, and then returns nil.
	Serve(l net.Listener) error

	// Drain stops accepting connections, closes the idle ones, and waits for the requests under
	// way. When the context ends it cuts them off, and returns the context's error.
	Drain(ctx context.Context) error
}

// newRoom divides the memory of the program: a quarter is for silent connections, a quarter for
// requests and answers, and half for the rest. It takes as many connections as there are file
// descriptors for.
func (d *daemon) newRoom() *listen.Room {
	limits := d.settings.Limits
	if most := listen.Connections(limits.Connections); most < limits.Connections {
		d.log.Warn("the process may have too few files open for so many connections: raise nofile (ulimit -n, LimitNOFILE)",
			config.KeyConnections, limits.Connections, "accepted", most)
		limits.Connections = most
	}
	return listen.NewRoom(limits, limits.Memory/4)
}

// protocol is one kind of front, in the table of all.
type protocol struct {
	name    string // in messages and metrics, and the key of its address
	address func(*config.Config) *string
	scheme  string   // of its URLs; with TLS it gets an s
	alpn    []string // TLS offers them
	keeps   int      // bytes of a connection that is silent, as measured by "make hostile"
	probes  bool     // answers probes alone: by plain HTTP, for any client
	open    func(*daemon, *metrics.Front) server
}

// protocols are the fronts that the program has.
func protocols() []protocol {
	return []protocol{
		{"http", func(c *config.Config) *string { return &c.HTTP }, "http", []string{"h2", "http/1.1"}, 16 << 10, false, newHTTP},
		{"resp", func(c *config.Config) *string { return &c.RESP }, "redis", nil, 7 << 10, false, newRESP},
		{"grpc", func(c *config.Config) *string { return &c.GRPC }, "grpc", []string{"h2"}, 22 << 10, false, newGRPC},
		{"admin", func(c *config.Config) *string { return &c.Admin }, "http", []string{"h2", "http/1.1"}, 16 << 10, false, newAdmin},
		{"health", func(c *config.Config) *string { return &c.Health }, "http", nil, 16 << 10, true, newHealth},
		{"thrift", func(c *config.Config) *string { return &c.Thrift }, "thrift", nil, 9 << 10, false, newThrift},
	}
}

func newHTTP(d *daemon, meter *metrics.Front) server {
	return d.newHandlers(meter, d.settings.HTTP, d.settings.Admin == "", true)
}

// newAdmin serves the operators' paths, and does not mint.
func newAdmin(d *daemon, meter *metrics.Front) server {
	return d.newHandlers(meter, d.settings.Admin, true, false)
}

// newHealth serves probes.
func newHealth(d *daemon, meter *metrics.Front) server {
	return d.newHandlers(meter, d.settings.Health, false, false)
}

func (d *daemon) newHandlers(meter *metrics.Front, address string, admin, public bool) server {
	host, _, _ := net.SplitHostPort(address) // Complete has seen it
	c := httpfront.Config{
		Service: d.service, Meter: meter, Metrics: d.metrics, Limits: d.service.Limits(), Memory: d.memory, Clock: d.clock, Hosts: d.settings.Hosts,
		Admin: admin, Public: public, AnyHost: d.service.Guarded() || !config.Loopback(host),
	}
	if admin {
		c.Page = d.page
	}
	return httpfront.NewServer(httpfront.New(c), c.Limits, d.log)
}

func newRESP(d *daemon, meter *metrics.Front) server {
	return respfront.New(respfront.Config{Service: d.service, Meter: meter, Limits: d.service.Limits(), Memory: d.memory, Version: d.config.Version})
}

func newGRPC(d *daemon, meter *metrics.Front) server {
	return grpcfront.New(grpcfront.Config{
		Service: d.service, Generator: config.DefaultGenerator, Meter: meter, Limits: d.service.Limits(), Memory: d.memory, Clock: d.clock,
	})
}

func newThrift(d *daemon, meter *metrics.Front) server {
	return thriftfront.New(thriftfront.Config{
		Service: d.service, Generator: d.settings.ThriftGenerator, Meter: meter, Limits: d.service.Limits(),
	})
}

// serving is a front at its address.
type serving struct {
	protocol
	front    server
	listener net.Listener
}

// url is where clients find the front.
func (s serving) url(c config.Config) string {
	scheme := s.scheme
	if c.TLS != (config.TLS{}) && !s.probes {
		scheme += "s"
	}
	return scheme + "://" + s.listener.Addr().String()
}

// adopt copies the addresses of the config's sockets to their fronts. So the same rules judge the address of a socket.
func (d *daemon) adopt(settings *config.Config) error {
	unused := maps.Clone(d.config.Listeners)
	for _, p := range protocols() {
		if l := unused[p.name]; l != nil {
			*p.address(settings) = l.Addr().String()
			delete(unused, p.name)
		}
	}
	if len(unused) > 0 {
		return snowfence.NewError(snowfence.ClassUsage, "no front uses the sockets named "+strings.Join(slices.Sorted(maps.Keys(unused)), ", "))
	}
	return nil
}

// openFronts listens for every front that has an address, and reports it to the config's Listening.
func (d *daemon) openFronts(ctx context.Context, register func(*metrics.Front) error) error {
	room := d.newRoom()
	for _, protocol := range protocols() {
		address := *protocol.address(&d.settings)
		if address == "" {
			continue
		}
		meter := metrics.NewFront(protocol.name, d.clock.Monotonic)
		if err := register(meter); err != nil {
			return err
		}
		at := listen.Front{
			Key: protocol.name, Address: address, Protocols: protocol.alpn, Meter: meter, Certificates: d.certificates,
			Listener: d.config.Listeners[protocol.name], Room: room, Keeps: protocol.keeps, Patience: d.settings.Limits.ReadTimeout,
		}
		if protocol.name != "thrift" { // Thrift's messages fit into the memory that its connections keep
			at.Memory = d.memory
		}
		if protocol.probes {
			at.Certificates = nil
		}
		switch protocol.name {
		case "resp":
			at.Behind = d.settings.Limits.WriteTimeout
		case "admin", "health":
			at.Room = listen.NewOperatorsRoom(d.settings.Limits)
		}
		listener, err := listen.Open(ctx, at)
		if err != nil {
			return err
		}
		s := serving{protocol, protocol.open(d, meter), listener}
		d.fronts = append(d.fronts, s)
		host, _, _ := net.SplitHostPort(address) // Complete has seen it
		if d.settings.Insecure && !protocol.probes && !config.Loopback(host) {
			d.log.Warn("other hosts can reach this address, and any of them can mint ids", protocol.name, listener.Addr().String())
		}
	}
	if d.config.Listening != nil {
		for _, s := range d.fronts {
			d.config.Listening(s.name, s.url(d.settings))
		}
	}
	for _, s := range d.fronts {
		if d.config.Page != nil && s.name == d.pageFront() {
			d.config.Page(s.url(d.settings) + "/")
		}
	}
	return nil
}

// serve accepts connections, and calls failed once a front fails.
func (d *daemon) serve(failed func(error)) {
	for _, s := range d.fronts {
		go func() {
			if err := s.front.Serve(s.listener); err != nil {
				failed(fmt.Errorf("serve %s: %w", s.name, err))
			}
		}()
	}
}

// drain ends all fronts at the same time. They stop accepting connections, and finish the requests
// under way. At the limit of the settings it cuts requests off, logs a warning and returns nil.
func (d *daemon) drain(ctx context.Context) error {
	limit := d.settings.Limits.Drain
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	drained := make(chan error)
	for _, s := range d.fronts {
		go func() {
			err := s.front.Drain(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				d.log.Warn("requests were cut off", "front", s.name, "after", limit)
				err = nil
			}
			drained <- err
		}()
	}
	var faults []error
	for range d.fronts {
		faults = append(faults, <-drained)
	}
	return errors.Join(faults...)
}

// closeFronts closes the listeners of fronts that have not served.
func (d *daemon) closeFronts() error {
	var faults []error
	for _, s := range d.fronts {
		faults = append(faults, s.listener.Close())
	}
	return errors.Join(faults...)
}

// reloadEvery is how often reload looks at the files of tokens.
const reloadEvery = time.Second

// reload reads the tokens again when their file changes, and all files when the config asks for it, until
// the context ends.
func (d *daemon) reload(ctx context.Context) {
	asked := d.config.Reload
	for ctx.Err() == nil {
		expired, stop := d.clock.After(reloadEvery)
		select {
		case <-expired:
			if d.tokens == nil {
				break
			}
			if d.tokens.Reload(d.log) {
				d.warnOfTokens()
			}
			d.service.WarnOfGuesses()
		case _, open := <-asked:
			if !open {
				asked = nil // it is closed, and would answer at once, again and again
				break
			}
			if d.tokens != nil && d.tokens.Again(d.log) {
				d.warnOfTokens()
			}
			d.certificates.Again()
		case <-ctx.Done():
		}
		stop()
	}
}

// warnOfTokens logs warnings about the tokens.
func (d *daemon) warnOfTokens() {
	for _, w := range d.tokens.Warnings(d.settings.Names()) {
		d.log.Warn(w)
	}
}
