package snowfence

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"
)

func TestComposeAndDecomposeAreReverses(t *testing.T) {
	for _, l := range sampleLayouts() {
		for _, p := range sampleParts(l) {
			id, err := l.Compose(p)
			if err != nil || id < 0 {
				t.Fatalf("%v: %+v compose to %d, %v", l, p, int64(id), err)
			}
			var want int64
			for _, s := range l.Spans() {
				want |= p.Value(s.Field.Kind) << s.Low
			}
			if int64(id) != want {
				t.Errorf("%v: %+v compose to %d, want %d", l, p, int64(id), want)
			}
			if back, err := l.Decompose(id); err != nil || back != p {
				t.Errorf("%v: %+v comes back as %+v, %v", l, p, back, err)
			}
		}
	}
}

func TestIDsIncreaseWithTickAndSequence(t *testing.T) {
	for _, l := range sampleLayouts() {
		last := ID(-1)
		for _, tick := range []Tick{0, 1} {
			for _, sequence := range []int64{0, l.Sequences() - 1} {
				id, err := l.Compose(Parts{Tick: tick, Sequence: sequence})
				if l.HorizonTick() == 1 && tick == 1 {
					continue
				}
				if err != nil || id <= last {
					t.Errorf("%v: tick %d, sequence %d compose to %d, %v, after %d", l, tick, sequence, int64(id), err, int64(last))
				}
				last = id
			}
		}
	}
}

func TestComposeNeverMasks(t *testing.T) {
	for _, l := range sampleLayouts() {
		for _, kind := range []FieldKind{Time, Datacenter, Worker, Sequence} {
			word, limit := kind.String(), count(l.Bits(kind))-1
			if kind == Time {
				word, limit = "tick", int64(l.HorizonTick())-1
			}
			for _, value := range []int64{-1, math.MinInt64, limit + 1, math.MaxInt64} {
				var p Parts
				*p.at(kind) = value
				id, err := l.Compose(p)
				var got *RangeError
				if !errors.As(err, &got) || *got != (RangeError{word, value, limit}) || id != 0 {
					t.Errorf("%v: %s %d composes to %d, %v", l, word, value, int64(id), err)
				}
			}
		}
	}
	_, err := DefaultLayout().Compose(Parts{Worker: 1024})
	if want := "snowfence: worker is 1024, must be from 0 to 1023"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
}

func TestDecomposeRefusesBitsBeyondTheLayout(t *testing.T) {
	for _, l := range sampleLayouts() {
		if l.Unsigned {
			continue
		}
		refused := []ID{-1, math.MinInt64}
		if l.TotalBits() < 63 {
			refused = append(refused, 1<<l.TotalBits(), MaxID)
		}
		for _, id := range refused {
			_, err := l.Decompose(id)
			checkRefusal(t, err, id.String(), -1, "is above "+ID(1<<l.TotalBits()-1).String())
		}
	}
}

func TestUnsignedLayoutsReadAllBitsButMintUpToTheSixtyFourth(t *testing.T) {
	for _, l := range sampleLayouts() {
		if !l.Unsigned {
			continue
		}
		timeBits := l.Bits(Time)
		if got := l.HorizonTick(); got != 1<<(timeBits-1) {
			t.Errorf("%v: horizon is tick %d", l, got)
		}
		if _, err := l.Compose(Parts{Tick: l.HorizonTick()}); err == nil {
			t.Errorf("%v: the horizon's tick composes", l)
		}
		p, err := l.Decompose(math.MinInt64)
		if err != nil || p != (Parts{Tick: l.HorizonTick()}) {
			t.Errorf("%v: 2^63 is %+v, %v", l, p, err)
		}
		p, err = l.Decompose(-1)
		want := Parts{Tick(count(timeBits) - 1), count(l.Bits(Datacenter)) - 1, count(l.Bits(Worker)) - 1, l.Sequences() - 1, 0}
		if timeBits == 63 {
			want.Tick = math.MaxInt64
		}
		if err != nil || p != want {
			t.Errorf("%v: 2^64-1 is %+v, %v, want %+v", l, p, err, want)
		}
	}
}

func TestWorkerNumberIgnoresTheOrderOfFields(t *testing.T) {
	for _, l := range sampleLayouts() {
		w := l.Bits(Worker)
		for _, p := range sampleParts(l) {
			number, err := l.WorkerNumber(p.Datacenter, p.Worker)
			if err != nil || number != p.Datacenter<<w+p.Worker {
				t.Fatalf("%v: worker number of %d and %d is %d, %v", l, p.Datacenter, p.Worker, number, err)
			}
			datacenter, worker, err := l.SplitWorker(number)
			if err != nil || datacenter != p.Datacenter || worker != p.Worker {
				t.Fatalf("%v: worker number %d is %d and %d, %v", l, number, datacenter, worker, err)
			}
		}
		for _, number := range []int64{-1, l.Workers(), math.MaxInt64} {
			_, _, err := l.SplitWorker(number)
			var got *RangeError
			if !errors.As(err, &got) || *got != (RangeError{"worker number", number, l.Workers() - 1}) {
				t.Errorf("%v: splitting %d: %v", l, number, err)
			}
		}
		if _, err := l.WorkerNumber(count(l.Bits(Datacenter)), 0); err == nil {
			t.Errorf("%v: a datacenter too large fits", l)
		}
		if _, err := l.WorkerNumber(0, count(w)); err == nil {
			t.Errorf("%v: a worker too large fits", l)
		}
	}
}

func TestBoundsHoldAllIDsOfAnInstantAndNoOthers(t *testing.T) {
	for _, l := range sampleLayouts() {
		for _, p := range sampleParts(l) {
			id, err := l.Compose(p)
			if err != nil {
				t.Fatal(err)
			}
			at := l.TimeOf(p.Tick).Add(l.Unit - 1)
			lo, hi, err := l.Bounds(at)
			if l.Fields[0].Kind != Time {
				if !errors.Is(err, ErrWorkerAboveTime) {
					t.Fatalf("%v: bounds are %d, %d, %v", l, lo, hi, err)
				}
			} else {
				low, err1 := l.Decompose(lo)
				high, err2 := l.Decompose(hi)
				if err != nil || err1 != nil || err2 != nil || id < lo || id > hi || low.Tick != p.Tick || high.Tick != p.Tick {
					t.Fatalf("%v: %+v is %d, bounds are %d, %d, %v", l, p, int64(id), int64(lo), int64(hi), err)
				}
				if uint64(hi)+1-uint64(lo) != uint64(l.Workers()*l.Sequences()) {
					t.Fatalf("%v: %d to %d are not the ids of one tick", l, int64(lo), int64(hi))
				}
			}

			number, err := l.WorkerNumber(p.Datacenter, p.Worker)
			if err != nil {
				t.Fatal(err)
			}
			lo, hi, err = l.WorkerBounds(number, at)
			low, err1 := l.Decompose(lo)
			high, err2 := l.Decompose(hi)
			if err != nil || err1 != nil || err2 != nil || id < lo || id > hi ||
				low != (Parts{p.Tick, p.Datacenter, p.Worker, 0, 0}) || high != (Parts{p.Tick, p.Datacenter, p.Worker, l.Sequences() - 1, 0}) {
				t.Fatalf("%v: %+v is %d, the worker's bounds are %d, %d, %v", l, p, int64(id), int64(lo), int64(hi), err)
			}
		}
	}
}

func TestBoundsRefuseInstantsThatCannotBeStamped(t *testing.T) {
	for _, l := range sampleLayouts() {
		for _, at := range []time.Time{l.Epoch.Add(-1), l.Horizon(), {}} {
			var got *RangeError
			if _, _, err := l.Bounds(at); !errors.Is(err, ErrWorkerAboveTime) && (!errors.As(err, &got) || got.Field != "tick") {
				t.Errorf("%v: bounds of %v: %v", l, at, err)
			}
			if _, _, err := l.WorkerBounds(0, at); !errors.As(err, &got) || got.Field != "tick" {
				t.Errorf("%v: worker's bounds of %v: %v", l, at, err)
			}
		}
		var got *RangeError
		if _, _, err := l.WorkerBounds(l.Workers(), l.Epoch); !errors.As(err, &got) || got.Field != "worker number" {
			t.Errorf("%v: bounds of worker %d: %v", l, l.Workers(), err)
		}
	}
}

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
		if want := min(uint64(1)<<l.TotalBits()-1, uint64(MaxID)); err != nil || lo != 0 || uint64(hi) != want {
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
