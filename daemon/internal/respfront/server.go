package respfront

import (
	"context"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/session"
	"snowfence.example/snowfence/daemon/kind"
)

// Config has the parts of the front. All must be given.
type Config struct {
	// Service answers the calls that the front translates commands into.
	Service front.Service

	// Meter counts requests. The timeouts of connections go by its clock.
	Meter front.Meter

	// Limits are the limits of connections.
	Limits front.Limits

	// Memory bounds the memory of unfinished commands, transactions and batches. Nil is unbounded.
	Memory *budget.Budget

	// Version is the program's, for INFO.
	Version string
}

// Server is the front. Use [New] to make one. Its Serve and Drain come from package session.
type Server struct {
	*session.Server

	config   Config
	table    []command
	commands map[string]*command // of the table, by name in capitals and in small letters
	scratch  sync.Pool           // of *scratch, empty

	up        time.Duration // from when on the server is up, on the meter's clock
	clients   atomic.Int64  // the number of the last connection
	connected atomic.Int64  // connections that are open
	processed atomic.Int64  // commands
}

// New returns the front.
func New(cfg Config) *Server {
	s := &Server{config: cfg, table: commands(), commands: map[string]*command{}, up: cfg.Meter.Began()}
	for i := range s.table {
		c := &s.table[i]
		s.commands[c.name], s.commands[strings.ToLower(c.name)] = c, c
	}
	s.scratch.New = func() any { return &scratch{text: make([]byte, 0, fewText)} }
	s.Server = session.NewServer(s.serve)
	return s
}

// scratch is the memory of answers in the making. A connection gives it up while it waits for a
// command, and keeps it while it waits for ids: a large one is taken from the memory of all.
type scratch struct {
	text  []byte
	batch kind.Batch
}

const (
	// chunk is how much is answered before it is written.
	chunk = 32 << 10

	// fewText is how much text a connection has that waits for ids, without taking it from the memory of all.
	fewText = 4 << 10

	// mostPooled is how much the ids of an answer may have taken whose batch is kept for other connections.
	mostPooled = 64 << 10
)

// serve serves a connection.
func (s *Server) serve(ctx context.Context, n *session.Conn) {
	s.connected.Add(1)
	defer s.connected.Add(-1)
	c := &conn{
		Server: s, ctx: ctx, address: front.Host(n.RemoteAddr()), id: s.clients.Add(1),
		input: input{net: n, meter: s.config.Meter, limits: s.config.Limits, memory: s.config.Memory, data: make([]byte, 0, smallBuffer)},
		reply: reply{proto: 2}, authorized: !s.config.Service.Guarded(),
	}
	c.client = s.config.Service.Client(c.address)
	c.known = s.config.Service.Guarded() || c.address.IsLoopback()
	defer c.free() // the memory of both
	defer c.end()
	for open := true; open; {
		open = c.read() && c.answer()
	}
	if c.spent && c.net.ReadWithin(s.config.Limits.WriteTimeout) == nil {
		_, _ = io.Copy(io.Discard, c.net) // or the client, which may send all before it reads, would not learn why
	}
}
