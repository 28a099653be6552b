//go:build servers

package main

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/testkit"
)

// TestTakeOverThatWasInterruptedBeforeItConfirmedIsConfirmedByRunningItAgain has a
// lossy store with the floors of a run that ended before it knew them to be safe.
func TestTakeOverThatWasInterruptedBeforeItConfirmedIsConfirmedByRunningItAgain(t *testing.T) {
	t.Parallel()
	e := testkit.StartEngine(t, "redis")
	at := e.URL("", 500*time.Millisecond)
	s, err := openstore.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := snowfence.DefaultLayout()
	r, err := roster.Create(t.Context(), roster.Config{Store: s}, l, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := r.Worker(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	var raised roster.Worker
	err = r.Operate(t.Context(), roster.Patience{NoWait: true}, func(d *roster.Desk) (err error) {
		raised, err = d.Raise(t.Context(), w, l.TickAt(time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC)))
		return err
	})
	if !errors.As(err, new(*roster.UncertainError)) {
		t.Fatal(err)
	}
	p, stdout, stderr := inTest(t)
	if code := p.run(t.Context(), "workers", "import", "list", "--workers", "7", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--store", at); code != exitOK {
		t.Fatalf("exit code %d: %s%s", code, stdout, stderr)
	}
	after, err := r.Worker(t.Context(), 7)
	if err != nil {
		t.Fatal(err)
	}
	if after.Register.Write == raised.Register.Write || after.Register.Until != raised.Register.Until {
		t.Errorf("the floor was not confirmed: %+v: %s%s", after.Register, stdout, stderr)
	}
}
