package sim

import "testing"

func TestShrunkPlanStillFailsAndReplays(t *testing.T) {
	t.Parallel()
	c := Config{bugs: bugs{bend: oneTooMany}}
	for seed := range uint64(schedules) {
		p := Draw(seed)
		if p.Batch > 100 {
			continue // the same, and slower
		}
		r := Run(p, c)
		if len(r.Findings) == 0 || r.Findings[0].Rule != "bounded" {
			continue
		}
		small := Shrink(p, 300, Fails("bounded", c))
		text := small.String()
		again, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		if !Fails("bounded", c)(again) {
			t.Errorf("seed %d: the shrunk plan does not replay:\n%s", seed, text)
		}
		if len(small.Faults) > 4 || small.Nodes > 2 || len(text) > len(p.String())/3 {
			t.Errorf("seed %d is not small:\n%s", seed, text)
		}
		if Fails("bounded", Config{})(again) {
			t.Error("the true code fails it, too")
		}
		return
	}
	t.Error("no seed failed")
}

func TestPlanThatDoesNotFailIsNotShrunk(t *testing.T) {
	p := Draw(1)
	if s := Shrink(p, 10, func(Plan) bool { return false }); s.String() != p.String() {
		t.Errorf("it became\n%s", s)
	}
}
