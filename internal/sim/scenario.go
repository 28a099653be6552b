package sim

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// A scenario is a plan as text. It opens with the claim that it proves, and says
// what differs from the plan of [Plain]:
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
// What is expected is a number, or a range of which either end may be open.

// Plain returns the plan that a scenario starts from: two nodes, two worker ids
// with four ids a tick, a window of 300 ms, three seconds, and nothing that goes
// wrong.
func Plain() Plan {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 2},
	}
	return Plan{
		Nodes: 2, Layout: l, Begin: 400 * 24 * time.Hour, Length: 3 * time.Second, Window: 300 * time.Millisecond,
		MaxRollback: 100 * time.Millisecond, MaxBurst: 3 * time.Millisecond, MaxWait: 10 * time.Millisecond, Batch: 3,
	}
}

// ScenarioError is returned for a text that is no scenario. It says in which
// line, from 1, and what is wrong there.
type ScenarioError struct {
	Line int
	Text string
	Err  error
}

func (e *ScenarioError) Error() string {
	return fmt.Sprintf("sim: scenario: line %d, %.80q: %v", e.Line, e.Text, e.Err)
}

// Unwrap returns what is wrong.
func (e *ScenarioError) Unwrap() error { return e.Err }

// setting is a line of a scenario that says one thing of the plan: a duration, a
// number, or that something is so.
type setting struct {
	word     string
	duration *time.Duration
	number   *int
	is       *bool
}

func (p *Plan) settings() []setting {
	return []setting{
		{word: "length", duration: &p.Length},
		{word: "nodes", number: &p.Nodes},
		{word: "misfits", number: &p.Misfits},
		{word: "founded", is: &p.Founded},
		{word: "begin", duration: &p.Begin},
		{word: "pins", number: &p.Pins},
		{word: "datacenters", number: &p.Datacenters},
		{word: "split", is: &p.Split},
		{word: "window", duration: &p.Window},
		{word: "max-rollback", duration: &p.MaxRollback},
		{word: "max-burst", duration: &p.MaxBurst},
		{word: "max-wait", duration: &p.MaxWait},
		{word: "batch", number: &p.Batch},
		{word: "loss", duration: &p.Loss},
		{word: "engine-clock", is: &p.EngineClock},
		{word: "journals", is: &p.Journals},
		{word: "shared", is: &p.Shared},
		{word: "rough", is: &p.Rough},
	}
}

// weathers are the words of a weather line.
func (p *Plan) weathers() []setting {
	w := &p.Weather
	return []setting{
		{word: "lost", number: &w.Lost}, {word: "silent", number: &w.Silent}, {word: "late", number: &w.Late},
		{word: "slow", number: &w.Slow}, {word: "damaged", number: &w.Damaged}, {word: "repeated", number: &w.Repeated}, {word: "stale", number: &w.Stale},
		{word: "disk", number: &w.Disk},
	}
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
		switch {
		case s.duration != nil:
			fmt.Fprintf(&b, "%s %s\n", s.word, *s.duration)
		case s.number != nil:
			fmt.Fprintf(&b, "%s %d\n", s.word, *s.number)
		case *s.is:
			fmt.Fprintln(&b, s.word)
		}
	}
	if p.Weather != (Weather{}) {
		b.WriteString("weather")
		for _, s := range p.weathers() {
			if *s.number > 0 {
				fmt.Fprintf(&b, " %s %d", s.word, *s.number)
			}
		}
		b.WriteByte('\n')
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
	m := f.Kind.manner()
	where, which := "node", strconv.Itoa(f.Node)
	if m.place == aStore {
		where = "store"
	}
	if f.Node == Everywhere {
		which = "all"
	}
	line := fmt.Sprintf("at %s %s %s %s", f.At, where, which, f.Kind)
	if m.measure == lasting || m.measure == lastingAndCounted {
		line += " " + f.For.String()
	}
	if m.measure == counted || m.measure == lastingAndCounted {
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

// Check returns an error that names each expectation of the plan that a run of
// it did not meet.
func (p *Plan) Check(t Tally) error {
	for _, e := range p.Expect {
		if n, ok := t.count(e.Name); !ok || n < e.Least || n > e.Most {
			return fmt.Errorf("%s: there are %d", e, n)
		}
	}
	return nil
}

// Parse reads a scenario. A *[ScenarioError] is returned for a line that can't be
// read, a *[PlanError] or the layout's own for a plan that can't be run.
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
				return Plan{}, &ScenarioError{Line: i + 1, Text: line, Err: err}
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
			if err := set(p.weathers(), rest[i], rest[i+1:i+2]); err != nil {
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

// set gives a setting its value.
func set(settings []setting, word string, values []string) (err error) {
	for _, s := range settings {
		switch {
		case s.word != word:
			continue
		case s.is != nil && len(values) == 0:
			*s.is = true
			return nil
		case s.is != nil:
			return fmt.Errorf("%s takes no value", word)
		case len(values) != 1:
			return fmt.Errorf("%s takes one value", word)
		case s.duration != nil:
			*s.duration, err = time.ParseDuration(values[0])
			return err
		default:
			*s.number, err = strconv.Atoi(values[0])
			return err
		}
	}
	return fmt.Errorf("%q is no setting", word)
}

// parseFault reads what follows "at".
func parseFault(words []string) (f Fault, err error) {
	if len(words) < 4 {
		return f, fmt.Errorf("a fault has a time, a place, its number or all, and a kind")
	}
	if f.At, err = time.ParseDuration(words[0]); err != nil {
		return f, err
	}
	if f.Node = Everywhere; words[2] != "all" {
		if f.Node, err = strconv.Atoi(words[2]); err != nil || f.Node < 0 {
			return f, fmt.Errorf("%q is no number of a %s", words[2], words[1])
		}
	}
	for _, k := range Kinds() {
		if k.String() == words[3] {
			f.Kind = k
		}
	}
	m, rest := f.Kind.manner(), words[4:]
	if place := map[string]place{"node": aNode, "store": aStore}[words[1]]; f.Kind == 0 || place != m.place {
		return f, fmt.Errorf("%q is no fault of a %s", words[3], words[1])
	}
	wanted := map[measure]int{plain: 0, lasting: 1, counted: 1, lastingAndCounted: 2}[m.measure]
	if len(rest) != wanted {
		return f, fmt.Errorf("%s takes %d values", f.Kind, wanted)
	}
	if m.measure == lasting || m.measure == lastingAndCounted {
		if f.For, err = time.ParseDuration(rest[0]); err != nil {
			return f, err
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		f.N, err = strconv.ParseInt(strings.TrimSuffix(rest[0], "ppm"), 10, 64)
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
		return e, fmt.Errorf("%q is no number and no range of them", text)
	}
	return e, nil
}
