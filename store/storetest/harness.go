package storetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
)

// A Harness is how the suite reaches an engine.
type Harness struct {
	// Open opens another client of the one store under test, as independent of
	// the others as a client in another process. The suite closes it. Required.
	Open func(context.Context) (store.Store, error)

	// Restart stops the store and starts it again, as far as there is a store
	// apart from its clients: a server. It is called while no client is open.
	// Nil means that closing all clients is all there is to it.
	Restart func(context.Context) error

	// Snapshot takes a backup of the store, and returns a function that restores it under its clients'
	// feet. Nil means that the engine can't.
	Snapshot func(context.Context) (restore func(context.Context) error, err error)

	// OpenLossy opens a client as Open does, and returns with it a function that loses the reply of the
	// client's next swap after its effect, as a proxy in front of a server does. Nil means that the
	// engine has no such place.
	OpenLossy func(context.Context) (client store.Store, loseNext func(), err error)

	// Flaky is true if calls may fail now and then without cause, as behind a bad network.
	// The suite then reads again, and resolves unknown outcomes as a careful user does.
	// Otherwise an unexpected error is a violation.
	Flaky bool

	// Staleness is how long a read may lag behind. Zero means half of Timeout.
	Staleness time.Duration

	// Timeout is how long the check of one rule may take, and how long a call
	// may take to return after its context has ended. Zero means 30 seconds.
	Timeout time.Duration
}

// A Rule is one thing that a store must do.
type Rule struct {
	Name        string
	Explanation string // the rule, in words
	check       func(*probe)
}

// A Violation is a rule that a store broke.
type Violation struct {
	Rule        string
	Explanation string
	Err         error // what the store did
}

// Error states the rule and the store's answer.
func (v Violation) Error() string {
	return fmt.Sprintf("%s: %v\n\tthe rule: %s", v.Rule, v.Err, v.Explanation)
}

// Unwrap returns the store's answer.
func (v Violation) Unwrap() error { return v.Err }

// Run checks every rule in a subtest of its name.
func Run(t *testing.T, h Harness) {
	t.Helper()
	h = h.withDefaults()
	for _, rule := range Rules() {
		t.Run(rule.Name, func(t *testing.T) {
			if err := h.try(t.Context(), rule); err != nil {
				t.Errorf("%v\n\tthe rule: %s", err, rule.Explanation)
			}
		})
	}
}

// Check checks every rule and returns the broken ones, in the order of [Rules].
func Check(ctx context.Context, h Harness) []Violation {
	h = h.withDefaults()
	var violations []Violation
	for _, rule := range Rules() {
		if err := h.try(ctx, rule); err != nil {
			violations = append(violations, Violation{Rule: rule.Name, Explanation: rule.Explanation, Err: err})
		}
	}
	return violations
}

func (h Harness) withDefaults() Harness {
	if h.Timeout <= 0 {
		h.Timeout = 30 * time.Second
	}
	if h.Staleness <= 0 {
		h.Staleness = h.Timeout / 2
	}
	return h
}

// try checks one rule with two clients of its own and keys of its own.
func (h Harness) try(ctx context.Context, rule Rule) error {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	// Registers are never deleted, so each check has a prefix of its own.
	p := &probe{harness: h, prefix: fmt.Sprintf("storetest-%s/%s/", strings.ToLower(rand.Text()), rule.Name), ctx: ctx}
	checked := begin(func() {
		defer func() { p.note(p.close()) }()
		p.open()
		rule.check(p)
	})
	if err := h.await(ctx, checked); err != nil {
		return err
	}
	return p.verdict()
}

// begin runs f in a goroutine, and returns a channel that is closed at its end.
func begin(f func()) (ended <-chan struct{}) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	return done
}

// await waits until a goroutine has ended, or gives up long after its context did.
func (h Harness) await(ctx context.Context, ended <-chan struct{}) error {
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), h.Timeout)
	defer cancel()
	select {
	case <-ended:
		return nil
	case <-late.Done():
		return fmt.Errorf("a call had not returned %v after its context ended", h.Timeout)
	}
}
