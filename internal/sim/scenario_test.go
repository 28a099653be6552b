package sim

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func TestEveryDrawnPlanCanBeWrittenDownAndRead(t *testing.T) {
	t.Parallel()
	for seed := range uint64(300) {
		p := Draw(seed)
		if err := p.Validate(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		again, err := Parse(p.String())
		if err != nil {
			t.Fatalf("seed %d: %v\n%s", seed, err, p)
		}
		if again.String() != p.String() {
			t.Fatalf("seed %d is read as another plan:\n%s\ninstead of\n%s", seed, again, p)
		}
		if seed < 20 && Run(again, Config{}).Digest != Run(p, Config{}).Digest {
			t.Errorf("seed %d runs otherwise when it was read", seed)
		}
	}
}

func TestScenarioSaysWhatDiffersFromThePlainPlan(t *testing.T) {
	p, err := Parse(`
# A machine that sleeps issues nothing
# of its old window.
seed 9
nodes 3
engine-clock
weather lost 5 disk 7
# not a claim any more
at 2s node 1 suspend 10h
at 1s node all leap -1s
at 1s store 0 quarantine 1
at 1s node 0 crash-after-step 20ms 12
at 1s node 2 drift -250ppm
expect suspend 1
expect terms 2..
expect duplicates ..0
`)
	if err != nil {
		t.Fatal(err)
	}
	want := Plain()
	want.Claim = "A machine that sleeps issues nothing\nof its old window."
	want.Seed, want.Nodes, want.EngineClock = 9, 3, true
	want.Weather = Weather{Lost: 5, Disk: 7}
	want.Faults = []Fault{
		{At: time.Second, Node: Everywhere, Kind: Leap, For: -time.Second},
		{At: time.Second, Kind: Quarantine, N: 1},
		{At: time.Second, Kind: CrashAfterStep, For: 20 * time.Millisecond, N: 12},
		{At: time.Second, Node: 2, Kind: Drift, N: -250},
		{At: 2 * time.Second, Node: 1, Kind: Suspend, For: 10 * time.Hour},
	}
	want.Expect = []Expectation{{"suspend", 1, 1}, {"terms", 2, unbounded}, {"duplicates", 0, 0}}
	if !reflect.DeepEqual(p, want) {
		t.Errorf("it is read as\n%s\ninstead of\n%s", p, want)
	}
}

func TestTextThatIsNoScenarioIsRefusedByItsLine(t *testing.T) {
	tests := []struct{ text, want string }{
		{"nodes", "takes one value"},
		{"nodes two", "invalid syntax"},
		{"window 5", "missing unit"},
		{"journals yes", "takes no value"},
		{"colour red", "is no setting"},
		{"weather lost", "is no setting"},
		{"weather hail 3", "is no setting"},
		{"at 1s", "a fault has a time"},
		{"at now node 0 crash 1s", "invalid duration"},
		{"at 1s node zero crash 1s", "is not a number of a node"},
		{"at 1s node 0 outage 1s", "is not a fault of a node"},
		{"at 1s store 0 crash 1s", "is not a fault of a store"},
		{"at 1s node 0 lost", "is not a fault of a node"},
		{"at 1s node 0 crash", "takes 1 values"},
		{"at 1s node 0 crash-after-step 1s", "takes 2 values"},
		{"expect terms", "is no setting"},
		{"expect terms ..", "is neither a number nor a range"},
		{"expect terms 5..2", "is neither a number nor a range"},
		{"layout nonsense", "invalid layout"},
	}
	for _, test := range tests {
		_, err := Parse("seed 1\n" + test.text)
		var wrong *ScenarioError
		if !errors.As(err, &wrong) || wrong.Line != 2 || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want line 2 and %q", test.text, err, test.want)
		}
	}
}

func TestPlanThatCanNotBeRunIsRefusedByItsField(t *testing.T) {
	tests := map[string]string{
		"nodes 0":                             "nodes is 0",
		"nodes 65":                            "nodes is 65",
		"misfits 3":                           "misfits is 3",
		"length 0s":                           "length is 0s",
		"window 1ms":                          "window is 1ms",
		"max-wait 1ms":                        "max-wait is 1ms",
		"loss 100ms":                          "loss is 100ms",
		"pins 3":                              "pins is 3",
		"datacenters 2":                       "datacenters is 2",
		"split":                               "must have datacenters",
		"weather lost 101":                    "weather lost is 101",
		"at 1s node 2 crash 1s":               "place of crash is 2",
		"at 1s store 1 outage 1s":             "place of outage is 1",
		"at 1s node 0 pause -1s":              "length of pause is -1s",
		"at 1s node 0 step 20000h":            "length of step is 20000h",
		"at 1s node 0 drift 1000000":          "drift is 1000000",
		"at 1s store 0 failover 1s":           "failover is 1s",
		"at 1s store 0 quarantine 2":          "quarantine is 2",
		"at -1s node 0 crash 1s":              "at is -1s",
		"at 1s node 0 crash-after-step 1s -1": "number of crash-after-step is -1",
		"expect hail 1":                       `expectation 1 is "hail"`,
	}
	for text, want := range tests {
		var wrong *PlanError
		if _, err := Parse(text); !errors.As(err, &wrong) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	var layout *snowfence.LayoutError
	p := Plain()
	p.Layout.Fields = nil
	if r := Run(p, Config{}); len(r.Findings) != 1 || r.Findings[0].Rule != "harness" {
		t.Errorf("a plan without a layout is run: %v", r.Findings)
	}
	if err := p.Validate(); !errors.As(err, &layout) {
		t.Errorf("a plan without a layout: %v", err)
	}
}

func TestExpectationThatIsNotMetIsNamed(t *testing.T) {
	p, err := Parse("expect terms 2..\nexpect losses 1..3")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Check(Run(p, Config{}).Tally); err == nil || !strings.Contains(err.Error(), "expect losses 1..3: there are 0") {
		t.Errorf("got %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("# claim\nseed 7\nat 1s node all leap 1s\nexpect duplicates 0")
	f.Add(Draw(7).String())
	f.Add(Draw(8).String())
	f.Fuzz(func(t *testing.T, text string) {
		p, err := Parse(text)
		if err != nil {
			return
		}
		again, err := Parse(p.String())
		if err != nil || again.String() != p.String() {
			t.Errorf("read as\n%s\nand that as\n%s, %v", p, again, err)
		}
	})
}
