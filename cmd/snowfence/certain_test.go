//go:build servers

package main

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/testkit"
)

// interrupting is a standard error that interrupts its program when it says that it waits.
type interrupting struct {
	*strings.Builder
	interrupt context.CancelCauseFunc
}

func (i interrupting) Write(b []byte) (int, error) {
	if i.interrupt != nil && strings.Contains(string(b), "waiting until") {
		i.interrupt(interruptError{syscall.SIGINT})
	}
	return i.Builder.Write(b)
}

// TestVerbsThatWriteToALossyStoreSayWhenTheyAreCertain runs each verb of operators on a Redis that can
// lose acknowledged writes.
func TestVerbsThatWriteToALossyStoreSayWhenTheyAreCertain(t *testing.T) {
	t.Parallel()
	const loss = 500 * time.Millisecond
	at := testkit.StartEngine(t, "redis").URL("", loss)
	s, err := openstore.Open(t.Context(), at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	if _, err := roster.Create(t.Context(), roster.Config{Store: s}, snowfence.DefaultLayout(), nil); err != nil {
		t.Fatal(err)
	}
	segments, err := counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: counter.Config{Store: s, Name: "users", MaxWait: time.Minute}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := segments.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := segments.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	const imported = "workers import list --workers 20-21 --stopped-at 2026-01-02T03:04:05Z --yes"
	const waits, uncertain = "the store can lose what it acknowledged last: waiting until 20", "not certain before 20"
	for _, x := range []struct {
		verb      string
		interrupt bool
		code      int
		waits     bool
		stdout    string // a part of it; none: it is empty
		stderr    string // a part of it
	}{
		{"counters set users 10000 --yes", false, exitOK, true, "counter users is set", ""},
		{"counters set users 20000 --yes --no-wait", false, exitUncertain, false, "", "snowfence: counter users: " + uncertain},
		{"counters set users 20000 --yes", true, exitUncertain, true, "", "snowfence: counter users: " + uncertain},
		{"counters set users 20000 --yes", false, exitOK, true, "counter users is set", ""},
		{"workers quarantine 7-9", false, exitOK, true, "worker 7-9 is quarantined", ""},
		{"workers quarantine 10 --no-wait", false, exitUncertain, false, "", "snowfence: worker 10: " + uncertain},
		{"workers quarantine 10,11", true, exitUncertain, true, "", "snowfence: 2 worker ids: " + uncertain},
		{"workers quarantine 10,11", false, exitOK, true, "is quarantined already", ""},
		{"workers quarantine 7 --clear --yes", false, exitOK, false, "worker 7 is not quarantined", ""},
		{imported, true, exitFailure, true, "", "0 of 2 worker ids were done"}, // it waits for the namespace first
		{imported + " --no-wait", false, exitUncertain, true, "", "snowfence: 2 worker ids: " + uncertain},
		{imported, false, exitOK, true, "keep", ""},
	} {
		ctx, interrupt := context.WithCancelCause(t.Context())
		p, stdout, stderr := inTest(t)
		if x.interrupt {
			p.stderr = interrupting{stderr, interrupt}
		}
		code := p.run(ctx, append(strings.Fields(x.verb), "--store", at)...)
		interrupt(nil)
		said := stderr.String()
		if code != x.code || !strings.Contains(stdout.String(), x.stdout) || (x.stdout == "") != (stdout.Len() == 0) ||
			!strings.Contains(said, x.stderr) || strings.Contains(said, waits) != x.waits {
			t.Errorf("%s: exit code %d: %s%s", x.verb, code, stdout, stderr)
		}
	}
}
