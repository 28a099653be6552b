package snowfence

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"
)

// fields makes a layout's fields from kinds and widths in turn.
func fields(kindsAndBits ...int) []Field {
	var made []Field
	for pair := range slices.Chunk(kindsAndBits, 2) {
		made = append(made, Field{Kind: FieldKind(pair[0]), Bits: pair[1]})
	}
	return made
}

const (
	tm = int(Time)
	dc = int(Datacenter)
	wk = int(Worker)
	sq = int(Sequence)
)

// sampleLayouts has every order of fields that is valid, with and without each
// optional field, and layouts at their limits.
func sampleLayouts() []Layout {
	var layouts []Layout
	add := func(unit time.Duration, epoch int64, unsigned bool, f []Field) {
		l := newLayout(unit, epoch, f...)
		l.Unsigned = unsigned
		layouts = append(layouts, l)
	}
	widths := []int{0, 39, 5, 7, 11} // by kind
	for _, kinds := range [][]int{{tm, sq}, {tm, wk, sq}, {tm, dc, sq}, {tm, dc, wk, sq}} {
		for order := range permutations(kinds) {
			if slices.Index(order, sq) < slices.Index(order, tm) {
				continue
			}
			var f []Field
			for _, kind := range order {
				f = append(f, Field{Kind: FieldKind(kind), Bits: widths[kind]})
			}
			add(time.Millisecond, defaultEpoch, false, f)
		}
	}
	add(time.Microsecond, 0, false, fields(tm, 62, sq, 1))
	add(time.Hour, -2208988800000, false, fields(wk, 20, tm, 1, sq, 42))
	add(time.Second, 7258118399999, false, fields(tm, 61, sq, 2))
	add(90*time.Second, -28800000, false, fields(tm, 3, sq, 1))
	add(1500*time.Microsecond, 1, true, fields(tm, 63, sq, 1))
	add(time.Millisecond, 0, true, fields(tm, 48, sq, 16))
	add(time.Minute, 1234, true, fields(tm, 1, sq, 3, dc, 30, wk, 30))
	for _, p := range Presets() {
		layouts = append(layouts, p.Layout)
	}
	return layouts
}

// permutations yields every order of kinds; they are few.
func permutations(kinds []int) func(yield func([]int) bool) {
	return func(yield func([]int) bool) {
		var place func(order, rest []int) bool
		place = func(order, rest []int) bool {
			if len(rest) == 0 {
				return yield(order)
			}
			for i := range rest {
				if !place(append(slices.Clone(order), rest[i]), slices.Delete(slices.Clone(rest), i, i+1)) {
					return false
				}
			}
			return true
		}
		place(nil, kinds)
	}
}

// sampleParts are parts at the corners of a layout.
func sampleParts(l Layout) []Parts {
	var samples []Parts
	values := func(limit int64) []int64 { return []int64{0, limit / 3, limit - 1} }
	for _, tick := range values(int64(l.HorizonTick())) {
		for _, datacenter := range values(count(l.Bits(Datacenter))) {
			for _, worker := range values(count(l.Bits(Worker))) {
				for _, sequence := range values(l.Sequences()) {
					samples = append(samples, Parts{Tick(tick), datacenter, worker, sequence, 0})
				}
			}
		}
	}
	return samples
}

// mustLayout reads a layout, or the name of a preset.
func mustLayout(t testing.TB, text string) Layout {
	t.Helper()
	l, err := ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestSampleLayoutsAreValid(t *testing.T) {
	for _, l := range sampleLayouts() {
		if err := l.Validate(); err != nil {
			t.Errorf("%v: %v", l, err)
		}
	}
}

func TestValidateNamesThePartAtFault(t *testing.T) {
	base := func(f ...int) Layout { return newLayout(time.Millisecond, defaultEpoch, fields(f...)...) }
	with := func(l Layout, change func(*Layout)) Layout { change(&l); return l }
	for _, test := range []struct {
		name   string
		layout Layout
		want   LayoutError // a Reason need only be contained
	}{
		{"zero value", Layout{}, LayoutError{"time", "missing", "given", ""}},
		{"no sequence", base(tm, 41, wk, 10), LayoutError{"sequence", "missing", "given", ""}},
		{"negative bits", base(tm, -1, sq, 12), LayoutError{"time", "-1 bits", "at least 1 bit", ""}},
		{"huge bits", base(tm, math.MaxInt, sq, math.MaxInt), LayoutError{"time", "9223372036854775807 bits", "at most 63 bits", ""}},
		{"two workers", base(tm, 41, wk, 5, wk, 5, sq, 12), LayoutError{"worker", "given twice", "given once", ""}},
		{"no kind", base(tm, 41, 0, 5, sq, 12), LayoutError{"fields[1]", "FieldKind(0)", "time, datacenter, worker or sequence", ""}},
		{"unknown kind", base(tm, 41, wk, 5, 9, 12), LayoutError{"fields[2]", "FieldKind(9)", "time, datacenter, worker or sequence", ""}},
		{"sequence above time", base(sq, 12, tm, 41), LayoutError{"sequence", "above the time", "below it", "increase"}},
		{"64 bits", base(tm, 42, wk, 10, sq, 12), LayoutError{"total", "64 bits", "at most 63 bits", "sign"}},
		{"unsigned with 63", with(base(tm, 41, wk, 10, sq, 12), func(l *Layout) { l.Unsigned = true }), LayoutError{"total", "63 bits", "64 bits", "exactly 64"}},
		{"unsigned with 65", with(base(tm, 43, wk, 10, sq, 12), func(l *Layout) { l.Unsigned = true }), LayoutError{"total", "65 bits", "64 bits", "exactly 64"}},
		{"unsigned, worker first", with(base(wk, 10, tm, 42, sq, 12), func(l *Layout) { l.Unsigned = true }), LayoutError{"unsigned", "set with worker highest", "unset", "64th"}},
		{"no unit", with(base(tm, 41, sq, 12), func(l *Layout) { l.Unit = 0 }), LayoutError{"unit", "0s", "whole microseconds from 1µs to 1h", ""}},
		{"short unit", with(base(tm, 41, sq, 12), func(l *Layout) { l.Unit = 999 }), LayoutError{"unit", "999ns", "whole microseconds from 1µs to 1h", ""}},
		{"uneven unit", with(base(tm, 41, sq, 12), func(l *Layout) { l.Unit = 1500 }), LayoutError{"unit", "1.5µs", "whole microseconds from 1µs to 1h", ""}},
		{"long unit", with(base(tm, 41, sq, 12), func(l *Layout) { l.Unit = time.Hour + time.Microsecond }), LayoutError{"unit", "1h0m0.000001s", "whole microseconds from 1µs to 1h", ""}},
		{"no epoch", with(base(tm, 41, sq, 12), func(l *Layout) { l.Epoch = time.Time{} }), LayoutError{"epoch", "0001-01-01T00:00:00Z", "whole milliseconds in the years 1900 to 2199", ""}},
		{"early epoch", newLayout(1e6, -2208988800001, fields(tm, 41, sq, 12)...), LayoutError{"epoch", "1899-12-31T23:59:59.999Z", "whole milliseconds in the years 1900 to 2199", ""}},
		{"late epoch", newLayout(1e6, 7258118400000, fields(tm, 41, sq, 12)...), LayoutError{"epoch", "2200-01-01T00:00:00Z", "whole milliseconds in the years 1900 to 2199", ""}},
		{"uneven epoch", with(base(tm, 41, sq, 12), func(l *Layout) { l.Epoch = l.Epoch.Add(time.Microsecond) }), LayoutError{"epoch", "2026-01-01T00:00:00.000001Z", "whole milliseconds in the years 1900 to 2199", ""}},
		{"too far", newLayout(time.Second, 0, fields(tm, 62, sq, 1)...), LayoutError{"time", "62 bits of 1s", "at most 2^62 seconds", ""}},
	} {
		err := test.layout.Validate()
		var got *LayoutError
		if !errors.As(err, &got) || !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("%s: error is %v, want a *LayoutError", test.name, err)
			continue
		}
		if got.Field != test.want.Field || got.Value != test.want.Value || got.Limit != test.want.Limit || !strings.Contains(got.Reason, test.want.Reason) {
			t.Errorf("%s: error is %+v, want %+v", test.name, *got, test.want)
		}
		if want := got.Field + " is " + got.Value + ", must be " + got.Limit; !strings.Contains(err.Error(), want) {
			t.Errorf("%s: message %q lacks %q", test.name, err, want)
		}
	}
}

// TestLayoutsThatAreNotValidDoNoHarm calls everything on layouts that Validate
// refuses: errors where there can be one, and no panic.
func TestLayoutsThatAreNotValidDoNoHarm(t *testing.T) {
	now := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC)
	for _, l := range []Layout{
		{},
		{Unit: -1, Fields: fields(tm, -5, wk, -1, sq, math.MinInt)},
		{Unit: time.Hour, Fields: fields(tm, math.MaxInt, dc, math.MaxInt, wk, math.MaxInt, sq, math.MaxInt), Unsigned: true},
		{Unit: math.MaxInt64, Epoch: time.Unix(math.MinInt64, 0), Fields: fields(9, 70)},
	} {
		if _, err := l.Compose(Parts{}); !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("Compose: %v", err)
		}
		if _, err := l.Decompose(5); !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("Decompose: %v", err)
		}
		if _, _, err := l.Bounds(now); !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("Bounds: %v", err)
		}
		if _, _, err := l.WorkerBounds(0, now); !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("WorkerBounds: %v", err)
		}
		if _, err := l.MarshalText(); !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("MarshalText: %v", err)
		}
		_, _ = l.WorkerNumber(1, 1)
		_, _, _ = l.SplitWorker(1)
		_, _, _ = l.TickAt(now), l.TimeOf(5), l.TimeOf(math.MinInt64)
		_, _ = l.Horizon(), l.Rate()
		_, _, _ = l.Spans(), l.Shift(Worker), l.String()
	}
}

func TestCapacity(t *testing.T) {
	for _, test := range []struct {
		layout             Layout
		workers, sequences int64
		perWorker, all     float64
	}{
		{DefaultLayout(), 1024, 4096, 4096e3, 1024 * 4096e3},
		{newLayout(10*time.Millisecond, 0, fields(tm, 39, sq, 8, wk, 16)...), 65536, 256, 25600, 65536 * 25600},
		{newLayout(time.Second, 0, fields(tm, 28, wk, 22, sq, 13)...), 1 << 22, 8192, 8192, 1 << 35},
		{newLayout(time.Millisecond, 0, fields(tm, 41, dc, 5, wk, 6, sq, 2)...), 2048, 4, 4000, 2048 * 4000},
		{newLayout(time.Hour, 0, fields(tm, 41, sq, 22)...), 1, 1 << 22, (1 << 22) / 3600.0, (1 << 22) / 3600.0},
	} {
		l := test.layout
		if l.Workers() != test.workers || l.Sequences() != test.sequences || l.RatePerWorker() != test.perWorker || l.Rate() != test.all {
			t.Errorf("%v: %d workers, %d sequences, %v ids a second each, %v in all", l, l.Workers(), l.Sequences(), l.RatePerWorker(), l.Rate())
		}
	}
}

func TestSpansSayWhereFieldsStand(t *testing.T) {
	l := newLayout(10*time.Millisecond, 0, Field{Time, 39}, Field{Sequence, 8}, Field{Worker, 16})
	want := []Span{{l.Fields[0], 62, 24}, {l.Fields[1], 23, 16}, {l.Fields[2], 15, 0}}
	if got := l.Spans(); !slices.Equal(got, want) {
		t.Errorf("spans are %v, want %v", got, want)
	}
	for _, s := range want {
		if l.Shift(s.Field.Kind) != s.Low || l.Bits(s.Field.Kind) != s.High-s.Low+1 {
			t.Errorf("%s: shift %d, %d bits", s.Field.Kind, l.Shift(s.Field.Kind), l.Bits(s.Field.Kind))
		}
	}
	if l.Bits(Datacenter) != 0 || l.Shift(Datacenter) != 0 {
		t.Error("a field that is not there has bits")
	}
}

func TestEqualLayoutsMeanTheSame(t *testing.T) {
	l := DefaultLayout()
	same := DefaultLayout()
	same.Epoch = same.Epoch.In(time.FixedZone("", 3600))
	if !l.Equal(same) || l.String() != same.String() {
		t.Errorf("%v and %v differ", l, same)
	}
	for name, change := range map[string]func(*Layout){
		"unit":     func(l *Layout) { l.Unit = time.Second },
		"epoch":    func(l *Layout) { l.Epoch = l.Epoch.Add(time.Millisecond) },
		"unsigned": func(l *Layout) { l.Unsigned = true },
		"bits":     func(l *Layout) { l.Fields[1].Bits = 9 },
		"kind":     func(l *Layout) { l.Fields[1].Kind = Datacenter },
		"order":    func(l *Layout) { l.Fields[0], l.Fields[1] = l.Fields[1], l.Fields[0] },
		"number":   func(l *Layout) { l.Fields = l.Fields[:2] },
	} {
		other := DefaultLayout()
		change(&other)
		if l.Equal(other) || other.Equal(l) || l.String() == other.String() {
			t.Errorf("another %s makes no difference", name)
		}
	}
}

func TestLayoutIsATextInJSON(t *testing.T) {
	type config struct{ Layout Layout }
	var c config
	if err := json.Unmarshal([]byte(`{"Layout":"twitter@2026-01-01"}`), &c); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(c)
	if want := `{"Layout":"ms41-datacenter5-worker5-seq12@2026-01-01T00:00:00Z"}`; err != nil || string(data) != want {
		t.Errorf("JSON is %s, %v, want %s", data, err, want)
	}
	before := c.Layout
	if err := json.Unmarshal([]byte(`{"Layout":"ms41"}`), &c); !errors.Is(err, ErrInvalidLayout) || !c.Layout.Equal(before) {
		t.Errorf("refused with %v, and is now %v", err, c.Layout)
	}
	if _, err := json.Marshal(config{}); !errors.Is(err, ErrInvalidLayout) {
		t.Errorf("the zero layout: %v", err)
	}
}

func TestOnlyTheZeroLayoutIsZero(t *testing.T) {
	if !(Layout{}).IsZero() {
		t.Error("the zero layout is not zero")
	}
	for _, l := range []Layout{DefaultLayout(), {Unit: time.Second}, {Epoch: time.Unix(1, 0)}, {Fields: []Field{}}, {Unsigned: true}} {
		if l.IsZero() {
			t.Errorf("%+v is zero", l)
		}
	}
}

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
		if got := mustLayout(t, name).Horizon().Format(time.RFC3339Nano); got != want {
			t.Errorf("%s: horizon is %s, want %s", name, got, want)
		}
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
