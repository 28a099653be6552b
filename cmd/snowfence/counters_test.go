//go:build servers

package main

import (
	"fmt"
	"testing"
	"time"
)

// TestOneConfigCountsOnEveryKindOfStore mints from each kind by HTTP and by next, of one
// configuration, on the embedded store, PostgreSQL and Redis. It kills the daemon and begins again.
func TestOneConfigCountsOnEveryKindOfStore(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"file", "postgres", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store, lossy := emptyStore(t, name, 200*time.Millisecond)
			generators := map[string]string{"users": "segment", "invoices": "daily"}
			if !lossy {
				generators["tickets"] = "ticket"
			}
			config := "generators:\n"
			for generator, kind := range generators {
				config += fmt.Sprintf("  %s: {kind: %s, settings: {max-wait: 10s}}\n", generator, kind)
			}
			if name == "postgres" {
				config += "  receipts: {kind: series, settings: {prefix: R}}\n" // in the store's own database
			}
			file := written(t, config)
			v, seen := verbs{"--config", file, "--store", store}, once[string]{}
			for round := range 2 {
				d := startDaemon(t, append(v, "--data", t.TempDir())...)
				for generator := range generators {
					v.mint(t, d, generator, seen)
				}
				if name == "postgres" {
					var n struct{ ID, Number, Token string }
					call(t, "POST", d.URL+"/v1/generators/receipts/reservations", &n)
					if said := v.run(t, "series", "confirm", "receipts", n.Number, n.Token); said != fmt.Sprintf("R%d is confirmed\n", round+1) {
						t.Errorf("round %d: confirm said %q", round, said)
					}
				}
				d.Kill()
			}
			if want := 10 * len(generators); len(seen) != want {
				t.Errorf("%d numbers, want %d", len(seen), want)
			}
		})
	}
}
