package snowfence

import (
	"bytes"
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const wideText = "01890a5d-ac96-874b-8000-0c0000000001"

func TestWideIDIsReadInEverySpelling(t *testing.T) {
	want, err := ParseWide(wideText)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.ToUpper(wideText), strings.ReplaceAll(wideText, "-", ""), wideText[1:8] + strings.ReplaceAll(wideText[8:], "-", "")} {
		if got, err := ParseWide(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", wideText + "0", wideText[:35], "{" + wideText[1:], strings.Replace(wideText, "-", "0", 1), "0g", "0x12", strings.Repeat("0", 33), strings.Repeat("-", 36)} {
		if got, err := ParseWide(text); !errors.Is(err, ErrInvalidID) || got != (WideID{}) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestWideIDGoesThroughJSONAndDatabases(t *testing.T) {
	id, err := ParseWide(wideText)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(map[string]WideID{"id": id})
	if err != nil || string(written) != `{"id":"`+wideText+`"}` {
		t.Errorf("JSON is %s, %v", written, err)
	}
	var read map[string]WideID
	if err := json.Unmarshal(written, &read); err != nil || read["id"] != id {
		t.Errorf("read from JSON: %v, %v", read, err)
	}
	for _, text := range []string{"null", "7", `"x"`, `""`, "[]"} {
		got := struct{ W WideID }{id} // used before
		if err := json.Unmarshal([]byte(`{"W":`+text+`}`), &got); !errors.Is(err, ErrInvalidID) {
			t.Errorf("read from JSON %s: %v, %v", text, got, err)
		}
	}
	var none struct{ W *WideID }
	if err := json.Unmarshal([]byte(`{"W":null}`), &none); err != nil || none.W != nil {
		t.Errorf("null for a pointer: %v, %v", none.W, err)
	}
	if v, err := id.Value(); err != nil || v != wideText {
		t.Errorf("value is %v, %v", v, err)
	}
	for _, src := range []any{wideText, []byte(wideText), id[:]} {
		var got WideID
		if err := got.Scan(src); err != nil || got != id {
			t.Errorf("scanned %v: %s, %v", src, got, err)
		}
	}
	for _, src := range []any{nil, int64(1), 1.5, "x", []byte{1}} {
		var got WideID
		if err := got.Scan(src); !errors.Is(err, ErrInvalidID) {
			t.Errorf("scanned %v: %s, %v", src, got, err)
		}
	}
	var null sql.Null[WideID]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("NULL: %v, %v", null, err)
	}
}

func FuzzWideIDIsReadAsItIsWritten(f *testing.F) {
	for _, text := range []string{wideText, strings.ToUpper(wideText), "507f1f77bcf86cd799439011", "0", "x", strings.Repeat("f", 32)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseWide(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidID) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		digits := strings.ToLower(strings.ReplaceAll(text, "-", ""))
		if got := strings.ReplaceAll(id.String(), "-", ""); strings.TrimLeft(got, "0") != strings.TrimLeft(digits, "0") {
			t.Fatalf("%q is read as %s", text, id)
		}
		if again, err := ParseWide(id.String()); err != nil || again != id {
			t.Fatalf("%s is read as %s, %v", id, again, err)
		}
	})
}

// TestNoTextOfAWideIDIsTakenForItsBytes scans texts as MySQL's driver gives them.
func TestNoTextOfAWideIDIsTakenForItsBytes(t *testing.T) {
	for random := range 62 {
		layout := Layout{Unit: time.Millisecond, Epoch: time.Unix(0, 0), Wide: true}
		layout.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Sequence, Bits: 1}, {Kind: Random, Bits: random + 1}}
		if err := layout.Validate(); err != nil {
			t.Fatal(err)
		}
		id, err := layout.ComposeWide(Parts{Tick: 1<<41 - 1, Sequence: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got WideID
		if text := layout.Text(id); len(text) == len(id) {
			t.Errorf("%s: text %s has as many bytes as an id", layout, text)
		} else if err := got.Scan([]byte(text)); err != nil || got != id {
			t.Errorf("%s: text %s is scanned as %x, %v, want %x", layout, text, got, err, id)
		}
	}
}

// wideLayouts are the presets, and layouts at their limits.
func wideLayouts(t testing.TB) []Layout {
	t.Helper()
	var layouts []Layout
	for _, p := range WidePresets() {
		layouts = append(layouts, p.Layout)
	}
	for _, text := range []string{
		"wide-ms1-seq1",
		"wide-ms41-worker10-seq12",
		"wide-worker62-ms40-seq26",
		"wide-datacenter31-us63-worker31-seq3",
		"wide-s2-seq62-random62@1970-01-01",
		"wide-ms48-version4-datacenter12-variant2-worker8-seq20-random34@1970-01-01",
		"wide-ms48-version4-worker12-variant2-seq62@1970-01-01",
	} {
		l := mustLayout(t, text)
		layouts = append(layouts, l)
	}
	return layouts
}

// drawn returns parts that fit the layout, often at the limits.
func drawn(r *rand.Rand, l Layout) Parts {
	below := func(n int64) int64 {
		return []int64{0, n - 1, r.Int64N(n)}[r.IntN(3)]
	}
	p := Parts{Tick: Tick(below(int64(l.HorizonTick())))}
	for _, kind := range [...]FieldKind{Datacenter, Worker, Sequence, Random} {
		*p.at(kind) = below(count(l.Bits(kind)))
	}
	return p
}

func TestWideIDsAreTakenApartAsTheyWerePutTogether(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, l := range wideLayouts(t) {
		for range 1000 {
			p := drawn(r, l)
			id, err := l.ComposeWide(p)
			if err != nil {
				t.Fatalf("%s: %+v: %v", l, p, err)
			}
			if got, err := l.DecomposeWide(id); err != nil || got != p {
				t.Fatalf("%s: %+v became %s, and that %+v, %v", l, p, id, got, err)
			}
			if back, err := ParseWide(l.Text(id)); err != nil || back != id {
				t.Fatalf("%s: %s is written as %q, and that is %s, %v", l, id, l.Text(id), back, err)
			}
		}
	}
}

func TestWideIDsAndTheirTextsSortByTimeAndSequence(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, l := range wideLayouts(t) {
		if l.Fields[0].Kind != Time {
			continue
		}
		for range 1000 {
			early, late := drawn(r, l), drawn(r, l)
			late.Datacenter, late.Worker = early.Datacenter, early.Worker
			if early.Tick > late.Tick || early.Tick == late.Tick && early.Sequence >= late.Sequence {
				continue
			}
			a, _ := l.ComposeWide(early)
			b, _ := l.ComposeWide(late)
			if slices.Compare(a[:], b[:]) >= 0 || l.Text(a) >= l.Text(b) {
				t.Fatalf("%s: %+v is %s, which is not below %s of %+v", l, early, a, b, late)
			}
		}
	}
}

func TestWidePresetsHaveTheBitsOfTheirSystems(t *testing.T) {
	for _, test := range []struct {
		preset, text string
		parts        Parts
		time         string
	}{
		{"uuid8", "01890a5d-ac96-874b-8000-0c0000000001", Parts{Tick: 0x01890a5dac96, Sequence: 0x74b, Worker: 3, Random: 1}, "2023-06-30T03:34:18.518Z"},
		{"uuid8", "ffffffff-ffff-8fff-bfff-ffffffffffff", Parts{Tick: 1<<48 - 1, Sequence: 4095, Worker: 1<<20 - 1, Random: 1<<42 - 1}, "10889-08-02T05:31:50.655Z"},
		// The ObjectID of MongoDB's documentation.
		{"objectid", "507f1f77bcf86cd799439011", Parts{Tick: 0x507f1f77, Worker: 0xbcf86cd799, Sequence: 0x439011}, "2012-10-17T21:13:27Z"},
		{"game-server", "0000000000010000a0007", Parts{Tick: 1, Worker: 10, Sequence: 7}, "2026-01-01T00:00:00.001Z"},
	} {
		p, err := PresetByName(test.preset)
		if err != nil {
			t.Fatal(err)
		}
		l := p.Layout
		id, err := ParseWide(test.text)
		if err != nil {
			t.Fatal(err)
		}
		got, err := l.DecomposeWide(id)
		if err != nil || got != test.parts || l.TimeOf(got.Tick).Format(time.RFC3339Nano) != test.time {
			t.Errorf("%s %s is %+v at %s, %v; want %+v at %s", test.preset, test.text, got, l.TimeOf(got.Tick).Format(time.RFC3339Nano), err, test.parts, test.time)
		}
		if text := l.Text(id); text != test.text {
			t.Errorf("%s: %q is written as %q", test.preset, test.text, text)
		}
	}
}

func TestLayoutsThatCanNotBeWideAreRefused(t *testing.T) {
	for text, field := range map[string]string{
		"wide-ms48-worker40-seq41":             "total",
		"wide-ms48-datacenter31-worker32-seq1": "datacenter and worker",
		"wide-ms20-seq63":                      "sequence",
		"wide-ms40-seq20-random63":             "random",
		"wide-ms40-random20-seq20":             "seq",
		"wide-ms40-worker20":                   "sequence",
		"unsigned-wide-ms42-seq22":             "unsigned",
		"wide-ms48-version4-seq12-variant2-worker20-random41@1970-01-01":      "version and variant",
		"wide-ms48-version4-seq12-worker22-random42@1970-01-01":               "version and variant",
		"wide-ms48-variant2-seq12-version4-worker20-random42@1970-01-01":      "version and variant",
		"wide-ms46-version6-seq12-variant2-worker20-random42@1970-01-01":      "version and variant",
		"wide-ms48-version4-seq12-variant2-worker20-random20-random22@1970-1": "",
	} {
		l, err := ParseLayout(text)
		var wrong *LayoutError
		switch {
		case field == "" && err != nil:
		case !errors.As(err, &wrong) || !errors.Is(err, ErrInvalidLayout):
			t.Errorf("%s: error is %v", text, err)
		case wrong.Field != field && !(field == "seq" && wrong.Field == "sequence"):
			t.Errorf("%s: the error is about %s: %v", text, wrong.Field, err)
		case l.Validate() == nil:
			t.Errorf("%s is refused and valid", text)
		}
	}
}

func TestNarrowAndWideLayoutsAreNotMixedUp(t *testing.T) {
	narrow, wide := DefaultLayout(), WidePresets()[0].Layout
	refused := func(what string, err error) {
		t.Helper()
		var wrong *LayoutError
		if !errors.As(err, &wrong) || wrong.Field != "layout" {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	_, err := wide.Compose(Parts{})
	refused("compose", err)
	_, err = wide.Decompose(0)
	refused("decompose", err)
	_, _, err = wide.Bounds(testStart)
	refused("bounds", err)
	_, _, err = wide.WorkerBounds(0, testStart)
	refused("worker bounds", err)
	_, err = narrow.ComposeWide(Parts{})
	refused("compose wide", err)
	_, err = narrow.DecomposeWide(WideID{})
	refused("decompose wide", err)
	if _, err := narrow.Compose(Parts{Random: 1}); err == nil {
		t.Error("random bits have found a place in the default layout")
	}
	for _, l := range []Layout{narrow, wide} {
		worker := int64(1)
		g, err := NewGenerator(GeneratorConfig{Layout: l, Worker: &worker, Until: l.HorizonTick()})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 { // with the lane closed and open
			_, next := g.Next(t.Context())
			_, nextWide := g.NextWide(t.Context())
			fill, fillWide := g.Fill(t.Context(), make([]ID, 2)), g.FillWide(t.Context(), make([]WideID, 2))
			if l.Wide {
				next, nextWide, fill, fillWide = nextWide, next, fillWide, fill
			}
			if next != nil || fill != nil {
				t.Errorf("%s: its own ids: %v, %v", l, next, fill)
			}
			refused("next of the other", nextWide)
			refused("fill of the other", fillWide)
		}
	}
}

func TestForeignUUIDsAreNotReadAsOurs(t *testing.T) {
	uuid8, objectID := WidePresets()[0].Layout, WidePresets()[1].Layout
	for text, l := range map[string]Layout{
		"01890a5d-ac96-774b-bcce-b302099a8057": uuid8, // version 7
		"01890a5d-ac96-874b-fcce-b302099a8057": uuid8, // another variant
		"00000000-0000-0000-0000-000000000000": uuid8,
		"1507f1f77bcf86cd799439011":            objectID, // 97 bits
	} {
		id, err := ParseWide(text)
		if err != nil {
			t.Fatal(err)
		}
		if p, err := l.DecomposeWide(id); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%s is read as %+v, %v", text, p, err)
		}
	}
}

func TestHorizonOfAWideLayoutFitsTheGenerator(t *testing.T) {
	for text, want := range map[string]Tick{
		"uuid8": 1 << 48, "objectid": 1 << 32, "game-server": 1 << 47, "wide-us63-seq10": 1 << 53, "wide-ms2-seq62": 2,
	} {
		l := mustLayout(t, text)
		if got := l.HorizonTick(); got != want {
			t.Errorf("%s: the horizon is tick %d, want %d", text, got, want)
		}
		if _, err := l.ComposeWide(Parts{Tick: l.HorizonTick()}); err == nil {
			t.Errorf("%s: a tick at the horizon is composed", text)
		}
	}
}

func TestWideIDIsBetweenExactlyWhenItsTimeIsInTheSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, l := range wideLayouts(t) {
		if l.Fields[0].Kind != Time {
			if _, _, err := l.BetweenWide(l.Epoch, l.Horizon()); !errors.Is(err, ErrWorkerAboveTime) {
				t.Errorf("%s: error is %v", l, err)
			}
			continue
		}
		for range 300 {
			center := drawn(r, l).Tick
			near := func() Tick { return min(max(center+Tick(r.Int64N(7)-3), 0), l.HorizonTick()-1) }
			from, to := l.TimeOf(near()), l.TimeOf(near()).Add(time.Duration(r.Int64N(3)-1))
			lo, hi, err := l.BetweenWide(from, to)
			p := drawn(r, l)
			p.Tick = near()
			id, _ := l.ComposeWide(p)
			at := l.TimeOf(p.Tick)
			inside := err == nil && bytes.Compare(lo[:], id[:]) <= 0 && bytes.Compare(id[:], hi[:]) <= 0
			if want := !at.Before(from) && at.Before(to); inside != want {
				t.Fatalf("%s: %s of %s is in [%s, %s): %t; bounds %s, %s, %v", l, id, at, from, to, inside, lo, hi, err)
			}
		}
	}
	if _, _, err := DefaultLayout().BetweenWide(testStart, testStart.Add(time.Hour)); !errors.Is(err, ErrInvalidLayout) {
		t.Errorf("the default layout: %v", err)
	}
}

func TestBoundsOfUUIDsHoldForVersion7(t *testing.T) {
	l := WidePresets()[0].Layout
	at := time.UnixMilli(0x017f22e279b0)
	lo, hi, err := l.BetweenWide(at, at.Add(time.Millisecond))
	if err != nil || lo.String() != "017f22e2-79b0-0000-0000-000000000000" || hi.String() != "017f22e2-79b0-ffff-ffff-ffffffffffff" {
		t.Errorf("bounds are %s and %s, %v", lo, hi, err)
	}
}

func newWideGenerator(t testing.TB, layout string, cfg GeneratorConfig) *Generator {
	t.Helper()
	l := mustLayout(t, layout)
	cfg.Layout = l
	if cfg.Worker == nil {
		last := l.Workers() - 1
		cfg.Worker = &last
	}
	cfg.Until = cmp.Or(cfg.Until, l.HorizonTick())
	g, err := NewGenerator(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wideParts(t testing.TB, g *Generator, id WideID) Parts {
	t.Helper()
	p, err := g.layout.DecomposeWide(id)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWideIDsCarryTheTickAndTheWorker(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		for _, l := range wideLayouts(t) {
			if tick := l.TickAt(testStart); tick < 0 || tick >= l.HorizonTick() {
				continue
			}
			g := newWideGenerator(t, l.String(), GeneratorConfig{Clock: clock, Rand: func() uint64 { return 1<<64 - 1 }})
			id, err := g.NextWide(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			p := wideParts(t, g, id)
			datacenter, worker, err := l.SplitWorker(l.Workers() - 1)
			want := Parts{l.TickAt(testStart), datacenter, worker, int64(g.quarter), count(l.Bits(Random)) - 1}
			if err != nil || p != want {
				t.Errorf("%s: %+v, want %+v, %v", l, p, want, err)
			}
			ids := make([]WideID, 3)
			if err := g.FillWide(t.Context(), ids); err != nil {
				continue // a tick of this layout has fewer
			}
			for i, id := range ids {
				// The slots go on, over the ends of ticks.
				p := wideParts(t, g, id)
				if slot := uint64(p.Tick)<<g.seqBits | uint64(p.Sequence); slot != uint64(want.Tick)<<g.seqBits+uint64(want.Sequence)+uint64(i)+1 {
					t.Errorf("%s: id %d of a batch is %+v, after %+v", l, i, p, want)
				}
			}
		}
	})
}

// The random bits are taken away first: the others are what makes an id unique.
func TestConcurrentCallersNeverShareAWideID(t *testing.T) {
	for _, layout := range []string{"uuid8", "objectid", "game-server", "wide-ms41-worker2-seq4"} {
		t.Run(layout, func(t *testing.T) {
			g := newWideGenerator(t, layout, GeneratorConfig{Rand: rand.Uint64})
			seen := map[Parts]bool{}
			for i, ids := range crowd(t, 5_000, g.NextWide, g.FillWide) {
				if !slices.IsSortedFunc(ids, func(a, b WideID) int { return bytes.Compare(a[:], b[:]) }) {
					t.Errorf("caller %d: ids do not increase", i)
				}
				for _, id := range ids {
					p := wideParts(t, g, id)
					p.Random = 0
					if seen[p] {
						t.Fatalf("%+v was issued twice", p)
					}
					seen[p] = true
				}
			}
		})
	}
}

func TestNoWideCallGetsPastAWindowThatEnds(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		l := WidePresets()[0].Layout
		until := l.TickAt(testStart) + 3
		g := newWideGenerator(t, "uuid8", GeneratorConfig{Until: until, Clock: clock})
		var last Parts
		for range 4 << 12 { // a tick more than the window has
			id, err := g.NextWide(t.Context())
			if err != nil {
				if !errors.Is(err, ErrWindowEnded) {
					t.Error(err)
				}
				break
			}
			last = wideParts(t, g, id)
		}
		if last.Tick != until-1 || last.Sequence != int64(g.mask) {
			t.Errorf("the last id is %+v, not the window's last", last)
		}
		if err := g.FillWide(t.Context(), make([]WideID, 1)); !errors.Is(err, ErrWindowEnded) {
			t.Errorf("a batch beyond the window: %v", err)
		}
		if reserved := g.Revoke(nil); reserved != until {
			t.Errorf("reserved up to %d, want %d", reserved, until)
		}
		if id, err := g.NextWide(t.Context()); !errors.Is(err, ErrRevoked) || id != (WideID{}) {
			t.Errorf("after revoke: %s, %v", id, err)
		}
		untouched := make([]WideID, 2)
		if err := g.FillWide(t.Context(), untouched); !errors.Is(err, ErrRevoked) || untouched[0] != (WideID{}) {
			t.Errorf("a batch after revoke: %s, %v", untouched, err)
		}
	})
}

func TestWideBatchWaitsForTicksAndStaysInOrder(t *testing.T) {
	bubble(t, testStart, func(t *testing.T, clock *testClock) {
		g := newWideGenerator(t, "wide-ms41-worker2-seq4-random20", GeneratorConfig{Clock: clock, Policy: Policy{MaxWait: time.Second}})
		ids := make([]WideID, 500) // 16 a millisecond
		if err := g.FillWide(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		if !slices.IsSortedFunc(ids, func(a, b WideID) int { return bytes.Compare(a[:], b[:]) }) || g.Status().Waits == 0 {
			t.Errorf("after %d waits the ids do not increase", g.Status().Waits)
		}
		if err := g.FillWideWithin(t.Context(), 0, ids); !errors.Is(err, ErrSaturated) {
			t.Errorf("a batch that may not wait: %v", err)
		}
	})
}

func TestWideCallsDoNotAllocate(t *testing.T) {
	g := newWideGenerator(t, "wide-ms48-version4-worker12-variant2-seq20-random42@1970-01-01", GeneratorConfig{})
	batch, text := make([]WideID, 64), make([]byte, 0, uuidWidth)
	for name, call := range map[string]func(){
		"NextWide": func() { _, _ = g.NextWide(t.Context()) },
		"FillWide": func() { _ = g.FillWide(t.Context(), batch) },
		"AppendID": func() { text = g.layout.AppendID(text[:0], batch[0]) },
	} {
		if n := testing.AllocsPerRun(1000, call); n != 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkWide(b *testing.B) {
	const spacious = "wide-ms48-version4-worker12-variant2-seq20-random42@1970-01-01"
	for _, layout := range []string{"wide-ms41-worker1-seq21", spacious} {
		g := newWideGenerator(b, layout, GeneratorConfig{})
		batch, ctx := make([]WideID, 64), b.Context()
		b.Run(layout+"/next", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_, _ = g.NextWide(ctx)
			}
		})
		b.Run(layout+"/fill", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = g.FillWide(ctx, batch)
			}
		})
	}
}
