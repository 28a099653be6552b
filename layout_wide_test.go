package snowfence

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

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
		l, err := ParseLayout(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
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
		"wide-unsigned-ms42-seq22":             "unsigned",
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
		g, err := NewUnfencedGenerator(GeneratorConfig{Layout: l, Worker: &worker})
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
		l, err := ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
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
