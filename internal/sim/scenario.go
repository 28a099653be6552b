package sim

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// A scenario is a plan as text. It opens with the claim that it proves, and then gives its differences
// from the plan of [Plain]:
//
//	# A machine that sleeps for ten hours issues nothing of its old window.
//	nodes 2
//	window 300ms
//	length 10h0m5s
//	weather lost 6 stale 20
//	engine-clock
//	at 1s node 0 suspend 10h
//	at 2s node all leap 1s
//	at 2.5s store 0 quarantine 1
//	at 3s node 1 crash-after-step 20ms 12
//	expect duplicates 0
//	expect terms 3..
//
// Settings are in any order, one a line; later lines that begin with # are
// comments. Durations are Go's, and a drift is in parts per million.
// An expectation is a number, or a range, which may be open at either end.

// Plain returns the plan that a scenario starts from: two nodes, two worker ids
// with four ids a tick, a window of 300 ms, three seconds, and no faults.
func Plain() Plan {
	return Plan{
		Nodes: 2, Layout: layoutOf("ms41-worker1-seq2"), Begin: 400 * 24 * time.Hour, Length: 3 * time.Second, Window: 300 * time.Millisecond,
		MaxRollback: 100 * time.Millisecond, MaxBurst: 3 * time.Millisecond, MaxWait: 10 * time.Millisecond, Batch: 3,
	}
}

// setting is a word of a scenario for one field of the plan, with the bounds of its value: a
// *time.Duration, an *int, or a *bool for a word without a value.
type setting struct {
	word        string
	value       any
	least, most int64
}

func (p *Plan) settings() []setting {
	unit, day := int64(p.Layout.Unit), int64(24*time.Hour)
	return []setting{
		{"length", &p.Length, 1, 100 * int64(year)},
		{"nodes", &p.Nodes, 1, maxNodes},
		{"misfits", &p.Misfits, 0, int64(p.Nodes)},
		{"borrowers", &p.Borrowers, 0, mostBorrowers(p.Layout)},
		{"founded", &p.Founded, 0, 1},
		{"begin", &p.Begin, 0, 250 * int64(year)},
		{"pins", &p.Pins, 0, p.Layout.Workers()},
		{"datacenters", &p.Datacenters, 0, 1 << p.Layout.Bits(snowfence.Datacenter)},
		{"split", &p.Split, 0, 1},
		{"window", &p.Window, max(4*unit, int64(30*time.Millisecond)), 31 * day},
		{"max-rollback", &p.MaxRollback, 0, day},
		{"max-burst", &p.MaxBurst, 0, day},
		{"max-wait", &p.MaxWait, 2 * unit, day},
		{"batch", &p.Batch, 1, 1 << 20},
		{"loss", &p.Loss, 0, int64(p.Window-1) / 3},
		{"engine-clock", &p.EngineClock, 0, 1},
		{"journals", &p.Journals, 0, 1},
		{"shared", &p.Shared, 0, 1},
		{"rough", &p.Rough, 0, 1},
	}
}

// mostBorrowers is 0 where there is one worker id, which is not lent.
func mostBorrowers(l snowfence.Layout) int64 { return min(maxNodes, (l.Workers()-1)*maxNodes) }

// settings are the words of a weather line.
func (w *Weather) settings() []setting {
	return []setting{
		{"lost", &w.Lost, 0, 100}, {"silent", &w.Silent, 0, 100}, {"late", &w.Late, 0, 100}, {"slow", &w.Slow, 0, 100},
		{"damaged", &w.Damaged, 0, 100}, {"repeated", &w.Repeated, 0, 100}, {"stale", &w.Stale, 0, 100}, {"disk", &w.Disk, 0, 1000},
	}
}

// number returns the value; true counts as 1.
func (s setting) number() int64 {
	switch v := s.value.(type) {
	case *time.Duration:
		return int64(*v)
	case *int:
		return int64(*v)
	case *bool:
		if *v {
			return 1
		}
	}
	return 0
}

// text writes a value of this setting.
func (s setting) text(value int64) string {
	if _, is := s.value.(*time.Duration); is {
		return time.Duration(value).String()
	}
	return strconv.FormatInt(value, 10)
}

// set reads the value.
func (s setting) set(values []string) (err error) {
	v, is := s.value.(*bool)
	switch {
	case is == (len(values) > 0), len(values) > 1:
		return fmt.Errorf("%s has %d values", s.word, len(values))
	case is:
		*v = true
		return nil
	}
	switch v := s.value.(type) {
	case *time.Duration:
		*v, err = time.ParseDuration(values[0])
	case *int:
		*v, err = strconv.Atoi(values[0])
	}
	return err
}

// String writes the plan as a scenario, which [Parse] reads as the same plan.
func (p Plan) String() string {
	var b strings.Builder
	if p.Claim != "" {
		for line := range strings.SplitSeq(p.Claim, "\n") {
			fmt.Fprintf(&b, "# %s\n", line)
		}
	}
	fmt.Fprintf(&b, "seed %d\nlayout %s\n", p.Seed, p.Layout)
	for _, s := range p.settings() {
		if _, is := s.value.(*bool); !is {
			fmt.Fprintf(&b, "%s %s\n", s.word, s.text(s.number()))
		} else if s.number() > 0 {
			fmt.Fprintln(&b, s.word)
		}
	}
	for _, s := range p.Weather.settings() {
		if n := s.number(); n > 0 {
			fmt.Fprintf(&b, "weather %s %d\n", s.word, n)
		}
	}
	for _, f := range p.Faults {
		fmt.Fprintln(&b, f)
	}
	for _, e := range p.Expect {
		fmt.Fprintln(&b, e)
	}
	return b.String()
}

// String writes the fault as a line of a scenario.
func (f Fault) String() string {
	m, which := f.Kind.manner(), strconv.Itoa(f.Node)
	if f.Node == Everywhere {
		which = "all"
	}
	line := fmt.Sprintf("at %s %s %s %s", f.At, m.place, which, f.Kind)
	if m.lasts {
		line += " " + f.For.String()
	}
	if m.counts {
		line += " " + strconv.FormatInt(f.N, 10)
	}
	return line
}

// String writes the expectation as a line of a scenario.
func (e Expectation) String() string {
	switch {
	case e.Least == e.Most:
		return fmt.Sprintf("expect %s %d", e.Name, e.Least)
	case e.Most == unbounded:
		return fmt.Sprintf("expect %s %d..", e.Name, e.Least)
	}
	return fmt.Sprintf("expect %s %d..%d", e.Name, e.Least, e.Most)
}

const unbounded = 1<<63 - 1

// Check returns an error that names the first expectation of the plan that a run of it did not meet.
func (p *Plan) Check(t Tally) error {
	for _, e := range p.Expect {
		if n, ok := t.count(e.Name); !ok || n < e.Least || n > e.Most {
			return fmt.Errorf("%s: there are %d", e, n)
		}
	}
	return nil
}

// Parse reads a scenario.
func Parse(text string) (Plan, error) {
	p := Plain()
	var claim []string
	opening := true
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		comment, is := strings.CutPrefix(line, "#")
		switch {
		case is && opening:
			claim = append(claim, strings.TrimSpace(comment))
		case is, line == "":
		default:
			opening = false
			if err := p.read(strings.Fields(line)); err != nil {
				return Plan{}, fmt.Errorf("sim: scenario: line %d, %.80q: %w", i+1, line, err)
			}
		}
	}
	p.Claim = strings.TrimSpace(strings.Join(claim, "\n"))
	p.sort()
	if err := p.Validate(); err != nil {
		return Plan{}, err
	}
	return p, nil
}

// read takes one line to the plan.
func (p *Plan) read(words []string) (err error) {
	switch word, rest := words[0], words[1:]; {
	case word == "seed" && len(rest) == 1:
		p.Seed, err = strconv.ParseUint(rest[0], 10, 64)
		return err
	case word == "layout":
		p.Layout, err = snowfence.ParseLayout(strings.Join(rest, " "))
		return err
	case word == "weather" && len(rest)%2 == 0:
		for i := 0; i < len(rest); i += 2 {
			if err := set(p.Weather.settings(), rest[i], rest[i+1:i+2]); err != nil {
				return err
			}
		}
		return nil
	case word == "at":
		f, err := parseFault(rest)
		p.Faults = append(p.Faults, f)
		return err
	case word == "expect" && len(rest) == 2:
		e, err := parseExpectation(rest[0], rest[1])
		p.Expect = append(p.Expect, e)
		return err
	default:
		return set(p.settings(), word, rest)
	}
}

// set gives the setting of that word its value.
func set(settings []setting, word string, values []string) error {
	at := slices.IndexFunc(settings, func(s setting) bool { return s.word == word })
	if at < 0 {
		return fmt.Errorf("%q is no setting", word)
	}
	return settings[at].set(values)
}

var errNoFault = errors.New("a fault has a time, a place, its number or all, a kind of that place, and the kind's values")

// parseFault reads the words after "at".
func parseFault(words []string) (f Fault, err error) {
	if len(words) < 4 {
		return f, errNoFault
	}
	if f.At, err = time.ParseDuration(words[0]); err != nil {
		return f, err
	}
	if f.Node = Everywhere; words[2] != "all" {
		if f.Node, err = strconv.Atoi(words[2]); err != nil || f.Node < 0 {
			return f, errNoFault
		}
	}
	f.Kind = kindOf(words[3])
	m, values := f.Kind.manner(), words[4:]
	wanted := 0
	for _, is := range []bool{m.lasts, m.counts} {
		if is {
			wanted++
		}
	}
	if f.Kind == 0 || string(m.place) != words[1] || len(values) != wanted {
		return f, errNoFault
	}
	if m.lasts {
		f.For, err = time.ParseDuration(values[0])
	}
	if m.counts && err == nil {
		f.N, err = strconv.ParseInt(strings.TrimSuffix(values[len(values)-1], "ppm"), 10, 64)
	}
	return f, err
}

// parseExpectation reads a name and a range.
func parseExpectation(name, text string) (Expectation, error) {
	e := Expectation{Name: name, Most: unbounded}
	least, most, ranged := strings.Cut(text, "..")
	var err error
	if least != "" {
		e.Least, err = strconv.ParseInt(least, 10, 64)
	}
	if err == nil && most != "" {
		e.Most, err = strconv.ParseInt(most, 10, 64)
	}
	if !ranged {
		e.Most = e.Least
	}
	if err != nil || text == ".." || text == "" || e.Least < 0 || e.Most < e.Least {
		return e, fmt.Errorf("%q is neither a number nor a range", text)
	}
	return e, nil
}
