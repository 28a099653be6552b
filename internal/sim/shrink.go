package sim

import (
	"slices"
	"strings"
	"time"
)

// Shrink returns a smaller plan that still fails: it leaves out lines of the scenario, machines and
// time that the failure does not need. failing decides whether a plan fails, for up to tries plans, one
// after the other; it must not be nil. A plan that does not fail is returned as it is.
func Shrink(p Plan, tries int, failing func(Plan) bool) Plan {
	s := shrinker{plan: p, left: tries, failing: failing}
	if !s.try(p) {
		return p
	}
	s.change(func(p *Plan) { p.Rough = true })
	for {
		before := s.plan.String()
		s.lines()
		s.nodes()
		s.length()
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
	plan    Plan // the smallest so far
	left    int
	failing func(Plan) bool
}

// try takes a plan in place of the present one if it can be run and fails.
func (s *shrinker) try(p Plan) bool {
	if s.left <= 0 || p.Validate() != nil {
		return false
	}
	s.left--
	if !s.failing(p) {
		return false
	}
	s.plan = p
	return true
}

// change tries the plan with a change.
func (s *shrinker) change(do func(p *Plan)) bool {
	p := s.plan
	p.Faults = slices.Clone(p.Faults)
	do(&p)
	return p.String() != s.plan.String() && s.try(p)
}

// reseeded is change, with other seeds if this seed does not do: an omission shifts everything random after it.
func (s *shrinker) reseeded(do func(p *Plan)) {
	done := s.change(do)
	for seed := uint64(0); seed < 6 && !done; seed++ {
		done = s.change(func(p *Plan) { do(p); p.Seed = seed })
	}
}

// lines leaves out lines of the scenario: many at once as long as the plan still fails, then fewer. The
// setting of a missing line is as in [Plain]. Faults come first: there are most of them, and each makes
// a run slower.
func (s *shrinker) lines() {
	for size := max(1, len(s.plan.Faults)/2); ; size /= 2 {
		for at := 0; at < len(s.plan.Faults); {
			end := min(at+size, len(s.plan.Faults))
			if !s.change(func(p *Plan) { p.Faults = slices.Delete(p.Faults, at, end) }) {
				at = end
			}
		}
		if size <= 1 {
			break
		}
	}
	for line := range strings.SplitSeq(s.plan.String(), "\n") {
		if word, _, _ := strings.Cut(line, " "); word == "at" || word == "seed" || word == "rough" {
			continue
		}
		s.reseeded(func(p *Plan) {
			shorter, err := Parse(strings.Replace(p.String(), line+"\n", "", 1))
			if err == nil {
				*p = shorter
			}
		})
	}
}

// nodes leaves out machines, with their faults.
func (s *shrinker) nodes() {
	s.reseeded(func(p *Plan) {
		p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.Kind.manner().place == aNode && f.Node >= p.Nodes })
		p.Borrowers = 0
	})
	for i := s.plan.machines() - 1; i >= 0; i-- {
		s.reseeded(func(p *Plan) {
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

// length lets the faults end as early as they may.
func (s *shrinker) length() {
	for _, percent := range []int64{50, 90} {
		for shorter := true; shorter; {
			shorter = s.change(func(p *Plan) {
				p.Length = max(1, time.Duration(int64(p.Length)/100*percent))
				p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool { return f.At > p.Length })
			})
		}
	}
}
