package testkit_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"snowfence.example/snowfence/internal/testkit"
)

func TestEventuallyTriesAgainUntilThereIsNoError(t *testing.T) {
	tries := 0
	testkit.Eventually(t, func(context.Context) error {
		if tries++; tries < 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if tries != 3 {
		t.Errorf("it tried %d times, want 3", tries)
	}
}

func TestEventuallyFailsTheTestWithTheLastErrorWhenItsLimitIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var ended func() error
		got := failure(t, func(t testing.TB) {
			testkit.Eventually(t, func(ctx context.Context) error {
				ended = ctx.Err
				return errors.New("not yet")
			})
		})
		if want := "not within 3m0s: not yet"; got != want || ended() == nil {
			t.Errorf("message %q, want %q; the context's error is %v", got, want, ended())
		}
	})
}

// failure returns the message with which start fails a test.
func failure(t *testing.T, start func(testing.TB)) string {
	t.Helper()
	f := &failed{TB: t}
	func() {
		defer func() {
			if r := recover(); r != nil && r != any(f) {
				panic(r)
			}
		}()
		start(f)
	}()
	return f.message
}

// failed is a test that keeps the message that it fails with.
type failed struct {
	testing.TB
	message string
}

func (f *failed) Fatalf(format string, arguments ...any) {
	f.message = fmt.Sprintf(format, arguments...)
	panic(f)
}
