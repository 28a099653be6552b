package service

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
)

// noon is a clock whose wall clock stands.
type noon struct{ snowfence.Clock }

func (noon) Wall() time.Time { return time.Unix(1_000_000_000, 0) }

func TestRefusalSaysWhichClientWasRefusedWhenAndWhy(t *testing.T) {
	s := serving(t, new(counting), func(c *Config) {
		c.Settings, c.Clock = settings(t, "a", "b"), noon{snowfence.SystemClock()}
		c.Tokens, _ = opened(t, line("few", "generators=a"))
	})
	at := func(last byte, shown string) front.Client {
		c := s.Client(netip.AddrFrom4([4]byte{192, 0, 2, last}))
		_ = c.Authorize(shown)
		return c
	}
	known := at(1, "few")
	for range 3 {
		_ = mint(known, "a", -1)
	}
	_ = mint(at(2, "few"), "b", 1)
	_ = mint(known, "a", -1)
	at(3, "wrong-token")
	_ = at(4, "").ReadMetrics()
	_, _ = s.Client(netip.AddrFrom4([4]byte{192, 0, 2, 5})).Statuses() // a probe of health
	if err := mint(known, "a", 1); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, r := range s.Refusals() {
		if r.Last != time.Unix(1_000_000_000, 0).UTC() {
			t.Errorf("the last of %s was at %s", r.Type, r.Last)
		}
		got = append(got, fmt.Sprintf("%s %s %d %s %s", r.Generator, r.Type, r.Count, r.Address, r.Token))
	}
	want := " invalid-token 3 192.0.2.4 \na count-out-of-range 4 192.0.2.1 few\nb not-allowed 1 192.0.2.2 few"
	if got := strings.Join(got, "\n"); got != want {
		t.Errorf("refused were\n%s\nwant\n%s", got, want)
	}
}

func TestRequestOfAnUnknownOrAStartingGeneratorIsARefusal(t *testing.T) {
	s := serving(t, nil)
	_ = mint(anybody(s), "none", 1)
	_ = mint(anybody(s), "a", 1)
	if got := s.Refusals(); len(got) != 2 || got[0].Generator != "a" || got[0].Type != front.Starting || got[1].Generator != "" || got[1].Type != front.UnknownGenerator {
		t.Errorf("refused were %+v", got)
	}
}

func TestRefusalsAreBoundedAndTheOldestGoes(t *testing.T) {
	var r refusals
	for i := range maxRefusals + 1 {
		if i == maxRefusals {
			r.note(front.Refusal{Generator: "0", Count: 1})
		}
		r.note(front.Refusal{Generator: fmt.Sprint(i), Count: 1})
	}
	s := &Service{refusals: refusals{kept: r.kept}}
	all := s.Refusals()
	if n := len(all); n != maxRefusals || all[0].Generator != fmt.Sprint(maxRefusals) || all[1].Generator != "0" || all[1].Count != 2 || all[n-1].Generator != "2" {
		t.Errorf("%d are kept, from %+v to %+v", n, all[:2], all[n-1])
	}
}
