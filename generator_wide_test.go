package snowfence

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

func newWideGenerator(t testing.TB, layout string, cfg GeneratorConfig) *Generator {
	t.Helper()
	l, err := ParseLayout(layout)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Layout = l
	if cfg.Worker == nil {
		last := l.Workers() - 1
		cfg.Worker = &last
	}
	g, err := NewUnfencedGenerator(cfg)
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
			const callers, calls = 8, 5_000
			lists := make([][]WideID, callers)
			var group sync.WaitGroup
			for i := range callers {
				group.Go(func() {
					batch := make([]WideID, 1+i*7)
					for len(lists[i]) < calls && !t.Failed() {
						ids := batch
						var err error
						if i%2 == 0 {
							ids = batch[:1]
							ids[0], err = g.NextWide(t.Context())
						} else {
							err = g.FillWide(t.Context(), ids)
						}
						switch {
						case err == nil:
							lists[i] = append(lists[i], ids...)
						case !errors.Is(err, ErrSaturated):
							t.Error(err)
						}
					}
				})
			}
			group.Wait()
			seen := map[Parts]bool{}
			for i, ids := range lists {
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
