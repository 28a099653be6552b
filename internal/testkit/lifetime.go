package testkit

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
)

// Lifetime is a testing.TB for servers that the tests of a package share. Its TestMain calls End. Its
// zero value is usable, and may be used by several tests at once.
type Lifetime struct {
	testing.TB // nil: the methods below are all that StartServer calls

	mu     sync.Mutex
	ends   []func()
	failed bool
}

// Helper does nothing.
func (l *Lifetime) Helper() {}

// Context never ends.
func (l *Lifetime) Context() context.Context { return context.Background() }

// Cleanup makes End call f.
func (l *Lifetime) Cleanup(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ends = append(l.ends, f)
}

// TempDir returns a folder that End removes.
func (l *Lifetime) TempDir() string {
	dir, err := os.MkdirTemp("", "snowfence-")
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// Logf logs a text.
func (l *Lifetime) Logf(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }

// Errorf logs a text, and makes Failed return true.
func (l *Lifetime) Errorf(format string, args ...any) {
	l.mu.Lock()
	l.failed = true
	l.mu.Unlock()
	l.Logf(format, args...)
}

// Fatalf ends the test that asked for the server: it fails, since its goroutine ends.
func (l *Lifetime) Fatalf(format string, args ...any) {
	l.Errorf(format, args...)
	runtime.Goexit() //nolint:forbidigo // so does a testing.T
}

// Fatal is Fatalf of values.
func (l *Lifetime) Fatal(args ...any) { l.Fatalf("%s", fmt.Sprint(args...)) }

// Failed reports whether something went wrong.
func (l *Lifetime) Failed() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.failed
}

// End calls Cleanup's functions, the last first.
func (l *Lifetime) End() {
	for _, end := range slices.Backward(l.ends) {
		end()
	}
}
