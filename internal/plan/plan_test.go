package plan

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

var (
	epoch = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	now   = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)
)

// draft reads a layout that the test knows to be readable.
func draft(t *testing.T, s string) snowfence.Layout {
	t.Helper()
	l, err := ParseDraft(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestCapacityIsThatOfTheWidths(t *testing.T) {
	for _, x := range []struct {
		layout  string
		bits    int
		years   string
		workers int64
		perTick int64
		rate    string // of one worker
	}{
		// 41 bits of milliseconds last 69.7 years; 12 bits of sequence are 4,096.
		{"twitter", 63, "69.7", 1024, 4096, "4,096,000"},
		// 37 bits of milliseconds last 4.36 years, and the whole is 73 bits.
		{"ms37-worker20-seq16", 73, "4.36", 1 << 20, 1 << 16, "65.5M"},
		// The layout for 2^20 servers.
		{"ms41-worker20-seq2", 63, "69.7", 1 << 20, 4, "4,000"},
		{"10ms38-worker20-seq5", 63, "87.1", 1 << 20, 32, "3,200"},
		{"sonyflake-v1", 63, "174.2", 1 << 16, 256, "25,600"},
		{"baidu", 63, "8.51", 1 << 22, 8192, "8,192"},
		// With the 64th bit in the layout, ids are minted for half the time.
		{"instagram", 64, "34.8", 8192, 1024, "1,024,000"},
		{"mastodon", 64, "4,460", 1, 1 << 16, "65.5M"},
		{"javascript-safe-s", 53, "68.1", 8, 1 << 19, "524,288"},
	} {
		c := CapacityOf(draft(t, x.layout))
		if c.Bits != x.bits || Years(c.Years) != x.years ||
			c.Workers != x.workers || c.PerTick != x.perTick || Quantity(c.WorkerRate) != x.rate {
			t.Errorf("%s: %+v, want %+v", x.layout, c, x)
		}
	}
}

func TestCapacityAgreesWithTheLayout(t *testing.T) {
	for _, p := range snowfence.Presets() {
		c, l := CapacityOf(p.Layout), p.Layout
		if c.Bits != l.TotalBits() || c.Workers != l.Workers() || c.PerTick != l.Sequences() ||
			math.Abs(c.WorkerRate/l.RatePerWorker()-1) > 1e-12 || math.Abs(c.Rate/l.Rate()-1) > 1e-12 {
			t.Errorf("%s: capacity %+v differs from the layout's own", p.Name, c)
		}
		if year := l.Horizon().Year(); year <= 9999 && !c.Horizon.Equal(l.Horizon()) || year > 9999 && !c.Horizon.IsZero() {
			t.Errorf("%s: horizon %v, the layout's is %v", p.Name, c.Horizon, l.Horizon())
		}
	}
}

func TestBaiduRanOutOnItsDay(t *testing.T) {
	a, err := Check(draft(t, "baidu"), Requirements{}, now)
	if err != nil {
		t.Fatal(err)
	}
	if a.Holds() || a.Problem != "ran out on 2024-11-20: to go on, see docs/running-out.md" || a.Offer == nil {
		t.Errorf("got %+v", a)
	}
	for _, o := range a.Offer.Options {
		if !o.Horizon.After(now) {
			t.Errorf("%s is offered, but ran out on %v", o.Layout, o.Horizon)
		}
	}
	before := time.Date(2024, time.November, 1, 0, 0, 0, 0, time.UTC)
	if a, err := Check(draft(t, "baidu"), Requirements{}, before); err != nil || !a.Holds() || a.Offer != nil {
		t.Errorf("before its end: %+v, %v", a, err)
	}
}

func TestWrongClaimsAreAnsweredWithTheRealNumber(t *testing.T) {
	for _, x := range []struct {
		name, layout string
		claimed      Requirements
		problem      string
		answers      []string // "true: …" or "false: …"
	}{
		{
			name: "a game server's 73 bits lasting 93 years", layout: "ms37-worker20-seq16",
			claimed: Requirements{Years: 93, Workers: 1 << 20},
			problem: "73 bits, 10 more than the 63 of an id",
			answers: []string{
				"false: 4.36 years, not 93",
				"true: 1,048,576 workers",
			},
		},
		{
			name: "41 bits lasting 70 years", layout: "default",
			claimed: Requirements{Years: 70},
			answers: []string{"false: 69.7 years, not 70"},
		},
		{
			name: "rates in all and of one worker", layout: "sonyflake-v2",
			claimed: Requirements{Workers: 100, Rate: 4e6, WorkerRate: 25_600, Burst: 256},
			answers: []string{
				"true: 65,536 workers",
				"false: 2,560,000 ids/s in all, not 4,000,000",
				"true: 25,600 ids/s of any worker",
				"true: 256 ids in a tick",
			},
		},
		{
			name: "fitting a JavaScript number", layout: "default",
			claimed: Requirements{Bits: 53},
			answers: []string{"false: 63 bits, not 53"},
		},
	} {
		t.Run(x.name, func(t *testing.T) {
			a, err := Check(draft(t, x.layout), x.claimed, now)
			if err != nil {
				t.Fatal(err)
			}
			if a.Problem != x.problem {
				t.Errorf("problem %q, want %q", a.Problem, x.problem)
			}
			var answers []string
			for _, c := range a.Claims {
				verdict := "false: "
				if c.Holds {
					verdict = "true: "
				}
				answers = append(answers, verdict+c.Answer)
			}
			if got, want := strings.Join(answers, "\n"), strings.Join(x.answers, "\n"); got != want {
				t.Errorf("answers\n%s\nwant\n%s", got, want)
			}
			if (a.Offer == nil) != a.Holds() {
				t.Errorf("holds %v, but offer %+v", a.Holds(), a.Offer)
			}
		})
	}
}

func TestWhatFitsInsteadOfTheGameServersLayout(t *testing.T) {
	a, err := Check(draft(t, "ms37-worker20-seq16"), Requirements{}, now)
	if err != nil {
		t.Fatal(err)
	}
	offered := map[string]bool{}
	for _, o := range a.Offer.Options {
		offered[o.Widths] = true
	}
	for _, want := range []string{"ms41-worker20-seq2", "10ms38-worker20-seq5", "s32-worker20-seq11"} {
		if !offered[want] {
			t.Errorf("%s is not offered among %v", want, offered)
		}
	}
}

func TestOffersAreRanked(t *testing.T) {
	for _, x := range []struct {
		need Requirements
		want []string
	}{
		{Requirements{Years: 69, Workers: 1024, Rate: 4e6}, []string{
			"ms41-worker10-seq12", "10ms38-worker10-seq15", "s32-worker10-seq21",
		}},
		{Requirements{Years: 69, Workers: 1024, WorkerRate: 4e6}, []string{"ms41-worker10-seq12"}},
		{Requirements{Workers: 8, Bits: 53}, []string{
			"ms41-worker3-seq9", "10ms38-worker3-seq12", "s32-worker3-seq18",
		}},
		// Four ids in a millisecond rank behind units whose ticks hold more.
		{Requirements{Workers: 1 << 20}, []string{
			"10ms38-worker20-seq5", "s32-worker20-seq11", "ms41-worker20-seq2",
		}},
		// One worker needs no worker bits.
		{Requirements{Workers: 1, Years: 69, Bits: 42}, []string{"s32-seq10", "10ms38-seq4", "ms41-seq1"}},
	} {
		offer, err := For(x.need, epoch)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range offer.Options {
			got = append(got, o.Widths)
		}
		if strings.Join(got, "\n") != strings.Join(x.want, "\n") {
			t.Errorf("%+v:\n%s\nwant\n%s", x.need, strings.Join(got, "\n"), strings.Join(x.want, "\n"))
		}
	}
}

func TestWhatCannotFitSaysByHowMuch(t *testing.T) {
	offer, err := For(Requirements{Years: 100, Workers: 1 << 20, WorkerRate: 10_000, Bits: 60}, epoch)
	if err != nil {
		t.Fatal(err)
	}
	if want := "66 bits at the least (ms42-worker20-seq4), 6 more than the 60 there are"; offer.Problem != want {
		t.Errorf("problem %q, want %q", offer.Problem, want)
	}
}

func TestMeaninglessRequirementsAreRefused(t *testing.T) {
	for _, r := range []Requirements{
		{Years: -1}, {Years: math.NaN()}, {Years: math.Inf(1)}, {Workers: -1}, {Rate: -4}, {WorkerRate: math.NaN()},
		{Burst: -1}, {Bits: -1}, {Bits: 2}, {Bits: 64}, {Years: 2e6}, {Workers: math.MaxInt64},
	} {
		if _, err := For(r, epoch); err == nil {
			t.Errorf("For(%+v) gave no error", r)
		}
		if _, err := Check(snowfence.DefaultLayout(), r, now); err == nil {
			t.Errorf("Check(%+v) gave no error", r)
		}
	}
}

// random draws requirements over many orders of magnitude.
func random(r *rand.Rand) Requirements {
	scale := func(bits float64) float64 { return math.Ceil(math.Exp2(r.Float64() * bits)) }
	maybe := func(v float64) float64 { return v * float64(r.IntN(2)) }
	return Requirements{
		Years:      math.Exp2(r.Float64()*12) / 8,
		Workers:    scale(30),
		Rate:       maybe(scale(36)),
		WorkerRate: maybe(scale(24) / 3),
		Burst:      maybe(scale(14)),
		Bits:       []int{0, 53, 3 + r.IntN(61)}[r.IntN(3)],
	}
}

// lacks reports the requirements that a layout misses.
func lacks(l snowfence.Layout, r Requirements) string {
	years := float64(l.HorizonTick()) * l.Unit.Seconds() / Year.Seconds()
	share := r.Rate / r.Workers
	const rounding = 1 + 1e-9
	switch {
	case l.Validate() != nil:
		return l.Validate().Error()
	case l.TotalBits() > r.limit():
		return "bits"
	case years*rounding < r.Years:
		return "years"
	case float64(l.Workers()) < r.Workers:
		return "workers"
	case l.RatePerWorker()*rounding < share:
		return "rate"
	case l.RatePerWorker()*rounding < r.WorkerRate:
		return "worker rate"
	case float64(l.Sequences()) < r.Burst:
		return "burst"
	}
	return ""
}

func TestEveryOfferMeetsWhatWasAsked(t *testing.T) {
	r := rand.New(rand.NewPCG(2, 7600))
	offered := 0
	for range 3000 {
		need := random(r)
		offer, err := For(need, epoch)
		if err != nil {
			t.Fatalf("%+v: %v", need, err)
		}
		for _, o := range offer.Options {
			offered++
			if what := lacks(o.Layout, need); what != "" {
				t.Fatalf("%+v: %s is offered, but lacks %s", need, o.Layout, what)
			}
		}
		if (len(offer.Options) == 0) != (offer.Problem != "") {
			t.Fatalf("%+v: %d options and the problem %q", need, len(offer.Options), offer.Problem)
		}
	}
	if offered < 1000 {
		t.Errorf("only %d offers were looked at", offered)
	}
}

func TestMisfitSaysWhy(t *testing.T) {
	need := Requirements{Years: 69, Workers: 1024, WorkerRate: 4e6}
	offer, err := For(need, epoch)
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, m := range offer.Misfits {
		why[m.Name] = m.Why
	}
	for name, want := range map[string]string{
		"ticks of 1s": "64 bits, 1 more than the 63 there are", "ticks of 1ms": "",
	} {
		if why[name] != want {
			t.Errorf("%s: %q, want %q", name, why[name], want)
		}
	}
}
