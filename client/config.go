package client

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// Config sets where ids come from.
type Config struct {
	// Servers are the addresses of the daemons' RESP fronts, as host:port: one at least. Clients
	// begin with the first, and stay with one that gives ids.
	Servers []string

	Generator string      // its name; empty means "default"
	Token     string      // shown to the servers; may be empty
	TLS       *tls.Config // for connections; nil means that they are not encrypted

	// Dial connects to a server, with TLS if that is wanted. Its context ends after Timeout. Nil means
	// TCP, with TLS if that is set.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Timeout is how long a server may take to be connected to, to accept the token, and to answer a
	// request. Zero means 1 s each.
	Timeout time.Duration

	// MaxWait is the longest wait of a call while all servers refuse or are away. Zero means 10 s. An
	// attempt under way goes on to its end. A call that joins others waits no longer than they do, nor
	// beyond its context.
	MaxWait time.Duration

	// Batch is the most ids of one request, from 1 to 1,000,000. Zero means 1,000. It must not be above
	// the servers' limits.batch, 10,000 by default, nor above what a layout with few ids a tick can give.
	Batch int

	// Prefetch is how many ids are fetched ahead for Next, up to 100 times Batch. Zero means none.
	Prefetch int

	// MaxAge is how long ids that were fetched ahead are given out, from the arrival of the answer
	// on: 1 ms or more. Zero means 1 s.
	MaxAge time.Duration

	// Strict refuses answers that are not above every id that this client has given out. It is for generators
	// without worker bits, where one server at a time gives ids, in increasing order. It excludes Prefetch.
	Strict bool
}

const maxBatch = 1_000_000

// complete returns the configuration with its defaults, or an error that names the field.
func (c Config) complete() (Config, error) {
	c.Servers, c.Generator, c.Batch = slices.Clone(c.Servers), cmp.Or(c.Generator, "default"), cmp.Or(c.Batch, 1000)
	c.Timeout, c.MaxWait, c.MaxAge = cmp.Or(c.Timeout, time.Second), cmp.Or(c.MaxWait, 10*time.Second), cmp.Or(c.MaxAge, time.Second)
	noPort := func(address string) bool { _, _, err := net.SplitHostPort(address); return err != nil }
	for _, rule := range []struct {
		ok    bool
		field string
		value any
		limit string
	}{
		{len(c.Servers) > 0, "Servers", c.Servers, "one address or more"},
		{c.Dial != nil || !slices.ContainsFunc(c.Servers, noPort), "Servers", c.Servers, "host:port each"},
		{c.Dial == nil || c.TLS == nil, "TLS", "set", "nil beside Dial, which connects by itself"},
		{c.Timeout > 0, "Timeout", c.Timeout, "above 0"},
		{c.MaxWait > 0, "MaxWait", c.MaxWait, "above 0"},
		{c.Batch > 0 && c.Batch <= maxBatch, "Batch", c.Batch, fmt.Sprint("from 1 to ", maxBatch)},
		{c.Prefetch >= 0 && c.Prefetch <= 100*c.Batch, "Prefetch", c.Prefetch, fmt.Sprint("from 0 to ", 100*c.Batch)},
		{c.MaxAge >= time.Millisecond, "MaxAge", c.MaxAge, "1ms or more"},
		{!c.Strict || c.Prefetch == 0, "Prefetch", c.Prefetch, "0 with Strict"},
	} {
		if !rule.ok {
			return c, snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("client: %s is %v: must be %s", rule.field, rule.value, rule.limit))
		}
	}
	if c.Dial == nil && c.TLS != nil {
		c.Dial = (&tls.Dialer{Config: c.TLS}).DialContext
	} else if c.Dial == nil {
		c.Dial = new(net.Dialer).DialContext
	}
	return c, nil
}
