// Package fronttest has the fixtures of the fronts' tests: a service with a few generators, its settings and tokens,
// and a server on a loopback address.
package fronttest

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// Settings returns complete settings with a store in memory, changed by a test.
func Settings(t testing.TB, change ...func(*config.Config)) config.Config {
	t.Helper()
	c := config.Default()
	c.Store = "mem:"
	for _, f := range change {
		f(&c)
	}
	c, err := c.Complete("segment", "ticket", "opaque", "series")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Standby is a generator that stands by while another process holds its one worker id.
func Standby(t testing.TB) config.Generator {
	t.Helper()
	layout, err := snowfence.ParseLayout("ms41-seq22")
	if err != nil {
		t.Fatal(err)
	}
	return config.Generator{Layout: layout, Standby: true}
}

// Limits are the default limits of a front.
func Limits(t testing.TB) front.Limits {
	t.Helper()
	return service.New(service.Config{Settings: Settings(t)}).Limits()
}

// Ring returns the tokens of a file with these lines, or with a line for this one token, or nil for none.
func Ring(t testing.TB, tokens string) *token.Ring {
	t.Helper()
	if tokens == "" {
		return nil
	}
	if !strings.Contains(tokens, " ") {
		tokens = "all " + token.HashOf(tokens).String()
	}
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(tokens+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ring, err := token.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// Service returns a service whose generators serve by these minters. A generator without a minter, or with nil, is
// starting.
func Service(t testing.TB, c service.Config, minters map[string]kind.Minter) *service.Service {
	t.Helper()
	s := service.New(c)
	for name, m := range minters {
		if m == nil {
			continue
		}
		if err := s.Serve(name, m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// Server is a front.
type Server interface {
	Serve(l net.Listener) error
	Drain(ctx context.Context) error
}

// Serve serves a front on a listener until the test ends. A nil listener is one on a loopback address. It returns the
// address.
func Serve(t testing.TB, f Server, l net.Listener) (address string) {
	t.Helper()
	if l == nil {
		var err error
		if l, err = new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
			t.Fatal(err)
		}
	}
	served := make(chan error, 1)
	go func() { served <- f.Serve(l) }()
	t.Cleanup(func() {
		if err := f.Drain(context.Background()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

// Numbers is a minter that counts, and that a store counts for.
type Numbers struct {
	Last, Calls atomic.Int64 // the last number, and how often Mint was called
	Gap         int64        // between two numbers
	Err         error        // what Mint fails with
	Before      func()       // nil, or called before numbers are minted
}

// Caps implements [kind.Capable].
func (*Numbers) Caps() kind.Caps {
	return kind.Caps{Counter: func() kind.Counter { return kind.Counter{} }}
}

// Form is [kind.Number].
func (*Numbers) Form() kind.Form { return kind.Number }

// Mint implements [kind.Minter].
func (m *Numbers) Mint(_ context.Context, n int, into *kind.Batch) error {
	m.Calls.Add(1)
	if m.Before != nil {
		m.Before()
	}
	if m.Err != nil {
		return m.Err
	}
	ids, err := into.GrowNumbers(n)
	for i := range ids {
		ids[i] = snowfence.ID(m.Last.Add(1 + m.Gap))
	}
	return err
}

// Texts is a minter of the text T-1.
type Texts struct{}

// Form is [kind.Text].
func (Texts) Form() kind.Form { return kind.Text }

// Mint implements [kind.Minter].
func (Texts) Mint(_ context.Context, n int, into *kind.Batch) error {
	for range n {
		if err := into.AppendText([]byte("T-1")); err != nil {
			return err
		}
	}
	return nil
}
