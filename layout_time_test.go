package snowfence

import (
	"math"
	"math/big"
	"testing"
	"time"
)

// reckon is TickAt in numbers without bounds.
func reckon(l Layout, t time.Time) *big.Int {
	nanos := func(t time.Time) *big.Int {
		n := new(big.Int).Mul(big.NewInt(t.Unix()), big.NewInt(int64(time.Second)))
		return n.Add(n, big.NewInt(int64(t.Nanosecond())))
	}
	n := nanos(t)
	n.Sub(n, nanos(l.Epoch))
	return n.Div(n, big.NewInt(int64(l.Unit))) // Euclidean: rounds down, as the unit is positive
}

// checkTickAt checks TickAt against reckon, and TimeOf against both.
func checkTickAt(t *testing.T, l Layout, at time.Time) {
	t.Helper()
	exact, got := reckon(l, at), l.TickAt(at)
	switch {
	case exact.IsInt64() && got != Tick(exact.Int64()),
		!exact.IsInt64() && exact.Sign() > 0 && got != math.MaxInt64,
		!exact.IsInt64() && exact.Sign() < 0 && got > -math.MaxInt64:
		t.Errorf("%v: tick of %v is %d, want %v", l, at, got, exact)
	}
	if !exact.IsInt64() {
		return
	}
	begins := l.TimeOf(got)
	if begins.After(at) || reckon(l, begins).Cmp(exact) != 0 || begins.Location() != time.UTC {
		t.Errorf("%v: tick %d, of %v, begins at %v", l, got, at, begins)
	}
	if before := begins.Add(-1); reckon(l, before).Cmp(exact) == 0 {
		t.Errorf("%v: tick %d begins before %v", l, got, begins)
	}
}

func TestTicksAreExactFarBeyondNanoseconds(t *testing.T) {
	instants := []time.Time{
		{},
		time.Unix(0, 0),
		time.Unix(0, -1),
		time.Date(1677, 9, 21, 0, 12, 43, 145224191, time.UTC), // one nanosecond before int64 nanoseconds begin
		time.Date(2262, 4, 11, 23, 47, 16, 854775808, time.UTC),
		time.Date(2026, 1, 1, 0, 0, 0, 999999, time.FixedZone("", 3600)),
		time.Date(10889, 8, 2, 5, 31, 50, 655000000, time.UTC),
		time.Date(-9999, 1, 1, 0, 0, 0, 1, time.UTC),
		time.Unix(1<<40, 999999999),
		time.Unix(-1<<40, 1),
		time.Unix(1<<55, 5),
		time.Unix(-1<<55, 5),
	}
	for _, l := range sampleLayouts() {
		horizon := l.Horizon()
		for _, at := range append(instants, l.Epoch, l.Epoch.Add(-1), horizon, horizon.Add(-1)) {
			checkTickAt(t, l, at)
		}
		if got := l.TickAt(horizon); got != l.HorizonTick() {
			t.Errorf("%v: horizon %v is tick %d, want %d", l, horizon, got, l.HorizonTick())
		}
		if got := l.TickAt(l.Epoch); got != 0 {
			t.Errorf("%v: epoch is tick %d", l, got)
		}
		if got := l.TickAt(l.Epoch.Add(-1)); got != -1 {
			t.Errorf("%v: the nanosecond before the epoch is tick %d", l, got)
		}
	}
}

func TestTicksNoIntegerHoldsAreTheNearest(t *testing.T) {
	l := newLayout(time.Microsecond, 0, fields(tm, 62, sq, 1)...)
	if got := l.TickAt(time.Unix(1<<60, 0)); got != math.MaxInt64 {
		t.Errorf("tick is %d", got)
	}
	if got := l.TickAt(time.Unix(-1<<60, 0)); got != -math.MaxInt64 {
		t.Errorf("tick is %d", got)
	}
	hours := newLayout(time.Hour, 0, fields(tm, 41, sq, 12)...)
	for tick, want := range map[Tick]time.Time{
		math.MaxInt64: time.Unix(1<<62, 0).UTC(),
		math.MinInt64: time.Unix(-1<<62, 0).UTC(),
	} {
		if got := hours.TimeOf(tick); !got.Equal(want) {
			t.Errorf("tick %d begins at %v, want %v", tick, got, want)
		}
	}
}

func TestHorizons(t *testing.T) {
	for name, want := range map[string]string{
		"default":            "2095-09-07T15:47:35.552Z",
		"twitter":            "2080-07-10T17:30:30.209Z",
		"baidu":              "2024-11-20T13:24:16Z",
		"discord":            "2084-09-06T15:47:35.552Z",
		"instagram":          "2046-06-27T17:00:49.497Z",
		"mastodon":           "6429-10-17T02:45:55.328Z",
		"sonyflake-v1":       "2188-11-16T03:28:58.88Z",
		"javascript-safe-s":  "2094-01-19T03:14:08Z",
		"javascript-safe-ms": "2095-09-07T15:47:35.552Z",
	} {
		p, err := PresetByName(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Layout.Horizon().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s: horizon is %s, want %s", name, got, want)
		}
	}
	mastodon, err := PresetByName("mastodon")
	if err != nil {
		t.Fatal(err)
	}
	if last := mastodon.Layout.TimeOf(1<<48 - 1); last.Year() != 10889 {
		t.Errorf("48 bits of milliseconds end in %v", last)
	}
}

func FuzzTickAt(f *testing.F) {
	f.Add(int64(0), int64(0), uint32(1000), int64(0))
	f.Add(int64(1<<54), int64(999999999), uint32(3600000000), int64(-28800000))
	f.Fuzz(func(t *testing.T, seconds, nanos int64, micros uint32, epoch int64) {
		l := newLayout(time.Duration(micros)*time.Microsecond, epoch, fields(tm, 41, sq, 12)...)
		if seconds > maxReach || seconds < -maxReach || l.Validate() != nil {
			return
		}
		if at := time.Unix(seconds, nanos%int64(time.Second)); at.Unix() < maxReach && at.Unix() > -maxReach {
			checkTickAt(t, l, at)
		}
	})
}

func BenchmarkTickAt(b *testing.B) {
	l := DefaultLayout()
	now := time.Now()
	for b.Loop() {
		l.TickAt(now)
	}
}
