//go:build servers

package sqltest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// configured returns the kinds' config for a generator named orders of tickets.
func configured(t *testing.T, servers []sqlServer, wait string) builtin.Config {
	t.Helper()
	c := config.Default()
	c.Store, c.Stores = "mem:", map[string]string{}
	g := config.Generator{Kind: "tickets64"}
	if wait != "" {
		g.Settings = map[string]string{"max-wait": wait}
	}
	for i, h := range servers {
		name := fmt.Sprint("s", i)
		c.Stores[name] = h.url("loss=1m")
		g.Stores = append(g.Stores, name)
	}
	c.Generators = map[string]config.Generator{"orders": g}
	c, err := c.Complete(builtin.Names()...)
	if err != nil {
		t.Fatal(err)
	}
	return builtin.Config{Settings: c, Clock: snowfence.SystemClock()}
}

// minter opens the generator.
func minter(t *testing.T, c builtin.Config) kind.Minter {
	t.Helper()
	open, err := c.Configure("orders")
	if err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), kind.Spec{Generator: "orders", Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = m.(kind.Closer).Close(context.Background()) })
	return m
}

func TestTicketsOfOneAnswerIncreaseThoughServersDoNot(t *testing.T) {
	servers := ticketServers(t, 2)
	do(t, servers[0].admin(t), "ALTER TABLE Tickets64 AUTO_INCREMENT = 1000") // far ahead
	m := minter(t, configured(t, servers, ""))
	batch := new(kind.Batch)
	for range 2 { // the second answer stands behind the first in the batch
		had := batch.Len()
		if err := m.Mint(t.Context(), 4, batch); err != nil {
			t.Fatal(err)
		}
		got := batch.Numbers()[had:]
		if !slices.IsSorted(got) || got[0] > 1000 || got[3] < 1000 {
			t.Errorf("one answer is %v, want numbers of both servers that increase", got)
		}
	}
}

// TestAnswerOfTicketsIsNoLongerThanWhatComesWithinMaxWait asks for more than the kind's greatest
// count, which the service refuses, and [daemon.Mint] divides.
func TestAnswerOfTicketsIsNoLongerThanWhatComesWithinMaxWait(t *testing.T) {
	servers := ticketServers(t, 2)
	for wait, most := range map[string]int{"": 100, "5s": 500, "1ms": 1} {
		c := configured(t, servers, wait)
		s := service.New(service.Config{Settings: c.Settings})
		if err := s.Serve("orders", minter(t, c)); err != nil {
			t.Fatal(err)
		}
		client := s.Client(netip.Addr{})
		use, err := client.Use("orders")
		if err != nil {
			t.Fatal(err)
		}
		if got := use.Most(); got != most {
			t.Errorf("max-wait %q: %d tickets, want %d", wait, got, most)
		}
		var p *front.Problem
		if err := use.Mint(t.Context(), most+1, new(kind.Batch)); !errors.As(err, &p) || p.Type != front.CountOutOfRange || !strings.HasSuffix(p.Limit, fmt.Sprintf("1 to %d", most)) {
			t.Errorf("max-wait %q: %d tickets: %v", wait, most+1, err)
		}
	}
	batch, err := daemon.Mint(t.Context(), daemon.Minting{Config: configured(t, servers, "")}, "orders", 250)
	if errors.Is(err, counter.ErrUnavailable) {
		return // the machine gives fewer tickets in this time, and the request was divided all the same
	}
	if err != nil {
		t.Fatal(err)
	}
	if slices.Sort(batch.Numbers()); len(slices.Compact(batch.Numbers())) != 250 {
		t.Errorf("it has %d tickets", batch.Len())
	}
}
