package sim

import (
	"iter"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"snowfence.example/snowfence"
)

// year is the longest step of a clock that is drawn.
const year = 366 * 24 * time.Hour

// Draw returns the plan of a seed: equal seeds give equal plans. Rare faults are frequent here: over a
// thousand seeds every kind of fault and of surroundings comes up many times.
func Draw(seed uint64) Plan {
	d := drawer{rand.New(rand.NewPCG(seed, 0xD1CE))}
	p := Plan{Seed: seed}
	d.surroundings(&p)
	d.weather(&p)
	if d.chance(2) {
		d.slow(&p)
	} else {
		d.faults(&p)
	}
	// From sources of their own, so that the rest of a plan does not depend on them.
	drawer{rand.New(rand.NewPCG(seed, 0x1A95))}.lapses(&p)
	drawer{rand.New(rand.NewPCG(seed, 0x1E4D))}.borrowers(&p)
	if d.chance(8) {
		d.night(&p)
	}
	drawer{rand.New(rand.NewPCG(seed, 0x51EB))}.slews(&p)
	drawer{rand.New(rand.NewPCG(seed, 0xD7E5))}.spells(&p)
	p.sort()
	return p
}

// drawer draws plans.
type drawer struct{ *rand.Rand }

// oneOf draws an index with these weights.
func (d drawer) oneOf(weights ...int) int {
	sum := 0
	for _, w := range weights {
		sum += w
	}
	dice := d.IntN(sum)
	for i, w := range weights {
		if dice -= w; dice < 0 {
			return i
		}
	}
	return 0
}

func (d drawer) chance(percent int) bool { return d.IntN(100) < percent }

// within draws a duration, each of its magnitudes as often as the others.
func (d drawer) within(least, most time.Duration) time.Duration {
	span := math.Log(float64(most) / float64(least))
	return min(most, time.Duration(float64(least)*math.Exp(d.Float64()*span)))
}

func (d drawer) upTo(most time.Duration) time.Duration { return upTo(d.Rand, most) }

// either draws the sign of a step.
func (d drawer) either(step time.Duration) time.Duration {
	if d.chance(50) {
		return -step
	}
	return step
}

// ppm draws how fast a clock runs: by up to 500 ppm, as one that is adjusted may, and
// now and then by a hundred times as much.
func (d drawer) ppm() int64 {
	ppm := d.Int64N(1001) - 500
	if d.chance(20) {
		ppm *= 100
	}
	return ppm
}

// often draws times within the plan's length, with up to gap from one to the next.
func (d drawer) often(p *Plan, gap time.Duration) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		at := d.upTo(gap)
		for at < p.Length && yield(at) {
			at += d.upTo(gap)
		}
	}
}

// surroundings draws the settings that stay the same in the course of a run.
func (d drawer) surroundings(p *Plan) {
	switch d.oneOf(70, 20, 10) {
	case 0:
		p.Window = 300 * time.Millisecond
	case 1:
		p.Window = d.within(200*time.Millisecond, 5*time.Second)
	case 2:
		p.Window = d.within(5*time.Second, 60*time.Second)
	}
	p.Window = p.Window.Round(time.Millisecond)
	p.Length = 10 * p.Window
	p.Nodes = 2 + d.oneOf(30, 28, 14, 8, 6, 5, 5, 4)
	p.Layout, p.Batch = d.layout()
	if p.Layout.Unit > time.Millisecond {
		p.Window = max(p.Window, 60*p.Layout.Unit)
		p.Length = 10 * p.Window
	}
	p.Begin = 400 * 24 * time.Hour
	if d.chance(20) {
		p.Begin = 24 * time.Hour // within reach of a clock that steps back
	}
	if reach := p.Layout.Horizon().Sub(p.Layout.Epoch); d.chance(5) && reach < math.MaxInt64 {
		// The horizon comes in the course of the run, or soon after.
		p.Begin = reach - d.upTo(15*p.Window)
	}
	switch {
	case p.Layout.Bits(snowfence.Datacenter) > 0:
		p.Datacenters = 2
		p.Split = d.chance(50)
	case p.Layout.Workers() == 1:
		p.Pins = 1
	case d.chance(30):
		p.Pins = 1 + d.oneOf(80, 20)
	}
	p.MaxRollback = []time.Duration{p.Window / 3, p.Window / 30, 0}[d.oneOf(70, 15, 15)]
	p.MaxBurst = []time.Duration{3 * p.Layout.Unit, 10 * p.Layout.Unit, 0}[d.oneOf(60, 25, 15)]
	p.MaxWait = []time.Duration{2 * p.Layout.Unit, max(2*p.Layout.Unit, p.beat()), max(2*p.Layout.Unit, time.Second)}[d.oneOf(50, 30, 20)]
	if d.chance(30) {
		p.Loss = p.Window / 5
	}
	p.EngineClock = d.chance(20)
	p.Journals = d.chance(25) && p.Layout.Workers() > 1
	if d.chance(5) {
		// As often as not they race to found the namespace.
		p.Misfits, p.Founded = 1, d.chance(50)
	}
}

// layout draws a layout, most often a small one, in which ids collide easily.
func (d drawer) layout() (l snowfence.Layout, batch int) {
	ancient := d.chance(5) // so that a horizon is of this century, too
	drawn := []struct {
		layout string
		batch  int // 0 for a small one, which is drawn
	}{
		{"ms41-worker1-seq2", 0},
		{"ms41-seq3", 0}, // one worker id
		{"ms41-worker2-seq2", 0},
		{"default", 20_000},
		{"ms41-datacenter1-worker1-seq3", 10},
		{"10ms39-seq8-worker2", 400},
		{"worker2-ms40-seq10", 3000},
		{"wide-ms48-version4-seq12-variant2-worker1-random61", 3000}, // a UUID
		{"wide-100ms32-worker2-seq24", 20_000},                       // nearly an ObjectID
	}[d.oneOf(42, 4, 10, 21, 10, 4, 4, 4, 1)]
	if batch = drawn.batch; batch == 0 {
		batch = 1 + d.oneOf(1, 1, 1)*6
	}
	if l = layoutOf(drawn.layout); ancient {
		l.Epoch = l.Epoch.AddDate(-100, 0, 0)
	}
	return l, batch
}

// layoutOf reads a layout. Any other text gives an empty layout, which Validate refuses.
func layoutOf(text string) snowfence.Layout {
	l, err := snowfence.ParseLayout(text)
	if err != nil {
		return snowfence.Layout{}
	}
	return l
}

// misfit is another layout than the one given.
func misfit(l snowfence.Layout) snowfence.Layout {
	less, more := snowfence.Time, snowfence.Sequence
	if l.UUID() {
		less, more = snowfence.Random, snowfence.Worker // the others have their places
	}
	l.Fields = slices.Clone(l.Fields)
	for i := range l.Fields {
		switch l.Fields[i].Kind {
		case less:
			l.Fields[i].Bits--
		case more:
			l.Fields[i].Bits++
		}
	}
	return l
}

// weather draws how often messages and disks fail.
func (d drawer) weather(p *Plan) {
	switch d.oneOf(70, 15, 15) {
	case 0:
		p.Weather = Weather{Lost: 6, Silent: 6, Late: 6, Slow: 4, Repeated: 8, Stale: 20}
	case 1:
		p.Weather = Weather{Lost: d.IntN(20), Silent: d.IntN(20), Late: d.IntN(20), Slow: d.IntN(10), Repeated: d.IntN(30), Stale: d.IntN(60)}
	}
	if d.chance(8) {
		p.Weather.Damaged = 1 + d.IntN(10)
	}
	if p.Journals {
		p.Weather.Disk = []int{20, 5}[d.IntN(2)]
	}
}

// faults draws the faults of machines and stores.
func (d drawer) faults(p *Plan) {
	leaps, drifts := d.chance(25), d.chance(30)
	gap := 40 * p.beat()
	if d.chance(10) {
		gap *= 4
	}
	for node := range p.Nodes {
		for at := range d.often(p, gap) {
			d.drawFaults(p, Fault{At: at, Node: node}, leaps, drifts)
		}
	}
	sometimes := func(is bool, gap time.Duration, draw func() Fault) {
		if !is {
			return
		}
		for at := range d.often(p, gap) {
			f := draw()
			f.At = at
			p.add(f)
		}
	}
	sometimes(p.Loss > 0, 30*p.beat(), func() Fault { return Fault{Node: Everywhere, Kind: Failover, For: d.upTo(p.Loss)} })
	sometimes(p.Journals || d.chance(15), 3*p.Window, func() Fault { return Fault{Node: d.IntN(p.stores()), Kind: Outage, For: d.upTo(2 * p.Window)} })
	sometimes(d.chance(5), p.Length, func() Fault {
		return Fault{Node: Everywhere, Kind: Leap, For: []time.Duration{time.Second, -time.Second}[d.IntN(2)]}
	})
	// The limits.
	sometimes(d.chance(6), p.Length/2, func() Fault { return Fault{Node: d.IntN(p.Nodes), Kind: Clone} })
	sometimes(d.chance(5), p.Length, func() Fault { return Fault{Node: d.IntN(p.stores()), Kind: Rollback, For: d.upTo(2 * p.Window)} })
	sometimes(d.chance(5), p.Length, func() Fault { return Fault{Kind: Quarantine, N: d.Int64N(min(4, p.Layout.Workers()))} })
}

// drawFaults draws the faults of a machine at one time.
func (d drawer) drawFaults(p *Plan, f Fault, leaps, drifts bool) {
	add := func(kind Kind, length time.Duration) {
		f.Kind, f.For = kind, length
		p.add(f)
	}
	rest, pages := 15*p.beat(), 0
	if p.Journals {
		rest, pages = 5*p.beat(), 6 // it rests while the window of the term lasts
	}
	switch d.oneOf(26, 26, 15, 20, 3, 3, pages) {
	case 0:
		kind := Crash
		if p.Journals && d.chance(30) || d.chance(5) {
			kind = Power
		}
		length := d.upTo(rest)
		add(kind, length)
		if d.chance(40) {
			// Another clock, as often after a restart.
			f.At += length / 2
			add(Step, spread(d.Rand, p.Window*2/3))
		}
	case 1:
		length := d.upTo(2 * p.Window)
		add([]Kind{Pause, Suspend}[d.oneOf(60, 40)], length)
	case 2:
		switch {
		case leaps && d.chance(15):
			add(Step, d.either(d.within(11*time.Minute, year)))
		case d.chance(10):
			// Beyond the window, and too little to end a term: forward it pushes a register far ahead.
			add(Step, d.either(d.within(p.Window, 10*time.Minute)))
		case d.chance(20):
			add(Right, 0)
		case drifts:
			f.N = d.ppm()
			add(Drift, 0)
		default:
			add(Step, spread(d.Rand, p.Window))
		}
	case 3:
		add([]Kind{TerminateExtending, Terminate}[d.oneOf(30, 70)], d.upTo(2*p.Window))
	case 4:
		add(Cut, d.upTo(2*p.Window))
	case 5:
		if f.N = d.Int64N(200); d.chance(50) {
			add(CrashAfterStep, d.upTo(rest))
		} else {
			add(TerminateAfterStep, d.upTo(2*p.Window))
		}
	case 6:
		add(PowerKeeping, d.upTo(rest))
	}
}

// slow makes a plan of windows of up to hours, in which one machine sleeps for up to ten hours while
// the others go on. Nothing in it makes holders try again twice a second for as long.
func (d drawer) slow(p *Plan) {
	p.Window = d.within(10*time.Minute, 2*time.Hour).Round(time.Second)
	p.Length = 10*p.Window + d.upTo(10*time.Hour)
	p.Layout, p.Batch, p.Begin = snowfence.DefaultLayout(), 20_000, 400*24*time.Hour
	p.Pins, p.Datacenters, p.Split, p.Misfits, p.Founded = 0, 0, false, 0, false
	p.MaxRollback, p.MaxBurst, p.MaxWait = p.Window/30, 10*time.Millisecond, time.Second
	if p.Loss > 0 {
		p.Loss = p.Window / 5
	}
	for node := range p.Nodes {
		for at := d.upTo(p.Window); at < p.Length; at += d.upTo(3 * p.Window) {
			f := Fault{At: at, Node: node, For: d.within(time.Minute, 10*time.Hour)}
			switch f.Kind = []Kind{Crash, Pause, Suspend, Step, Terminate}[d.IntN(5)]; f.Kind {
			case Crash, Terminate:
				f.For = d.upTo(p.beat())
			case Step:
				f.For = spread(d.Rand, 10*time.Minute)
			}
			p.add(f)
		}
	}
	for at := d.upTo(p.Window); p.Loss > 0 && at < p.Length; at += d.upTo(3 * p.Window) {
		p.add(Fault{At: at, Node: Everywhere, Kind: Failover, For: d.upTo(p.Loss)})
	}
}

// night stops all machines for up to ten hours, at nearly the same time: the
// store and the clocks go on. It lies between the other faults, and some of them strike a machine while
// it sleeps.
func (d drawer) night(p *Plan) {
	falls, length := d.upTo(p.Length), d.within(time.Minute, 10*time.Hour)
	kind := []Kind{Pause, Suspend}[d.IntN(2)]
	for i := range p.Faults {
		if p.Faults[i].At > falls {
			p.Faults[i].At += length
		}
	}
	p.Length += length + p.Window
	for node := range p.machines() {
		p.add(Fault{At: falls + d.upTo(p.beat()), Node: node, Kind: kind, For: length + d.upTo(p.Window/2)})
	}
}

// slews draws how fast the monotonic clocks run.
//
// A holder measures the age of a bound of a lossy store on such a clock. The store loses less than it
// declares, by as much as the clocks run fast: a declaration must have that margin, and a test shows
// that ids are repeated without it.
func (d drawer) slews(p *Plan) {
	if !d.chance(30) {
		return
	}
	fastest := int64(0)
	for node := range p.machines() {
		for at := time.Duration(0); at < p.Length; at += d.upTo(2 * p.Length) {
			ppm := d.ppm()
			fastest = max(fastest, ppm)
			p.add(Fault{At: at, Node: node, Kind: Slew, N: ppm})
		}
	}
	for i := range p.Faults {
		if f := &p.Faults[i]; f.Kind == Failover {
			f.For = min(f.For, p.Loss/time.Duration(million+fastest)*million)
		}
	}
}
