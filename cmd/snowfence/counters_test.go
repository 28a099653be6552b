//go:build servers

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// TestOneConfigCountsOnEveryKindOfStore mints from each kind by HTTP and by next, of one
// configuration, on the embedded store, PostgreSQL and Redis. It kills the daemon and begins again.
func TestOneConfigCountsOnEveryKindOfStore(t *testing.T) {
	binary := testkit.Build(t, programPath, "")
	for _, name := range []string{"file", "postgres", "redis"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := testkit.StartEngine(t, name)
			generators := map[string]string{"users": "segment", "invoices": "daily"}
			if !e.Lossy {
				generators["tickets"] = "ticket"
			}
			config := "generators:\n"
			for generator, kind := range generators {
				config += fmt.Sprintf("  %s: {kind: %s, settings: {max-wait: 10s}}\n", generator, kind)
			}
			if name == "postgres" {
				config += "  receipts: {kind: series, settings: {prefix: R}}\n" // in the store's own database
			}
			file := filepath.Join(t.TempDir(), "snowfence.yaml")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				t.Fatal(err)
			}
			arguments := []string{"--config", file, "--store", e.URL("", time.Second)}
			client := testkit.Client()
			defer client.CloseIdleConnections()
			seen := map[string]bool{}
			for round := range 2 {
				d := testkit.StartDaemon(t, binary, nil, append(arguments, "--data", t.TempDir())...)
				for generator := range generators {
					var texts []string
					testkit.Eventually(t, func(ctx context.Context) (err error) {
						texts, err = testkit.MintTexts(ctx, client, d.URL, generator, 3)
						return err
					})
					out, err := exec.Command(binary, append([]string{"next", "--generator", generator, "-n", "2"}, arguments...)...).Output()
					if err != nil {
						t.Fatalf("next: %v", err)
					}
					for _, text := range append(texts, strings.Fields(string(out))...) {
						if key := generator + " " + text; seen[key] {
							t.Errorf("round %d: %s came twice", round, key)
						} else {
							seen[key] = true
						}
					}
				}
				if name == "postgres" {
					e := elsewhere{binary: binary, arguments: arguments, client: client}
					var n struct{ ID, Number, Token string }
					e.call(t, "POST", d.URL+"/v1/generators/receipts/reservations", &n)
					if said := e.run(t, "series", "confirm", "receipts", n.Number, n.Token); said != fmt.Sprintf("R%d is confirmed\n", round+1) {
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
