// Command simulate runs drawn plans through package sim, on all processors, each plan in one goroutine,
// and prints its findings.
//
//	go run ./internal/sim/simulate -seeds 5000
//	go run ./internal/sim/simulate -seeds 300000 -state FILE
//	go run ./internal/sim/simulate -replay FILE
//	go run ./internal/sim/simulate -draw SEED
//
// With a state file it goes on where it was interrupted, or up to 500 seeds before.
//
// When a plan breaks a rule it prints the seed and the rule, shrinks the plan,
// prints it as a scenario and exits with 1. To replay that, put the text from its first
// line, "# Shrunk from seed", to the end into a file: -replay prints each step, and ends with the rule
// that is broken. The commands stand below the scenario.
// -draw prints the plan of a seed as it was drawn, which -replay takes too.
//
// Once the bug is mended the scenario belongs into internal/sim/testdata. Its first lines become a
// claim in whole sentences, and the file's name is their short form; three expectations at least are
// added, one of them of duplicates. If a planted bug breaks it, scenario_files_test.go names that.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strconv"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/sim"
)

func main() {
	// A plan takes little memory, and frees it at its end.
	debug.SetGCPercent(800)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// options are the command line's.
type options struct {
	seeds, from uint64
	state       string
	replay      string
	draw        *uint64 // the seed; nil for none
}

// block is how many seeds lie between two writings of the state.
const block = 500

// run is the program. It returns its exit code.
func run(args []string, out, errs io.Writer) int {
	var o options
	flags := flag.NewFlagSet("simulate", flag.ContinueOnError)
	flags.SetOutput(errs)
	flags.Uint64Var(&o.seeds, "seeds", 5000, "how many plans to draw and run")
	flags.Uint64Var(&o.from, "from", 0, "the first seed")
	flags.StringVar(&o.state, "state", "", "file to go on from and to keep the state in; none if empty")
	flags.StringVar(&o.replay, "replay", "", "scenario to run instead, printing each step")
	flags.Func("draw", "seed whose plan to print instead, as a scenario for -replay", func(text string) error {
		seed, err := strconv.ParseUint(text, 10, 64)
		o.draw = &seed
		return err
	})
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(errs, "simulate: %q is no flag: must be none but flags\n", flags.Arg(0))
		return 2
	case o.draw != nil && o.replay != "":
		_, _ = fmt.Fprintf(errs, "simulate: -draw is %d and -replay is %q: must be one of them\n", *o.draw, o.replay)
		return 2
	}
	var err error
	switch {
	case o.draw != nil:
		p := sim.Draw(*o.draw)
		p.Claim = fmt.Sprintf("Drawn from seed %d.", *o.draw)
		_, err = fmt.Fprint(out, p)
	case o.replay != "":
		err = replay(o.replay, out)
	default:
		err = o.simulate(out)
	}
	if err != nil {
		_, _ = fmt.Fprintln(errs, "simulate:", err)
		return 1
	}
	return 0
}

// replay runs a scenario and prints its steps.
func replay(file string, out io.Writer) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	p, err := sim.Parse(string(text))
	if err != nil {
		return err
	}
	r := sim.Run(p, sim.Config{Trace: out})
	_, _ = fmt.Fprintf(out, "\n%s\n", r.Tally)
	if len(r.Findings) > 0 {
		return fmt.Errorf("a rule is broken %s", r.Findings[0])
	}
	return p.Check(r.Tally)
}

// simulate runs the seeds block by block.
func (o *options) simulate(out io.Writer) error {
	s, err := load(o.state, o.from)
	if err != nil {
		return err
	}
	if s.Done > 0 {
		_, _ = fmt.Fprintf(out, "going on after %d seeds\n", s.Done)
	}
	clock, before := snowfence.SystemClock(), s.Seconds
	begun := clock.Monotonic()
	for s.Done < o.seeds {
		n := min(block, o.seeds-s.Done)
		tally, failed := sim.RunSeeds(s.From+s.Done, n)
		if failed != nil {
			return tell(out, failed)
		}
		s.Tally.Add(tally)
		s.Done += n
		s.Seconds = before + (clock.Monotonic() - begun).Seconds()
		if err := s.save(o.state); err != nil {
			return err
		}
		if s.Done%(10*block) == 0 && s.Done < o.seeds {
			_, _ = fmt.Fprintf(out, "%d seeds, %.0f s\n", s.Done, s.Seconds)
		}
	}
	return s.sum(out)
}

// sum prints the totals of all seeds.
func (s *state) sum(out io.Writer) error {
	t := s.Tally
	_, _ = fmt.Fprintf(out, "%d seeds from %d in %.0f s: no rule was broken\n", s.Done, s.From, s.Seconds)
	_, _ = fmt.Fprintf(out, "%d ids in %d ranges, %d terms, %d faults, %.1f years of virtual time\n",
		t.Counts[sim.IDs], t.Counts[sim.Ranges], t.Counts[sim.Terms], t.AllFaults(), t.Hours/24/365.25)
	_, _ = fmt.Fprintf(out, "0 duplicates but within the limits of rollbacks and copied processes, %d\n", t.Counts[sim.Duplicates])
	_, _ = fmt.Fprintf(out, "at the end of %d schedules %d nodes were owed ids, and issued them\n%s\n", t.Counts[sim.Owing], t.Counts[sim.Owed], t)
	if missing := t.Missing(); s.Done >= 1000 && len(missing) > 0 {
		return fmt.Errorf("these never happened: %v", missing)
	}
	return nil
}

// tell shrinks the plan and prints it. How to replay it stands below in comments, so
// that all from the claim on is a scenario.
func tell(out io.Writer, f *sim.Failure) error {
	_, _ = fmt.Fprintf(out, "seed %d broke a rule %s\nshrinking\n", f.Seed, f.Finding)
	p := sim.Shrink(sim.Draw(f.Seed), 1000, sim.Fails(f.Rule, sim.Config{}))
	p.Claim = fmt.Sprintf("Shrunk from seed %d: %s", f.Seed, f.Rule)
	_, _ = fmt.Fprintf(out, "\n%s", p)
	const command = "go run ./internal/sim/simulate"
	_, _ = fmt.Fprintf(out, "# To replay it, put all from \"# Shrunk from seed\" on into FILE:\n#\t%s -replay FILE\n", command)
	_, _ = fmt.Fprintf(out, "# To replay the seed as it was drawn:\n#\t%s -draw %d >FILE && %s -replay FILE\n", command, f.Seed, command)
	if r := sim.Run(p, sim.Config{}); len(r.Findings) > 0 {
		return fmt.Errorf("seed %d broke a rule; its scenario breaks it %s", f.Seed, r.Findings[0])
	}
	return fmt.Errorf("seed %d broke a rule %s", f.Seed, f.Finding)
}

// state is how far a long run has come. It is written after each block of seeds,
// in place of the last one, so that an interrupted run goes on.
type state struct {
	Version string  `json:"version"` // of package sim
	From    uint64  `json:"from"`    // the first seed
	Done    uint64  `json:"done"`    // how many from there on were sound
	Seconds float64 `json:"seconds"` // that they took
	Tally   sim.Tally
}

// load reads the state, or returns a new one without a file. An error is returned for a state of other
// rules, or of other seeds.
func load(file string, from uint64) (state, error) {
	s := state{Version: sim.Version(), From: from}
	if file == "" {
		return s, nil
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return s, nil
	}
	if err != nil {
		return s, err
	}
	var found state
	if err := json.Unmarshal(text, &found); err != nil {
		return s, fmt.Errorf("read state %s: %w", file, err)
	}
	switch {
	case found.Version != s.Version:
		return s, fmt.Errorf("state %s is of version %s of the simulation, and this is %s: remove it to begin anew", file, found.Version, s.Version)
	case found.From != from:
		return s, fmt.Errorf("state %s begins at seed %d: must be %d, the value of -from", file, found.From, from)
	}
	return found, nil
}

// save puts the state in place of the one before, whole or not at all.
func (s *state) save(file string) error {
	if file == "" {
		return nil
	}
	text, err := json.Marshal(s)
	if err != nil {
		return err
	}
	next := file + ".next"
	if err := os.WriteFile(next, text, 0o600); err != nil {
		return fmt.Errorf("write state: %w", err)
	}
	return os.Rename(next, file)
}
