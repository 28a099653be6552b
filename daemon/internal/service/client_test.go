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
func opened(t *testing.T, content string) (ring *token.Ring, path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ring, err := token.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return ring, path
}

func TestTokenIsAskedForWhereThereIsOne(t *testing.T) {
	open := New(Config{Settings: settings(t, "a")})
	c := open.Client(netip.Addr{})
	if err := c.Authorize(""); err != nil || open.Guarded() {
		t.Errorf("without a token: %v, guarded %v", err, open.Guarded())
	}
	ring, _ := opened(t, "Correct-horse-battery")
	guarded := New(Config{Settings: settings(t, "a"), Tokens: ring})
	c = guarded.Client(netip.Addr{})
	if err := c.Authorize("Correct-horse-battery"); err != nil || !guarded.Guarded() {
		t.Errorf("right token: %v, guarded %v", err, guarded.Guarded())
	}
	for _, token := range []string{"", "wrong", "Correct-horse-batter", "Correct-horse-battery "} {
		if p := problemOf(t, c.Authorize(token)); p.Type != front.InvalidToken || p.Type.Meaning() != front.Unauthorized {
			t.Errorf("%q: %v", token, p)
		}
		if p := problemOf(t, askFor(c, "a", 1, new(kind.Batch))); p.Type != front.InvalidToken {
			t.Errorf("%q mints: %v", token, p)
		}
	}
}

func TestTokenAllowsNoGeneratorButItsOwn(t *testing.T) {
	ring, _ := opened(t, "one "+token.HashOf("of-one-generator").String()+" generators=a\nall "+token.HashOf("of-every-generator").String())
	s := New(Config{Settings: settings(t, "a", "b"), Tokens: ring})
	for _, name := range []string{"a", "b"} {
		if err := s.Serve(name, &counting{}); err != nil {
			t.Fatal(err)
		}
	}
	mint := func(token, generator string) error {
		c := s.Client(netip.Addr{})
		if err := c.Authorize(token); err != nil {
			t.Fatal(err)
		}
		return askFor(c, generator, 1, new(kind.Batch))
	}
	for _, ok := range [][2]string{{"of-one-generator", "a"}, {"of-every-generator", "a"}, {"of-every-generator", "b"}} {
		if err := mint(ok[0], ok[1]); err != nil {
			t.Errorf("%s from %s: %v", ok[0], ok[1], err)
		}
	}
	if p := problemOf(t, mint("of-one-generator", "b")); p.Type != front.NotAllowed || p.Type.Meaning() != front.Forbidden {
		t.Errorf("another generator: %v", p)
	}
	c := s.Client(netip.Addr{})
	if err := c.Authorize("of-one-generator"); err != nil {
		t.Fatal(err)
	}
	if all, err := c.Statuses(); err != nil || len(all) != 1 || all[0].Name != "a" {
		t.Errorf("sees %v, %v", all, err)
	}
}

func TestTokenLearnsNothingOfOtherGenerators(t *testing.T) {
	ring, _ := opened(t, "few "+token.HashOf("few").String()+" generators=a,gone\nnothing "+token.HashOf("nothing").String()+" generators=gone")
	s := New(Config{Settings: settings(t, "a", "b"), Tokens: ring})
	if err := s.Serve("a", &counting{}); err != nil {
		t.Fatal(err)
	}
	for shown, names := range map[string]string{"few": "a", "nothing": "none of this server"} {
		c := s.Client(netip.Addr{})
		if err := c.Authorize(shown); err != nil {
			t.Fatal(err)
		}
		calls := map[string]func(name string) error{
			"Use":    func(name string) error { return second(c.Use(name)) },
			"Admit":  c.Admit,
			"Decode": func(name string) error { return second(c.Decode("1", "", name)) },
		}
		for call, of := range calls {
			for _, name := range []string{"b", "none"} {
				if p := problemOf(t, of(name)); p.Type != front.NotAllowed || p.Value != name || p.Limit != "the token allows "+names {
					t.Errorf("%s of %s: %v", call, name, p)
				}
			}
			if p := problemOf(t, of("gone")); p.Type != front.UnknownGenerator || p.Limit != "the token allows "+names {
				t.Errorf("%s of a generator that is gone: %v", call, p)
			}
		}
	}
}

// TestAliasIsTheGeneratorItself is about rights, counts and answers: all go by the generator's own name.
func TestAliasIsTheGeneratorItself(t *testing.T) {
	ring, _ := opened(t, "few "+token.HashOf("few").String()+" generators=a\nother "+token.HashOf("other").String()+" generators=b")
	c := settings(t, "a", "b")
	a := c.Generators["a"]
	a.Aliases = []string{"Order.No", config.AnyKey}
	c.Generators["a"] = a
	s := New(Config{Settings: c, Tokens: ring})
	if err := s.Serve("a", &counting{}); err != nil {
		t.Fatal(err)
	}
	few, other := s.Client(netip.Addr{}), s.Client(netip.Addr{})
	if err := errors.Join(few.Authorize("few"), other.Authorize("other")); err != nil {
		t.Fatal(err)
	}
	var b kind.Batch
	for _, name := range []string{"a", "Order.No", config.AnyKey} {
		if err := askFor(few, name, 2, &b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if p := problemOf(t, askFor(other, name, 1, &b)); p.Type != front.NotAllowed || p.Value != name || p.Limit != "the token allows b" {
			t.Errorf("%s by another's token: %v", name, p)
		}
	}
	all := s.Statuses()
	if len(all) != 2 || all[0].Name != "a" || all[0].IDs != 6 {
		t.Errorf("the statuses are %+v", all)
	}
}

func TestMetricsAreForTokensOfAllGeneratorsAndForTheirOwn(t *testing.T) {
	ring, _ := opened(t, "all "+token.HashOf("all").String()+"\nmetrics "+token.HashOf("metrics").String()+" generators=-\none "+token.HashOf("one").String()+" generators=a")
	s := New(Config{Settings: settings(t, "a"), Tokens: ring})
	for shown, want := range map[string]front.Type{"all": 0, "metrics": 0, "one": front.NotAllowed, "none": front.InvalidToken} {
		client := s.Client(netip.Addr{})
		_ = client.Authorize(shown) // ReadMetrics tells
		var p *front.Problem
		if err := client.ReadMetrics(); want == 0 && err != nil || want != 0 && (!errors.As(err, &p) || p.Type != want) {
			t.Errorf("%s: %v", shown, err)
		}
	}
	open := New(Config{Settings: settings(t, "a")}).Client(netip.Addr{})
	if err := open.ReadMetrics(); err != nil {
		t.Errorf("without tokens: %v", err)
	}
}

func TestRevokedTokenEndsOnOpenConnections(t *testing.T) {
	ring, path := opened(t, "one "+token.HashOf("first").String()+"\ntwo "+token.HashOf("second").String())
	s := New(Config{Settings: settings(t, "a"), Tokens: ring})
	if err := s.Serve("a", &counting{}); err != nil {
		t.Fatal(err)
	}
	first, second := s.Client(netip.Addr{}), s.Client(netip.Addr{})
	for client, token := range map[front.Client]string{first: "first", second: "second"} {
		if err := client.Authorize(token); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(path, []byte("two "+token.HashOf("second").String()+" # alone\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ring.Reload(s.log)
	if p := problemOf(t, askFor(first, "a", 1, new(kind.Batch))); p.Type != front.InvalidToken {
		t.Errorf("the revoked token: %v", p)
	}
	if err := askFor(second, "a", 1, new(kind.Batch)); err != nil {
		t.Errorf("the other token: %v", err)
	}
}

// rated returns a service with generator "a" within limits, and the clock that it goes by.
func rated(t *testing.T, tokens *token.Ring, limits config.Limits, m kind.Minter) (*Service, *fixedClock) {
	t.Helper()
	settings, clock := settings(t, "a"), new(fixedClock)
	settings.Limits = limits
	s := New(Config{Settings: settings, Tokens: tokens, Clock: clock})
	if err := s.Serve("a", m); err != nil {
		t.Fatal(err)
	}
	return s, clock
}

func TestRateHoldsForAllConnectionsOfAnAddress(t *testing.T) {
	s, clock := rated(t, nil, config.Limits{Batch: 100, AddressRate: 100}, &counting{})
	mint := func(address string, n int) error {
		c := s.Client(netip.MustParseAddr(address))
		return askFor(c, "a", n, new(kind.Batch))
	}
	for _, address := range []string{"192.0.2.1", "192.0.2.2", "2001:db8::1"} {
		if err := mint(address, 60); err != nil {
			t.Fatal(err)
		}
	}
	for _, address := range []string{"192.0.2.1", "::ffff:192.0.2.1", "2001:db8::2"} {
		p := problemOf(t, mint(address, 60))
		if p.Type != front.RateLimited || p.Type.Meaning() != front.TooMany || p.RetryAfter != 200*time.Millisecond {
			t.Errorf("%s: %v, after %s", address, p, p.RetryAfter)
		}
	}
	clock.now += 200 * time.Millisecond
	if err := mint("192.0.2.1", 60); err != nil {
		t.Errorf("after a while: %v", err)
	}
}

func TestRequestForMoreThanASecondsWorthIsPaidOff(t *testing.T) {
	s, clock := rated(t, nil, config.Limits{Batch: 10_000, AddressRate: 50}, &counting{})
	c := s.Client(netip.MustParseAddr("192.0.2.1"))
	mint := func(n int) error { return askFor(c, "a", n, new(kind.Batch)) }
	if err := mint(5000); err != nil {
		t.Fatal(err)
	}
	if p := problemOf(t, mint(1)); p.Type != front.RateLimited || p.RetryAfter < 99*time.Second || p.RetryAfter > 100*time.Second {
		t.Errorf("%v, after %s", p, p.RetryAfter)
	}
	clock.now += 100 * time.Second
	if err := mint(50); err != nil {
		t.Errorf("after the debt is paid: %v", err)
	}
	// A request that fails costs one id.
	clock.now += time.Second
	if p := problemOf(t, mint(20_000)); p.Type != front.CountOutOfRange {
		t.Errorf("%v", p)
	}
	if err := mint(49); err != nil {
		t.Errorf("after a request for too many: %v", err)
	}
	if p := problemOf(t, mint(1)); p.Type != front.RateLimited {
		t.Errorf("after 49 ids and a request for too many: %v", p)
	}
}

func TestDebtIsADaysWorthAtMost(t *testing.T) {
	s, _ := rated(t, nil, config.Limits{Batch: 10, AddressRate: 1}, &steps{step: math.MaxInt64 - 1})
	c := s.Client(netip.MustParseAddr("192.0.2.1"))
	if _, err := segment(c, "a"); err != nil {
		t.Fatal(err)
	}
	day := 24 * time.Hour
	if p := problemOf(t, second(segment(c, "a"))); p.Type != front.RateLimited || p.RetryAfter < day || p.RetryAfter > day+2*time.Second {
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
	c := s.Client(netip.MustParseAddr("192.0.2.1"))
	if p := problemOf(t, ask(c, "a", func(u front.Use) error { return second(u.Range(t.Context(), 1000)) })); p.Type != front.NotConsecutive {
		t.Fatal(p)
	}
	used := m.next.Load() / 2
	owed := time.Duration(used-50) * time.Second / 50
	if p := problemOf(t, askFor(c, "a", 1, new(kind.Batch))); p.Type != front.RateLimited || p.RetryAfter < owed {
		t.Errorf("%d numbers are used up: %v, after %s, want %s", used, p, p.RetryAfter, owed)
	}
}

func TestCountBelowOneGivesNothingBack(t *testing.T) {
	s, _ := rated(t, nil, config.Limits{Batch: 100, AddressRate: 100}, &counting{})
	mint := func(n int) error {
		c := s.Client(netip.MustParseAddr("192.0.2.1"))
		return askFor(c, "a", n, new(kind.Batch))
	}
	if err := mint(100); err != nil {
		t.Fatal(err)
	}
	for _, n := range []int{-100_000, -1} {
		if err := mint(n); err == nil {
			t.Errorf("%d ids were minted", n)
		}
	}
	if p := problemOf(t, mint(100)); p.Type != front.RateLimited {
		t.Errorf("after counts below one: %v", p)
	}
}

func TestRefusalsTakeNothingFromARate(t *testing.T) {
	ring, _ := opened(t, "slow "+token.HashOf("slow").String()+" rate=1\nfree "+token.HashOf("free").String())
	s, clock := rated(t, ring, config.Limits{Batch: 10, AddressRate: 100}, &counting{})
	mint := func(token string, n int) error {
		c := s.Client(netip.MustParseAddr("192.0.2.1"))
		if err := c.Authorize(token); err != nil {
			t.Fatal(err)
		}
		return askFor(c, "a", n, new(kind.Batch))
	}
	_ = mint("slow", 10)
	var wait sync.WaitGroup
	for range 8 {
		wait.Go(func() {
			for range 100 {
				_ = mint("slow", 10)
			}
		})
	}
	wait.Wait()
	for range 9 {
		if err := mint("free", 10); err != nil {
			t.Fatalf("another token of the address: %v", err)
		}
	}
	wait = sync.WaitGroup{}
	for range 8 {
		wait.Go(func() {
			for range 1000 {
				_ = mint("free", 7)
			}
		})
	}
	wait.Wait()
	clock.now += 70 * time.Millisecond
	if err := mint("free", 7); err != nil {
		t.Errorf("after refusals: %v", err)
	}
}

func TestRateThatIsTakenBeforeAnotherRefusesIsGivenBack(t *testing.T) {
	ring, _ := opened(t, "team "+token.HashOf("team").String()+" rate=100\nfree "+token.HashOf("free").String())
	s, _ := rated(t, ring, config.Limits{Batch: 100, AddressRate: 100}, &counting{})
	mint := func(address, token string) error {
		c := s.Client(netip.MustParseAddr(address))
		if err := c.Authorize(token); err != nil {
			t.Fatal(err)
		}
		return askFor(c, "a", 100, new(kind.Batch))
	}
	if err := mint("192.0.2.1", "free"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if p := problemOf(t, mint("192.0.2.1", "team")); p.Type != front.RateLimited {
			t.Errorf("from an address that used its rate up: %v", p)
		}
	}
	if err := mint("192.0.2.2", "team"); err != nil {
		t.Errorf("the token from another address: %v", err)
	}
}

// TestRequestThatReachesNoMinterCostsOneID asks a generator that counts, whose failures give nothing back else.
func TestRequestThatReachesNoMinterCostsOneID(t *testing.T) {
	c := config.Default()
	c.Store, c.Generators = "mem:", map[string]config.Generator{"a": {Kind: "segment"}}
	c, err := c.Complete("segment")
	if err != nil {
		t.Fatal(err)
	}
	c.Limits = config.Limits{Batch: 100, AddressRate: 100}
	s := New(Config{Settings: c, Clock: &fixedClock{}})
	client := s.Client(netip.MustParseAddr("192.0.2.1"))
	mint := func(n int) error { return askFor(client, "a", n, new(kind.Batch)) }
	for _, x := range []struct {
		n    int
		want front.Type
	}{{101, front.CountOutOfRange}, {90, front.Starting}} {
		if p := problemOf(t, mint(x.n)); p.Type != x.want {
			t.Errorf("%d: %v, want %v", x.n, p, x.want)
		}
	}
	if err := s.Serve("a", &counting{}); err != nil {
		t.Fatal(err)
	}
	if err := mint(98); err != nil {
		t.Errorf("after two requests that failed before the minter: %v", err)
	}
}

func TestRateOfATokenIsSharedByItsClients(t *testing.T) {
	ring, _ := opened(t, "slow "+token.HashOf("slow").String()+" rate=10\nfree "+token.HashOf("free").String())
	s := New(Config{Settings: settings(t, "a"), Tokens: ring, Clock: &fixedClock{}})
	if err := s.Serve("a", &counting{}); err != nil {
		t.Fatal(err)
	}
	mint := func(token string) error {
		c := s.Client(netip.Addr{})
		if err := c.Authorize(token); err != nil {
			t.Fatal(err)
		}
		return askFor(c, "a", 10, new(kind.Batch))
	}
	if err := mint("slow"); err != nil {
		t.Fatal(err)
	}
	if p := problemOf(t, mint("slow")); p.Type != front.RateLimited {
		t.Errorf("the second connection: %v", p)
	}
	if err := mint("free"); err != nil {
		t.Errorf("the other token: %v", err)
	}
}

// TestOpenClientGetsTheNewRightsOfItsToken changes the line of a token under a client that has shown it.
func TestOpenClientGetsTheNewRightsOfItsToken(t *testing.T) {
	line := "team " + token.HashOf("secret").String()
	ring, path := opened(t, line+" generators=a")
	s := New(Config{Settings: settings(t, "a", "b"), Tokens: ring})
	c := s.Client(netip.Addr{})
	if err := c.Authorize("secret"); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		line string
		a, b front.Type
	}{
		{line + " generators=a", 0, front.NotAllowed}, {line + " generators=b", front.NotAllowed, 0}, {line + " rate=5", 0, 0},
		{"team " + token.HashOf("another").String(), front.InvalidToken, front.InvalidToken},
	} {
		if err := os.WriteFile(path, []byte(x.line+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		ring.Again(slog.New(slog.DiscardHandler))
		for name, want := range map[string]front.Type{"a": x.a, "b": x.b} {
			switch err := c.Admit(name); {
			case want == 0 && err != nil:
				t.Errorf("%s: generator %s: %v", x.line, name, err)
			case want != 0 && problemOf(t, err).Type != want:
				t.Errorf("%s: generator %s: %v, want %v", x.line, name, err, want)
			}
		}
	}
}

// TestGuessingTokensCountsForTheAddress: beyond the rate a right token is refused as well, or a guess would show
// that it is right at any speed. Ids that were minted with a right token count for another rate.
func TestGuessingTokensCountsForTheAddress(t *testing.T) {
	const right = "Correct-horse-battery"
	ring, _ := opened(t, right)
	settings, clock := settings(t, "a"), &fixedClock{}
	settings.Limits = config.Limits{Batch: 1, AddressRate: 2}
	s := New(Config{Settings: settings, Tokens: ring, Clock: clock})
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
		if _, err := stranger.Statuses(); problemOf(t, err).Type != front.InvalidToken {
			t.Errorf("a client without a token: %v", err)
		}
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
		c := from("192.0.2.1")
		err := c.Authorize(x.token)
		if x.want == 0 && err == nil {
			continue
		}
		if p := problemOf(t, err); p.Type != x.want {
			t.Errorf("%d, %s: %v, want %v", i, x.token, p, x.want)
		}
	}
}

// TestWrongTokensAreLoggedOnceAMinute: the log has their number and the last address, without the token itself.
func TestWrongTokensAreLoggedOnceAMinute(t *testing.T) {
	ring, _ := opened(t, "Correct-horse-battery")
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
	ring, path := opened(t, "team "+token.HashOf("right").String())
	s := New(Config{Settings: settings(t, "a"), Tokens: ring})
	silent, wrong, revoked := s.Client(netip.Addr{}), s.Client(netip.Addr{}), s.Client(netip.Addr{})
	_, _ = wrong.Authorize("wrong"), revoked.Authorize("right")
	if err := os.WriteFile(path, []byte("team "+token.HashOf("next").String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ring.Again(slog.New(slog.DiscardHandler))
	for want, errs := range map[string][]error{
		"the request shows no token": {silent.Authorize(""), silent.Admit("a")},
		"the token is not known":     {wrong.Authorize("wrong"), wrong.Admit("a"), revoked.Admit("a")},
	} {
		for i, err := range errs {
			if p := problemOf(t, err); p.Type != front.InvalidToken || p.Detail != want {
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
