package sim

import (
	"slices"
	"time"
)

// Shrink returns a smaller plan that still fails: without the faults, machines, weather and time that
// take no part in it. What failing reports decides, for up to tries plans, one after the other; it
// must not be nil. A plan that does not fail is returned as it is.
func Shrink(p Plan, tries int, failing func(Plan) bool) Plan {
	s := shrinker{plan: p, left: tries, failing: failing}
	if !s.fails(p) {
		return p
	}
	s.try(func(p *Plan) { p.Rough = true })
	for {
		before := s.plan.String()
		s.faults()
		s.nodes()
		s.weather()
		s.surroundings()
		s.length()
		s.amounts()
		if s.left <= 0 || s.plan.String() == before {
			return s.plan
		}
	}
}

// Fails returns a function for [Shrink]: whether a plan breaks the rule.
func Fails(rule string, c Config) func(Plan) bool {
	return func(p Plan) bool {
		return slices.ContainsFunc(Run(p, c).Findings, func(f Finding) bool { return f.Rule == rule })
	}
}

type shrinker struct {
	plan    Plan
	left    int
	failing func(Plan) bool
}

// fails reports whether a plan can be run and fails.
func (s *shrinker) fails(p Plan) bool {
	if s.left <= 0 || p.Validate() != nil {
		return false
	}
	s.left--
	return s.failing(p)
}

// try takes a plan that still fails in place of the present one.
func (s *shrinker) try(change func(p *Plan)) bool {
	p := s.changed(change)
	if p.String() == s.plan.String() || !s.fails(p) {
		return false
	}
	s.plan = p
	return true
}

// changed returns the plan with a change, without touching the present one.
func (s *shrinker) changed(change func(p *Plan)) Plan {
	p := s.plan
	p.Faults = slices.Clone(p.Faults)
	change(&p)
	return p
}

// faults leaves out faults: many at once as long as that goes, then fewer.
func (s *shrinker) faults() {
	for size := max(1, len(s.plan.Faults)/2); ; size /= 2 {
		for at := 0; at < len(s.plan.Faults); {
			end := min(at+size, len(s.plan.Faults))
			if !s.try(func(p *Plan) { p.Faults = slices.Delete(p.Faults, at, end) }) {
				at = end
			}
		}
		if size <= 1 {
			return
		}
	}
}

// hard is try, with other seeds if it does not go with this one: what is left out
// shifts everything that is left to chance.
func (s *shrinker) hard(change func(p *Plan)) bool {
	p := s.changed(change)
	if p.String() == s.plan.String() {
		return false
	}
	if s.try(change) {
		return true
	}
	for seed := range uint64(6) {
		if s.try(func(p *Plan) { change(p); p.Seed = seed }) {
			return true
		}
	}
	return false
}

// nodes leaves out machines, and what befell them.
func (s *shrinker) nodes() {
	s.hard(func(p *Plan) {
		p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.Kind.manner().place == aNode && f.Node >= p.Nodes })
		p.Borrowers = 0
	})
	for i := s.plan.machines() - 1; i >= 0; i-- {
		s.hard(func(p *Plan) {
			if i < p.Nodes {
				p.Nodes--
			} else {
				p.Borrowers--
			}
			p.Misfits = min(p.Misfits, p.Nodes)
			ofNode := func(f Fault) bool { return f.Kind.manner().place == aNode }
			p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return ofNode(f) && f.Node == i })
			for j, f := range p.Faults {
				if ofNode(f) && f.Node > i {
					p.Faults[j].Node--
				}
			}
		})
	}
}

func (s *shrinker) weather() {
	if s.plan.Weather == (Weather{}) || s.hard(func(p *Plan) { p.Weather = Weather{} }) {
		return
	}
	for i := range s.plan.Weather.settings() {
		s.hard(func(p *Plan) { *p.Weather.settings()[i].value.(*int) = 0 })
	}
}

// surroundings makes plain what need not be special.
func (s *shrinker) surroundings() {
	plain := Plain()
	for _, change := range []func(p *Plan){
		func(p *Plan) { p.Misfits = 0 },
		func(p *Plan) { p.Founded = false },
		func(p *Plan) { p.Journals = false },
		func(p *Plan) { p.Shared = false },
		func(p *Plan) { p.EngineClock = false },
		func(p *Plan) {
			p.Loss = 0
			p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.Kind == Failover })
		},
		func(p *Plan) { p.Pins = min(p.Pins, 1) },
		func(p *Plan) { p.Pins = 0 },
		func(p *Plan) { p.Split = false },
		func(p *Plan) { p.Split, p.Datacenters = false, 0 },
		func(p *Plan) { p.Split, p.Datacenters, p.Layout, p.Batch = false, 0, plain.Layout, plain.Batch },
		func(p *Plan) { p.Begin = plain.Begin },
		func(p *Plan) { p.Batch = 1 },
		func(p *Plan) { p.MaxBurst = plain.MaxBurst },
		func(p *Plan) { p.MaxWait = plain.MaxWait },
		func(p *Plan) { p.MaxRollback = p.Window / 3 },
	} {
		s.hard(change)
	}
}

// length lets the faults end as early as they may.
func (s *shrinker) length() {
	for _, percent := range []int64{50, 75, 90, 99} {
		for shorter := true; shorter; {
			shorter = s.try(func(p *Plan) {
				p.Length = max(1, time.Duration(int64(p.Length)/100*percent))
				p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.At > p.Length })
			})
		}
	}
}

// amounts rounds what a fault says of time.
func (s *shrinker) amounts() {
	for i := range s.plan.Faults {
		for _, round := range []func(f *Fault, unit time.Duration){
			func(f *Fault, unit time.Duration) { f.For = f.For.Round(unit) },
			func(f *Fault, unit time.Duration) { f.At = f.At.Round(unit) },
		} {
			for _, unit := range []time.Duration{s.plan.Window, s.plan.Window / 10, time.Millisecond} {
				if s.try(func(p *Plan) { round(&p.Faults[i], unit); p.sort() }) {
					break
				}
			}
		}
	}
}
