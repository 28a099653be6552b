package sim

import (
	"strings"
	"testing"
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
