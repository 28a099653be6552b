package snowfence

import (
	"strings"
	"testing"
	"time"
)

func TestConfigAtFaultIsNamed(t *testing.T) {
	l := smallLayout()
	worker, beyond, below := int64(0), int64(1024), int64(-1)
	until := l.HorizonTick()
	cases := map[string]GeneratorConfig{
		"1024":           {Layout: l, Worker: &beyond, Until: until},
		"-1, must":       {Layout: l, Worker: &below, Until: until},
		"floor":          {Layout: l, Worker: &worker, Floor: -1, Until: until},
		"until":          {Layout: l, Worker: &worker, Floor: 10, Until: 10},
		"floor, 0":       {Layout: l, Worker: &worker, Until: -1},
		"horizon":        {Layout: l, Worker: &worker, Until: until + 1},
		"total is 73":    {Layout: Layout{Unit: l.Unit, Epoch: l.Epoch, Fields: []Field{{Kind: Time, Bits: 61}, {Kind: Sequence, Bits: 12}}}, Worker: &worker},
		"max-rollback":   {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxRollback: -1}},
		"max-burst":      {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxBurst: -1}},
		"max-wait":       {Layout: l, Worker: &worker, Until: until, Policy: Policy{MaxWait: time.Millisecond}},
		"sequence-start": {Layout: l, Worker: &worker, Until: until, Policy: Policy{Start: SequenceStart{Rule: StartRandom, Max: 16}}},
	}
	for word, cfg := range cases {
		for name, construct := range constructors() {
			if _, err := construct(cfg); err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("%s, %s: error is %v", name, word, err)
			}
		}
	}
}

func constructors() map[string]func(GeneratorConfig) (*Generator, error) {
	return map[string]func(GeneratorConfig) (*Generator, error){"fenced": NewGenerator, "unfenced": NewUnfencedGenerator}
}

// A worker number or a window that was forgotten is no worker 0 without a
// bound.
func TestGeneratorWithoutWorkerOrWindowIsRefused(t *testing.T) {
	worker, until := int64(0), DefaultLayout().TickAt(testStart)
	cases := []struct {
		name             string
		cfg              GeneratorConfig
		fenced, unfenced string // what the errors say, if any
	}{
		{"the zero value", GeneratorConfig{}, "worker is not given", "worker is not given"},
		{"no worker", GeneratorConfig{Until: until}, "worker is not given", "worker is not given"},
		{"no window", GeneratorConfig{Worker: &worker}, "until is 0: must be given: use package fence, or NewUnfencedGenerator", ""},
		{"both", GeneratorConfig{Worker: &worker, Until: until}, "", ""},
	}
	for _, c := range cases {
		for name, want := range map[string]string{"fenced": c.fenced, "unfenced": c.unfenced} {
			g, err := constructors()[name](c.cfg)
			switch {
			case want == "" && err != nil:
				t.Errorf("%s, %s: %v", c.name, name, err)
			case want != "" && (g != nil || err == nil || !strings.Contains(err.Error(), want)):
				t.Errorf("%s, %s: %v, want %q", c.name, name, err, want)
			}
		}
	}
}

func TestUnfencedGeneratorKeepsToAWindowThatIsGiven(t *testing.T) {
	for until, want := range map[Tick]Tick{0: DefaultLayout().HorizonTick(), 1: 1} {
		g, err := NewUnfencedGenerator(GeneratorConfig{Worker: new(int64), Until: until})
		if err != nil {
			t.Fatal(err)
		}
		if got := g.Status().Until; got != want {
			t.Errorf("until %d: %d, want %d", until, got, want)
		}
	}
}
