package sim

import (
	"slices"
	"time"
)

// lapses draws people's acts on stores and folders, and the faults of processes that go on with the
// page of an earlier one.
func (d drawer) lapses(p *Plan) {
	often := func(gap time.Duration, f Fault) {
		for f.At = range d.often(p, gap) {
			p.add(f)
		}
	}
	if d.chance(10) {
		// While somebody claims, the store is exchanged for one of another layout.
		p.Misfits = max(1, p.Misfits)
		often(p.Length, Fault{Node: d.IntN(p.Nodes), Kind: Refound})
	}
	if !p.Journals {
		return
	}
	for node := range p.Nodes {
		often(4*p.Window, Fault{Node: node, Kind: TerminateResuming, For: d.upTo(2 * p.Window)})
		often(4*p.Window, Fault{Node: node, Kind: PowerDiscarding, For: d.upTo(p.Window)})
	}
	p.Shared = d.chance(15)
	if d.chance(25) {
		d.discovery(p)
	}
	if p.Window > 15*time.Minute {
		d.ahead(p)
	}
}

// discovery lets people find out in the middle of a run that the store loses writes.
// It had not lost any, and does so soon. Nothing else happens to machines about then:
// so some machines have terms, and some of these are young.
func (d drawer) discovery(p *Plan) {
	if p.Loss == 0 {
		p.Loss = p.Window / 5
	}
	at := p.Window + d.upTo(p.Length-3*p.Window)
	p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool {
		return f.Kind.manner().place == aNode && f.At > at-p.Window && f.At < at+p.Window
	})
	for node := range p.Nodes {
		if d.chance(30) {
			p.add(Fault{At: at - p.Loss - d.upTo(p.Loss), Node: node, Kind: Terminate, For: p.Window})
		}
	}
	p.add(Fault{At: at, Node: Everywhere, Kind: Lossy})
	for range 2 {
		at += d.upTo(p.Loss / 2)
		p.add(Fault{At: at, Node: Everywhere, Kind: Failover, For: p.Loss - d.upTo(p.Loss/4)})
	}
}

// ahead lets machines start again with a clock far ahead, and cuts them off for a while from the store,
// which could show it.
func (d drawer) ahead(p *Plan) {
	p.EngineClock = true
	for node := range p.Nodes {
		rest, at := d.upTo(p.beat()), d.upTo(p.Length)
		p.add(Fault{At: at, Node: node, Kind: Crash, For: rest})
		p.add(Fault{At: at, Node: node, Kind: Cut, For: d.upTo(p.Window)})
		p.add(Fault{At: at, Node: node, Kind: Step, For: d.within(11*time.Minute, p.Window)})
	}
}

// spells draws faults that are soon over: a machine lacks random bits, or its wall clock is
// wrong for a moment, again and again.
func (d drawer) spells(p *Plan) {
	for node := range p.machines() {
		if d.chance(30) {
			for at := range d.often(p, p.Length) {
				p.add(Fault{At: at, Node: node, Kind: NoRandom, For: d.upTo(p.Window)})
			}
		}
		if !d.chance(15) {
			continue
		}
		for at := range d.often(p, p.Length/10) {
			by := d.within(11*time.Minute, 24*time.Hour)
			if d.chance(50) {
				by = -d.within(p.Window/30, 2*p.Window)
			}
			p.add(Fault{At: at, Node: node, Kind: Glitch, For: d.upTo(2 * p.beat()), N: by.Milliseconds()})
		}
	}
}

// borrowers draws machines with borrowers, their faults, and operators who look after worker ids.
func (d drawer) borrowers(p *Plan) {
	if p.Layout.Workers() == 1 || !d.chance(40) {
		return
	}
	p.Borrowers = 1 + d.oneOf(40, 30, 20, 10)
	if p.Layout.Workers() == 2 && !p.Layout.Wide && d.chance(60) {
		epoch := p.Layout.Epoch
		p.Layout = layoutOf([]string{"ms41-worker2-seq2", "ms41-worker4-seq2"}[d.IntN(2)]) // so most borrowers get a worker id
		p.Layout.Epoch = epoch
	}
	alone, leaps, drifts := *p, d.chance(25), d.chance(30)
	alone.Journals, alone.Faults = false, nil
	for node := p.Nodes; node < p.machines(); node++ {
		for at := range d.often(p, 60*p.beat()) {
			d.drawFaults(&alone, Fault{At: at, Node: node}, leaps, drifts)
		}
		for at := range d.often(p, 2*p.Length) {
			alone.add(Fault{At: at, Node: node, Kind: Fork})
		}
	}
	if d.chance(50) {
		p.Loss = time.Duration(6+3*d.IntN(2)) * p.beat()
		for at := range d.often(p, 20*p.beat()) {
			alone.add(Fault{At: at, Node: Everywhere, Kind: Failover, For: p.Loss - d.upTo(p.Loss/2)})
		}
	}
	if d.chance(30) {
		for at := range d.often(p, p.Length/2) {
			f := Fault{At: at, Node: d.IntN(p.stores()), Kind: []Kind{Vacate, Raise}[d.IntN(2)], N: d.Int64N(min(4, p.Layout.Workers()))}
			if f.Kind == Raise {
				f.For = d.upTo(p.Window)
			}
			alone.add(f)
		}
	}
	p.Faults = append(p.Faults, alone.Faults...)
}
