package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/sim"
)

// simulating runs the program and returns its exit code and output.
func simulating(args ...string) (code int, out, errs string) {
	var o, e strings.Builder
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

func TestInterruptedRunGoesOnWithTheSameResult(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	_, whole, _ := simulating("-seeds", "30", "-from", "100")
	if code, _, errs := simulating("-seeds", "12", "-from", "100", "-state", file); code != 0 {
		t.Fatal(errs)
	}
	code, rest, errs := simulating("-seeds", "30", "-from", "100", "-state", file)
	if code != 0 || !strings.HasPrefix(rest, "going on after 12 seeds\n") {
		t.Errorf("exit code %d, %s%s", code, rest, errs)
	}
	// The first line has the seconds, which differ.
	tail := func(s string) string { return s[strings.Index(s, "no rule was broken"):] }
	if tail(rest) != tail(whole) {
		t.Errorf("in two parts:\n%s\nas a whole:\n%s", rest, whole)
	}
	if code, out, _ := simulating("-seeds", "30", "-from", "100", "-state", file); code != 0 || tail(out) != tail(whole) {
		t.Errorf("when all is done: exit code %d\n%s", code, out)
	}
}

func TestStateOfOtherRulesIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "state")
	write := func(s state) {
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		state state
		want  string
	}{
		{state{Version: "0-old", Done: 7}, "is of version 0-old"},
		{state{Version: sim.Version(), From: 3, Done: 7}, "begins at seed 3: must be 0"},
	} {
		write(test.state)
		if code, _, errs := simulating("-seeds", "10", "-state", file); code != 1 || !strings.Contains(errs, test.want) {
			t.Errorf("exit code %d: %s", code, errs)
		}
	}
	if err := os.WriteFile(file, []byte("torn"), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := simulating("-state", file); code != 1 || !strings.Contains(errs, "read state") {
		t.Errorf("a torn state: exit code %d: %s", code, errs)
	}
}

func TestReplayTellsWhatHappensAndWhetherItWasExpected(t *testing.T) {
	file := filepath.Join(t.TempDir(), "scenario.txt")
	replayed := func(text string) (int, string, string) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return simulating("-replay", file)
	}
	code, out, errs := replayed("# A crash costs a window.\nat 1s node 0 crash 10ms\nexpect crash 1")
	if code != 0 || !strings.Contains(out, "FAULT crash: host-0") || !strings.Contains(out, "host-0 starts process 3") {
		t.Errorf("exit code %d: %s\n%s", code, errs, out)
	}
	if code, _, errs := replayed("expect crash 1"); code != 1 || !strings.Contains(errs, "expect crash 1: there are 0") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := replayed("nonsense"); code != 1 || !strings.Contains(errs, "line 1") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if code, _, errs := simulating("-replay", file+".none"); code != 1 || !strings.Contains(errs, "no such file") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

func TestDrawnPlanIsPrintedAsAScenarioThatReplays(t *testing.T) {
	code, out, errs := simulating("-draw", "7")
	if code != 0 {
		t.Fatal(errs)
	}
	p, err := sim.Parse(out)
	if err != nil {
		t.Fatal(err)
	}
	if want := sim.Draw(7); p.Claim != "Drawn from seed 7." || sim.Run(p, sim.Config{}).Digest != sim.Run(want, sim.Config{}).Digest {
		t.Errorf("seed 7 is printed as\n%s\ninstead of\n%s", p, want)
	}
	file := filepath.Join(t.TempDir(), "drawn.txt")
	if err := os.WriteFile(file, []byte(out), 0o600); err != nil {
		t.Fatal(err)
	}
	if code, _, errs := simulating("-replay", file); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestFailureIsToldByItsSeedAndAsAScenario checks the report of one. That its plan is shrunk is
// for the tests of package sim: this one is sound, and so stays as it is.
func TestFailureIsToldByItsSeedAndAsAScenario(t *testing.T) {
	var out strings.Builder
	if err := tell(&out, &sim.Failure{Seed: 1, Finding: sim.Finding{Rule: "unique"}}); err == nil || !strings.Contains(err.Error(), "seed 1 broke a rule") {
		t.Errorf("%v", err)
	}
	for _, command := range []string{"simulate -replay FILE\n", "simulate -draw 1 >FILE && "} {
		if !strings.Contains(out.String(), command) {
			t.Errorf("it does not print %q:\n%s", command, &out)
		}
	}
	_, scenario, _ := strings.Cut(out.String(), "shrinking\n")
	if p, err := sim.Parse(scenario); err != nil || p.Claim != "Shrunk from seed 1: unique" {
		t.Errorf("%v: %q", err, p.Claim)
	}
}
