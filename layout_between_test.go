package snowfence

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

// drawLayout returns a random valid layout, of any order and width of fields.
func drawLayout(r *rand.Rand) Layout {
	for {
		l := Layout{Epoch: time.UnixMilli(r.Int64N(9467020800000) - 2208988800000).UTC(), Unsigned: r.IntN(4) == 0}
		l.Unit = time.Duration(1+r.Int64N([]int64{1, 1000, 10_000, 1_000_000, 3_600_000_000}[r.IntN(5)])) * time.Microsecond
		for _, kind := range r.Perm(4) {
			l.Fields = append(l.Fields, Field{Kind: FieldKind(kind + 1), Bits: 1 + r.IntN(40)})
		}
		if l.Unsigned { // exactly 64 bits: the last field takes what is left
			l.Fields[3].Bits += 64 - l.TotalBits()
		}
		if l.Validate() == nil {
			return l
		}
	}
}

// TestIDIsBetweenExactlyWhenItsTimeIsInTheSpan draws layouts, spans and ids. Most ends and ids
// are within some ticks of each other, so that each comparison is at its edge.
func TestIDIsBetweenExactlyWhenItsTimeIsInTheSpan(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 1))
	inside, outside, empty, above := 0, 0, 0, 0
	for range 20_000 {
		l := drawLayout(r)
		horizon := int64(l.HorizonTick())
		tick := func() Tick { return Tick(r.Int64N(horizon)) }
		near := func(tick Tick) Tick { return Tick(min(max(int64(tick)+r.Int64N(7)-3, 0), horizon-1)) }
		end := func(tick Tick) time.Time {
			switch r.IntN(8) {
			case 0:
				return l.Epoch.Add(time.Duration(r.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			case 1:
				return l.Horizon().Add(time.Duration(r.Int64N(int64(48*time.Hour))) - 24*time.Hour)
			case 2:
				return l.TimeOf(near(tick)).Add(time.Duration(r.Int64N(int64(l.Unit))))
			case 3:
				return l.TimeOf(near(tick)).Add(-1)
			default:
				return l.TimeOf(near(tick))
			}
		}
		middle := tick()
		from, to := end(middle), end(near(middle))
		lo, hi, err := l.Between(from, to)
		for range 8 {
			p := Parts{Tick: near(middle), Datacenter: r.Int64N(count(l.Bits(Datacenter))), Worker: r.Int64N(count(l.Bits(Worker))), Sequence: r.Int64N(l.Sequences())}
			if r.IntN(4) == 0 {
				p.Tick = tick()
			}
			id, composed := l.Compose(p)
			if composed != nil {
				t.Fatal(composed)
			}
			at := l.TimeOf(p.Tick)
			want := !at.Before(from) && at.Before(to)
			switch {
			case errors.Is(err, ErrWorkerAboveTime) && l.Fields[0].Kind != Time:
				above++
			case errors.Is(err, ErrNoTick) && !want:
				empty++
			case err == nil && (id >= lo && id <= hi) == want:
				if want {
					inside++
				} else {
					outside++
				}
			default:
				t.Fatalf("%v: %d of %v, span from %v to %v: %d to %d, %v", l, id, at, from, to, lo, hi, err)
			}
		}
	}
	t.Logf("%d ids inside, %d outside, %d with an empty span, %d of layouts with the worker above the time", inside, outside, empty, above)
	if min(inside, outside, empty, above) < 1000 {
		t.Error("some case is hardly drawn")
	}
}

func TestSpanIsCutToTheLifeOfTheLayout(t *testing.T) {
	for _, l := range sampleLayouts() {
		lo, hi, err := l.Between(time.Time{}, l.Horizon().Add(1000*time.Hour))
		if l.Fields[0].Kind != Time {
			if !errors.Is(err, ErrWorkerAboveTime) {
				t.Errorf("%v: %v", l, err)
			}
			continue
		}
		if want := min(uint64(l.largest()), uint64(MaxID)); err != nil || lo != 0 || uint64(hi) != want {
			t.Errorf("%v: all ids are from %d to %d, %v; want 0 to %d", l, lo, hi, err, want)
		}
	}
}

func TestSpanWithoutATickIsRefused(t *testing.T) {
	l := DefaultLayout()
	at := l.Epoch.Add(time.Hour)
	for name, span := range map[string][2]time.Time{
		"before the epoch":       {time.Time{}, l.Epoch},
		"past the horizon":       {l.Horizon(), l.Horizon().Add(time.Hour)},
		"within one millisecond": {at.Add(1), at.Add(time.Millisecond)},
		"empty":                  {at, at},
		"backwards":              {at, at.Add(-time.Hour)},
	} {
		lo, hi, err := l.Between(span[0], span[1])
		if !errors.Is(err, ErrNoTick) || ClassOf(err) != ClassUsage || lo != 0 || hi != 0 {
			t.Errorf("%s: %d to %d, %v", name, lo, hi, err)
			continue
		}
		for _, word := range []string{span[0].Format(time.RFC3339Nano), span[1].Format(time.RFC3339Nano), "ticks of ms"} {
			if !strings.Contains(err.Error(), word) {
				t.Errorf("%s: %q does not name %s", name, err, word)
			}
		}
	}
	if _, _, err := (Layout{}).Between(at, at.Add(time.Hour)); !errors.Is(err, ErrInvalidLayout) {
		t.Errorf("zero layout: %v", err)
	}
	l.Wide = true
	if _, _, err := l.Between(at, at.Add(time.Hour)); !errors.Is(err, ErrInvalidLayout) {
		t.Errorf("wide layout: %v", err)
	}
}
