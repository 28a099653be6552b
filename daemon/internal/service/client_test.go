package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// opened writes a file of tokens and opens it.
func opened(t *testing.T, lines ...string) (ring *token.Ring, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens")
	put(t, path, lines...)
	ring, err := token.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring, path
}

// put writes lines into a file.
func put(t *testing.T, path string, lines ...string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
}

// line grants rights to the token that is the line's name.
func line(name, rights string) string { return name + " " + token.HashOf(name).String() + " " + rights }

// guarded returns a service whose generators "a" and "b" mint, for clients with tokens.
func guarded(t *testing.T, lines ...string) *Service {
	t.Helper()
	return serving(t, new(counting), func(c *Config) {
		c.Settings = settings(t, "a", "b")
		c.Tokens, _ = opened(t, lines...)
	})
}

// known returns a client that has shown a valid token.
func known(t *testing.T, s *Service, shown string) front.Client {
	return knownAt(t, s, "192.0.2.1", shown)
}

func knownAt(t *testing.T, s *Service, address, shown string) front.Client {
	t.Helper()
	c := s.Client(netip.MustParseAddr(address))
	if err := c.Authorize(shown); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestTokenIsAskedForWhereThereIsOne(t *testing.T) {
	open := serving(t, new(counting))
	if err := anybody(open).Authorize(""); err != nil || open.Guarded() {
		t.Errorf("without a token: %v, guarded %v", err, open.Guarded())
	}
	guarded := guarded(t, "all "+token.HashOf("Correct-horse-battery").String())
	c := known(t, guarded, "Correct-horse-battery")
	if !guarded.Guarded() {
		t.Error("with a token it is not guarded")
	}
	for _, token := range []string{"", "wrong", "Correct-horse-batter", "Correct-horse-battery "} {
		if p := refused(t, token, c.Authorize(token), front.InvalidToken); p.Type.Meaning() != front.Unauthorized {
			t.Errorf("%q: %v", token, p)
		}
		refused(t, token+" mints", mint(c, "a", 1), front.InvalidToken)
	}
}

func TestTokenAllowsNoGeneratorButItsOwn(t *testing.T) {
	s := guarded(t, line("one", "generators=a"), line("all", ""))
	one, all := known(t, s, "one"), known(t, s, "all")
	if err := errors.Join(mint(one, "a", 1), mint(all, "a", 1), mint(all, "b", 1)); err != nil {
		t.Error(err)
	}
	if p := refused(t, "another generator", mint(one, "b", 1), front.NotAllowed); p.Type.Meaning() != front.Forbidden {
		t.Errorf("another generator: %v", p)
	}
	if all, err := one.Statuses(); err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Errorf("sees %v, %v", all, err)
	}
}

func TestTokenLearnsNothingOfOtherGenerators(t *testing.T) {
	s := guarded(t, line("few", "generators=a,gone"), line("nothing", "generators=gone"))
	for shown, names := range map[string]string{"few": "a", "nothing": "none of this server"} {
		c := known(t, s, shown)
		for call, of := range map[string]func(name string) error{
			"Use":    func(name string) error { return second(c.Use(name)) },
			"Admit":  c.Admit,
			"Decode": func(name string) error { return second(c.Decode("1", "", name)) },
		} {
			for name, want := range map[string]front.Type{"b": front.NotAllowed, "none": front.NotAllowed, "gone": front.UnknownGenerator} {
				if p := refused(t, call+" of "+name, of(name), want); p.Value != name || p.Limit != "the token allows "+names {
					t.Errorf("%s of %s: %v", call, name, p)
				}
			}
		}
	}
}

// TestAliasIsTheGeneratorItself is about rights, counts and answers: all go by the generator's own name.
func TestAliasIsTheGeneratorItself(t *testing.T) {
	s := serving(t, new(counting), func(c *Config) {
		c.Settings = settings(t, "a", "b")
		a := c.Settings.Generators["a"]
		a.Aliases = []string{"Order.No", config.AnyKey}
		c.Settings.Generators["a"] = a
		c.Tokens, _ = opened(t, line("few", "generators=a"), line("other", "generators=b"))
	})
	few, other := known(t, s, "few"), known(t, s, "other")
	for _, name := range []string{"a", "Order.No", config.AnyKey} {
		if err := mint(few, name, 2); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p := refused(t, name, mint(other, name, 1), front.NotAllowed); p.Value != name || p.Limit != "the token allows b" {
			t.Errorf("%s by another's token: %v", name, p)
		}
	}
	if all := s.Statuses(); len(all) != 2 || all[0].Name != "a" || all[0].IDs != 6 {
		t.Errorf("the statuses are %+v", all)
	}
}

func TestMetricsAreForTokensOfAllGeneratorsAndForTheirOwn(t *testing.T) {
	s := guarded(t, line("all", ""), line("metrics", "generators=-"), line("one", "generators=a"))
	if err := errors.Join(known(t, s, "all").ReadMetrics(), known(t, s, "metrics").ReadMetrics(), anybody(serving(t, nil)).ReadMetrics()); err != nil {
		t.Error(err)
	}
	refused(t, "a token of one generator", known(t, s, "one").ReadMetrics(), front.NotAllowed)
	refused(t, "no token", anybody(s).ReadMetrics(), front.InvalidToken)
}

func TestRevokedTokenEndsOnOpenConnections(t *testing.T) {
	ring, path := opened(t, line("first", ""), line("second", ""))
	s := serving(t, new(counting), func(c *Config) { c.Tokens = ring })
	first, second := known(t, s, "first"), known(t, s, "second")
	put(t, path, line("second", "# alone"))
	ring.Reload(s.log)
	refused(t, "the revoked token", mint(first, "a", 1), front.InvalidToken)
	if err := mint(second, "a", 1); err != nil {
		t.Errorf("the other token: %v", err)
	}
}

// rated returns a service with generator "a" within limits, and the clock that it goes by.
func rated(t *testing.T, tokens *token.Ring, limits config.Limits, m kind.Minter) (*Service, *fixedClock) {
	t.Helper()
	clock := new(fixedClock)
	return serving(t, m, func(c *Config) { c.Settings.Limits, c.Tokens, c.Clock = limits, tokens, clock }), clock
}

func TestRateHoldsForAllConnectionsOfAnAddress(t *testing.T) {
	s, clock := rated(t, nil, config.Limits{Batch: 100, AddressRate: 100}, new(counting))
	mint := func(address string) error { return mint(knownAt(t, s, address, ""), "a", 60) }
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
		if err := mint(address); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::2"} {
		if p := refused(t, address, mint(address), front.RateLimited); p.Type.Meaning() != front.TooMany || p.RetryAfter != 200*time.Millisecond {
			t.Errorf("%s: %v, after %s", address, p, p.RetryAfter)
		}
	}
	clock.now += 200 * time.Millisecond
	if err := mint("192.0.2.1"); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

func TestRequestForMoreThanASecondsWorthIsPaidOff(t *testing.T) {
	s, clock := rated(t, nil, config.Limits{Batch: 10_000, AddressRate: 50}, new(counting))
	c := known(t, s, "")
	if err := mint(c, "a", 5000); err != nil {
		t.Fatal(err)
	}
	if p := refused(t, "a debtor", mint(c, "a", 1), front.RateLimited); p.RetryAfter < 99*time.Second || p.RetryAfter > 100*time.Second {
		t.Errorf("%v, after %s", p, p.RetryAfter)
	}
	clock.now += 100 * time.Second
	if err := mint(c, "a", 50); err != nil {
		t.Errorf("after the debt is paid: %v", err)
	}
	// A request that fails costs one id.
	clock.now += time.Second
	refused(t, "too many", mint(c, "a", 20_000), front.CountOutOfRange)
	if err := mint(c, "a", 49); err != nil {
		t.Errorf("after a request for too many: %v", err)
	}
	refused(t, "after 49 ids and a request for too many", mint(c, "a", 1), front.RateLimited)
}

func TestDebtIsADaysWorthAtMost(t *testing.T) {
	s, _ := rated(t, nil, config.Limits{Batch: 10, AddressRate: 1}, &steps{step: math.MaxInt64 - 1})
	c := known(t, s, "")
	if _, err := segment(c, "a"); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	if p := refused(t, "a debtor", second(segment(c, "a")), front.RateLimited); p.RetryAfter < day || p.RetryAfter > day+2*time.Second {
		t.Errorf("%v, after %s", p, p.RetryAfter)
	}
}

// apart is a minter with gaps between all numbers.
type apart struct{ counting }

func (*apart) Caps() kind.Caps { return increments(1) }

func (m *apart) Mint(_ context.Context, n int, into *kind.Batch) error {
	ids, err := into.GrowNumbers(n)
	for i := range ids {
		ids[i] = snowfence.ID(m.next.Add(2))
	}
	return err
}

func TestNumbersThatARangeUsesUpArePaidFor(t *testing.T) {
	m := new(apart)
	s, _ := rated(t, nil, config.Limits{Batch: 10_000, AddressRate: 50}, m)
	c := known(t, s, "")
	refused(t, "a range", ask(c, "a", func(u front.Use) error { return second(u.Range(t.Context(), 1000)) }), front.NotConsecutive)
	used := m.next.Load() / 2
	owed := time.Duration(used-50) * time.Second / 50
	if p := refused(t, "a debtor", mint(c, "a", 1), front.RateLimited); p.RetryAfter < owed {
		t.Errorf("%d numbers are used up: %v, after %s, want %s", used, p, p.RetryAfter, owed)
	}
}

func TestCountBelowOneGivesNothingBack(t *testing.T) {
	s, _ := rated(t, nil, config.Limits{Batch: 100, AddressRate: 100}, new(counting))
	c := known(t, s, "")
	if err := mint(c, "a", 100); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-100_000, -1} {
		if err := mint(c, "a", n); err == nil {
			t.Errorf("%d ids were minted", n)
		}
	}
	refused(t, "after counts below one", mint(c, "a", 100), front.RateLimited)
}

func TestRefusalsTakeNothingFromARate(t *testing.T) {
	ring, _ := opened(t, line("slow", "rate=1"), line("free", ""))
	s, clock := rated(t, ring, config.Limits{Batch: 10, AddressRate: 100}, new(counting))
	hammer := func(times int, token string, n int) {
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for range times {
					_ = mint(known(t, s, token), "a", n)
				}
			})
		}
		wait.Wait()
	}
	_ = mint(known(t, s, "slow"), "a", 10)
	hammer(100, "slow", 10)
	for range 9 {
		if err := mint(known(t, s, "free"), "a", 10); err != nil {
			t.Fatalf("another token of the address: %v", err)
		}
	}
	hammer(1000, "free", 7)
	clock.now += 70 * time.Millisecond
	if err := mint(known(t, s, "free"), "a", 7); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func TestRateThatIsTakenBeforeAnotherRefusesIsGivenBack(t *testing.T) {
	ring, _ := opened(t, line("team", "rate=100"), line("free", ""))
	s, _ := rated(t, ring, config.Limits{Batch: 100, AddressRate: 100}, new(counting))
	if err := mint(known(t, s, "free"), "a", 100); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		refused(t, "from an address that used its rate up", mint(known(t, s, "team"), "a", 100), front.RateLimited)
	}
	if err := mint(knownAt(t, s, "192.0.2.2", "team"), "a", 100); err != nil {
		t.Errorf("the token from another address: %v", err)
	}
}

// TestRequestThatReachesNoMinterCostsOneID asks a generator that counts, whose failures give nothing back else.
func TestRequestThatReachesNoMinterCostsOneID(t *testing.T) {
	s := serving(t, nil, func(c *Config) {
		c.Settings.Generators = map[string]config.Generator{"a": {Kind: "segment"}}
		c.Settings.Limits, c.Clock = config.Limits{Batch: 100, AddressRate: 100}, new(fixedClock)
	})
	client := known(t, s, "")
	refused(t, "too many", mint(client, "a", 101), front.CountOutOfRange)
	refused(t, "too early", mint(client, "a", 90), front.Starting)
	if err := s.Serve("a", new(counting)); err != nil {
		t.Fatal(err)
	}
	if err := mint(client, "a", 98); err != nil {
		t.Errorf("after two requests that failed before the minter: %v", err)
	}
}

func TestRateOfATokenIsSharedByItsClients(t *testing.T) {
	ring, _ := opened(t, line("slow", "rate=10"), line("free", ""))
	s, _ := rated(t, ring, config.Limits{Batch: 10}, new(counting))
	if err := mint(known(t, s, "slow"), "a", 10); err != nil {
		t.Fatal(err)
	}
	refused(t, "the second connection", mint(known(t, s, "slow"), "a", 10), front.RateLimited)
	if err := mint(known(t, s, "free"), "a", 10); err != nil {
		t.Errorf("the other token: %v", err)
	}
}

// TestOpenClientGetsTheNewRightsOfItsToken changes the line of a token under a client that has shown it.
func TestOpenClientGetsTheNewRightsOfItsToken(t *testing.T) {
	ring, path := opened(t, line("team", "generators=a"))
	c := known(t, New(Config{Settings: settings(t, "a", "b"), Tokens: ring}), "team")
	for _, x := range []struct {
		line string
		a, b front.Type
	}{
		{line("team", "generators=a"), 0, front.NotAllowed}, {line("team", "generators=b"), front.NotAllowed, 0}, {line("team", "rate=5"), 0, 0},
		{line("another", ""), front.InvalidToken, front.InvalidToken},
	} {
		put(t, path, x.line)
		ring.Again(slog.New(slog.DiscardHandler))
		for name, want := range map[string]front.Type{"a": x.a, "b": x.b} {
			if err := c.Admit(name); want != 0 {
				refused(t, x.line+": "+name, err, want)
			} else if err != nil {
				t.Errorf("%s: generator %s: %v", x.line, name, err)
			}
		}
	}
}

// TestGuessingTokensCountsForTheAddress: beyond the rate a right token is refused as well, or a guess would show
// that it is right at any speed. Ids that were minted with a right token count for another rate.
func TestGuessingTokensCountsForTheAddress(t *testing.T) {
	const right = "Correct-horse-battery"
	ring, _ := opened(t, "all "+token.HashOf(right).String())
	s, clock := rated(t, ring, config.Limits{Batch: 1, AddressRate: 2}, new(counting))
	from := func(address string) front.Client { return s.Client(netip.MustParseAddr(address)) }
	busy := from("192.0.2.2").(*Client)
	for range 3 {
		_ = busy.Authorize(right)
		_ = busy.pay(nil, 1)
	}
	if err := busy.Authorize(right); err != nil {
		t.Errorf("a client that asked for many ids: %v", err)
	}
	for range 3 {
		stranger := from("192.0.2.1") // a probe of readiness, for one, comes without a token
		refused(t, "a client without a token", second(stranger.Statuses()), front.InvalidToken)
	}
	for i, x := range []struct {
		token string
		after time.Duration
		want  front.Type
	}{
		{"guess", 0, front.InvalidToken}, {right, 0, 0}, {"guess", 0, front.InvalidToken}, {"guess", 0, front.RateLimited}, {right, 0, front.RateLimited},
		{right, time.Second, 0}, {"guess", 0, front.InvalidToken},
	} {
		clock.now += x.after
		if err := from("192.0.2.1").Authorize(x.token); x.want != 0 {
			refused(t, fmt.Sprint(i, x.token), err, x.want)
		} else if err != nil {
			t.Errorf("%d, %s: %v", i, x.token, err)
		}
	}
}

// TestWrongTokensAreLoggedOnceAMinute: the log has their number and the last address, without the token itself.
func TestWrongTokensAreLoggedOnceAMinute(t *testing.T) {
	ring, _ := opened(t, "all "+token.HashOf("Correct-horse-battery").String())
	var log bytes.Buffer
	clock := &fixedClock{}
	s := New(Config{Settings: settings(t, "a"), Tokens: ring, Clock: clock, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	show := func(address string, tokens ...string) {
		for _, text := range tokens {
			c := s.Client(netip.MustParseAddr(address))
			_ = c.Authorize(text)
		}
	}
	for i, x := range []struct {
		after time.Duration
		show  []string
		want  string
	}{
		{0, []string{"Correct-horse-battery", ""}, ""}, // an empty token is not a wrong one
		{0, []string{"guess-1", "guess-2"}, "tokens=2 last_address=192.0.2.2"},
		{59 * time.Second, []string{"guess-3"}, ""},
		{time.Second, nil, "tokens=1 last_address=192.0.2.3"},
		{time.Hour, nil, ""},
	} {
		clock.now += x.after
		show(fmt.Sprintf("192.0.2.%d", i+1), x.show...)
		s.WarnOfGuesses()
		s.WarnOfGuesses()
		if got := log.String(); strings.Count(got, "\n") != min(len(x.want), 1) || !strings.Contains(got, x.want) || strings.Contains(got, "guess-") {
			t.Errorf("%d: %q, want %q", i, got, x.want)
		}
		log.Reset()
	}
}

func TestWrongTokenIsNotReportedAsNone(t *testing.T) {
	ring, path := opened(t, line("right", ""))
	s := New(Config{Settings: settings(t, "a"), Tokens: ring})
	silent, wrong, revoked := s.Client(netip.Addr{}), s.Client(netip.Addr{}), s.Client(netip.Addr{})
	_, _ = wrong.Authorize("wrong"), revoked.Authorize("right")
	put(t, path, line("next", ""))
	ring.Again(slog.New(slog.DiscardHandler))
	for want, errs := range map[string][]error{
		"the request shows no token": {silent.Authorize(""), silent.Admit("a")},
		"the token is not known":     {wrong.Authorize("wrong"), wrong.Admit("a"), revoked.Admit("a")},
	} {
		for i, err := range errs {
			if p := refused(t, want, err, front.InvalidToken); p.Detail != want {
				t.Errorf("%d: %v, want %s", i, p, want)
			}
		}
	}
}

// fixedClock is a clock that tests set.
type fixedClock struct {
	snowfence.Clock
	now time.Duration
}

func (c *fixedClock) Monotonic() time.Duration { return c.now }
func (c *fixedClock) Wall() time.Time          { return time.Unix(1_800_000_000, 0).Add(c.now) }
