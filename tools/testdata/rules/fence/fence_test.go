package fence

import (
	"os"
	"testing"
	"time"
)

func TestTestsKeepTheirOwnRules(t *testing.T) {
	deadline := time.Now().Add(time.Minute)
	if os.Getenv("HOME") == "" {
		t.Skip("no home") // want "forbidigo: t.Skip"
	}
	t.Run("inner", func(t *testing.T) {
		t.Skipf("not %s", "now") // want "forbidigo: t.Skipf"
	})
	time.Sleep(time.Until(deadline)) // want "forbidigo: time.Sleep"
}

func BenchmarkNothing(b *testing.B) {
	b.SkipNow() // want "forbidigo: b.SkipNow"
}

func FuzzNothing(f *testing.F) {
	f.Skip() // want "forbidigo: f.Skip"
}

func helper(tb testing.TB) {
	tb.Helper()
	tb.Skip() // want "forbidigo: tb.Skip"
}

func TestHelper(t *testing.T) { helper(t) }
