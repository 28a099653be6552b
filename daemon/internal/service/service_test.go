package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/decode"
)

// counting is a minter that counts, and fails where a test makes it fail.
type counting struct {
	next  atomic.Int64
	err   error // Mint's error, after it has appended one id too few
	short bool  // whether Mint appends one id too few without an error
	ready error // Ready's error
}

func (m *counting) Form() kind.Form { return kind.Number }

func (m *counting) Caps() kind.Caps {
	return kind.Caps{Ready: func() error { return m.ready }}
}

func (m *counting) Mint(_ context.Context, n int, into *kind.Batch) error {
	if m.short || m.err != nil {
		n--
	}
	ids, err := into.GrowNumbers(n)
	if err != nil {
		return err
	}
	first := m.next.Add(int64(n)) - int64(n)
	for i := range ids {
		ids[i] = snowfence.ID(first + int64(i))
	}
	return m.err
}

// settings are complete settings of generators with these names.
func settings(t testing.TB, names ...string) config.Config {
	t.Helper()
	c := config.Default()
	c.Store = "mem:"
	c.Generators = map[string]config.Generator{}
	for _, name := range names {
		c.Generators[name] = config.Generator{}
	}
	c, err := c.Complete()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// serving returns a service with one generator, "a", unless a test changes its config. Generators other than opaque ones have
// the minter, or are starting if it is nil.
func serving(t testing.TB, m kind.Minter, change ...func(*Config)) *Service {
	t.Helper()
	c := Config{Settings: settings(t, "a")}
	for _, set := range change {
		set(&c)
	}
	s := New(c)
	for name, g := range c.Settings.Generators {
		if m == nil || g.Kind == "opaque" {
			continue
		}
		if err := s.Serve(name, m); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// logged returns a service that mints by m, and its log.
func logged(t *testing.T, m kind.Minter) (*Service, *bytes.Buffer) {
	t.Helper()
	log := new(bytes.Buffer)
	return serving(t, m, func(c *Config) { c.Logger = slog.New(slog.NewTextHandler(log, nil)) }), log
}

// anybody is a client of a service without tokens and rates.
func anybody(s *Service) front.Client { return s.Client(netip.Addr{}) }

// ask makes one request of a client.
func ask(c front.Client, name string, request func(front.Use) error) error {
	u, err := c.Use(name)
	if err != nil {
		return err
	}
	return request(u)
}

func askFor(c front.Client, name string, n int, into *kind.Batch) error {
	return ask(c, name, func(u front.Use) error { return u.Mint(context.Background(), n, into) })
}

// mint is askFor without the ids.
func mint(c front.Client, name string, n int) error { return askFor(c, name, n, new(kind.Batch)) }

// problemOf returns the problem that an error must be.
func problemOf(t *testing.T, err error) *front.Problem {
	t.Helper()
	var p *front.Problem
	if !errors.As(err, &p) {
		t.Fatalf("error %v is no problem", err)
	}
	return p
}

// refused returns the problem that an error must be, of a type.
func refused(t *testing.T, what string, err error, want front.Type) front.Problem {
	t.Helper()
	p := problemOf(t, err)
	if p.Type != want {
		t.Errorf("%s: %v, want %s", what, p, want)
	}
	return *p
}

func TestMintAppendsExactlyWhatWasAskedForAndCountsIt(t *testing.T) {
	s := serving(t, new(counting))
	var b kind.Batch
	for _, n := range []int{1, 3, 10_000} {
		had := b.Len()
		if err := askFor(anybody(s), "a", n, &b); err != nil || b.Len() != had+n {
			t.Errorf("asked for %d, got %d, %v", n, b.Len()-had, err)
		}
	}
	if status := s.Statuses()[0]; status.IDs != 10_004 || status.Requests != 3 {
		t.Errorf("counted %d ids in %d requests, want 10004 in 3", status.IDs, status.Requests)
	}
}

func TestMintAllocatesNothing(t *testing.T) {
	c := anybody(serving(t, new(counting)))
	var b kind.Batch
	for _, n := range []int{1, 1000} {
		mint := func() {
			b.Reset()
			if err := askFor(c, "a", n, &b); err != nil {
				t.Fatal(err)
			}
		}
		mint()
		if allocations := testing.AllocsPerRun(100, mint); allocations != 0 {
			t.Errorf("%d ids: %v allocations, want none", n, allocations)
		}
	}
}

func TestRequestThatCanNotBeRightNamesFieldValueAndLimit(t *testing.T) {
	s := serving(t, new(counting))
	for _, c := range []struct {
		generator    string
		n            int
		want         front.Type
		field, value string
	}{
		{"b", 1, front.UnknownGenerator, "generator", "b"},
		{strings.Repeat("b", 1000), 1, front.UnknownGenerator, "generator", strings.Repeat("b", 128) + "…"},
		{"a", 0, front.CountOutOfRange, "count", "0"},
		{"a", -1, front.CountOutOfRange, "count", "-1"},
		{"a", 10_001, front.CountOutOfRange, "count", "10001"},
	} {
		var b kind.Batch
		got := refused(t, "Mint", askFor(anybody(s), c.generator, c.n, &b), c.want)
		if c.want == front.UnknownGenerator && got.Limit != "must be one of a" {
			t.Errorf("%.10s: limit is %q, must list the generators", c.generator, got.Limit)
		}
		if got.Field != c.field || got.Value != c.value || got.Limit == "" || b.Len() != 0 {
			t.Errorf("%.10s, %d: %+v, and %d ids, want %s %s", c.generator, c.n, got, b.Len(), c.field, c.value)
		}
	}
}

func TestGeneratorIsStartingThenServingThenStopped(t *testing.T) {
	s := serving(t, nil)
	if p := refused(t, "before it has a minter", mint(anybody(s), "a", 1), front.Starting); p.RetryAfter == 0 {
		t.Errorf("before it has a minter: %+v", p)
	}
	if s.StandBy("a", true); front.Ready(s.Statuses()) { // without standby in its settings
		t.Error("ready before it has a minter")
	}
	if err := s.Serve("a", new(counting)); err != nil {
		t.Fatal(err)
	}
	if err := mint(anybody(s), "a", 1); err != nil || !front.Active(s.Statuses()) {
		t.Errorf("with a minter: %v, ready %v", err, front.Active(s.Statuses()))
	}
	s.Stop()
	if refused(t, "after Stop", mint(anybody(s), "a", 1), front.Stopped); front.Active(s.Statuses()) {
		t.Error("ready after Stop")
	}
	if err := s.Serve("b", new(counting)); err == nil {
		t.Error("a generator that was not configured was given a minter")
	}
}

func TestGeneratorWithoutItsWorkerIDStandsBy(t *testing.T) {
	s := serving(t, nil, func(c *Config) {
		g := c.Settings.Generators["a"]
		g.Standby = true
		c.Settings.Generators["a"] = g
	})
	stands := func(when string) {
		t.Helper()
		if p := refused(t, when, mint(anybody(s), "a", 1), front.Standby); p.RetryAfter == 0 {
			t.Errorf("%s: %+v", when, p)
		}
		for _, healthy := range []bool{false, true} {
			s.StandBy("a", healthy)
			status := s.Statuses()
			if front.Active(status) || front.Ready(status) != healthy || status[0].StandsBy != healthy || status[0].Problem.Type != front.Standby {
				t.Errorf("%s, in health %t: %+v", when, healthy, status)
			}
		}
	}
	stands("before it has held it")
	lost := fmt.Errorf("%w: another process has it", kind.ErrUnavailable)
	if err := s.Serve("a", &counting{ready: lost, err: lost}); err != nil {
		t.Fatal(err)
	}
	stands("after it has lost it")
	if s.Leave(); front.Ready(s.Statuses()) {
		t.Error("it leaves, and is ready")
	}
}

func TestServiceIsReadyWhenEveryGeneratorIs(t *testing.T) {
	s := serving(t, new(counting), func(c *Config) { c.Settings = settings(t, "a", "b") })
	b := &counting{ready: fmt.Errorf("%w: the lease ends in 3s", kind.ErrUnavailable)}
	if err := s.Serve("b", b); err != nil {
		t.Fatal(err)
	}
	statuses := s.Statuses()
	if front.Active(statuses) || statuses[0].Problem != nil || statuses[1].Problem == nil || statuses[1].Problem.Type != front.LeaseUnavailable {
		t.Errorf("with one that is not: %v, %v", statuses[0].Problem, statuses[1].Problem)
	}
	// It still mints: readiness looks ahead.
	if err := mint(anybody(s), "b", 1); err != nil {
		t.Error(err)
	}
	b.ready = nil
	if !front.Active(s.Statuses()) {
		t.Error("not ready though both are")
	}
}

func TestBatchThatCanNeverBeMintedIsOutOfRange(t *testing.T) {
	for _, c := range []struct {
		preset string
		policy snowfence.Policy
		want   int
	}{
		{"default", snowfence.Policy{}, 1_000_000},
		// 256 ids in each of the present tick, one of burst and 100 of waiting.
		{"sonyflake-v2", snowfence.Policy{}, 256 * 102},
		{"sonyflake-v2", snowfence.Policy{MaxBurst: 1, MaxWait: 25 * time.Millisecond}, 256 * 4},
	} {
		preset, err := snowfence.PresetByName(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		set := settings(t, "a")
		set.Limits.Batch = 1_000_000
		set.Generators["a"] = config.Generator{Kind: config.KindSnowflake, Layout: preset.Layout, Policy: c.policy}
		if set, err = set.Complete(); err != nil {
			t.Fatal(err)
		}
		client := anybody(serving(t, new(counting), func(c *Config) { c.Settings = set }))
		if err := mint(client, "a", c.want); err != nil {
			t.Errorf("%s, %+v: %d ids: %v", c.preset, c.policy, c.want, err)
		}
		if p := refused(t, c.preset, mint(client, "a", c.want+1), front.CountOutOfRange); p.RetryAfter != 0 || !strings.HasSuffix(p.Limit, fmt.Sprintf("to %d", c.want)) {
			t.Errorf("%s, %+v: %d ids: %+v", c.preset, c.policy, c.want+1, p)
		}
	}
}

// few is a minter that mints at most 100 ids at a time.
type few struct{ counting }

func (*few) Caps() kind.Caps { return kind.Caps{Most: 100} }

func TestMinterMayBoundABatchFurther(t *testing.T) {
	for limit, want := range map[int]int{10_000: 100, 50: 50} {
		c := anybody(serving(t, new(few), func(c *Config) { c.Settings.Limits.Batch = limit }))
		if err := mint(c, "a", want); err != nil {
			t.Errorf("%d ids: %v", want, err)
		}
		ends := fmt.Sprintf("from 1 to %d", want)
		for what, err := range map[string]error{
			"minted": mint(c, "a", want+1), "not read": ask(c, "a", func(u front.Use) error { return u.InvalidCount("x") }),
		} {
			if p := refused(t, what, err, front.CountOutOfRange); !strings.HasSuffix(p.Limit, ends) {
				t.Errorf("%s: %+v, want a limit %s", what, p, ends)
			}
		}
	}
}

// TestLimitOfABatchIsWhatAGeneratorCanDo compares the limit with a generator
// that is asked for as much, at the instants of a tick that matter.
func TestLimitOfABatchIsWhatAGeneratorCanDo(t *testing.T) {
	preset, err := snowfence.PresetByName("sonyflake-v2")
	if err != nil {
		t.Fatal(err)
	}
	limit := most(config.Generator{Layout: preset.Layout, Policy: snowfence.Policy{}.WithDefaults(preset.Layout)}, 1_000_000)
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			n  int
			ok bool
		}{{limit, true}, {limit + 1, false}} {
			g, err := snowfence.NewGenerator(snowfence.GeneratorConfig{Layout: preset.Layout, Worker: new(int64), Until: preset.Layout.HorizonTick(), Clock: late{snowfence.SystemClock()}, Rand: func() uint64 { return 0 }})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Fill(t.Context(), make([]snowfence.ID, c.n)); (err == nil) != c.ok {
				t.Errorf("%d ids: %v", c.n, err)
			}
		}
	})
}

// late is a clock of today; a bubble's begins before the layouts' epochs do.
type late struct{ snowfence.Clock }

func (l late) Wall() time.Time { return l.Clock.Wall().AddDate(27, 0, 0) }

func TestMintersErrorsBecomeProblems(t *testing.T) {
	for _, c := range []struct {
		err   error
		want  front.Type
		retry time.Duration
	}{
		{&snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: 1500 * time.Millisecond, Limit: time.Second}, front.Saturated, 1500 * time.Millisecond},
		{&snowfence.WaitError{Reason: snowfence.ErrClockBehind, Need: time.Millisecond, Limit: time.Second}, front.ClockUnsafe, time.Second},
		{snowfence.ErrBeforeEpoch, front.ClockUnsafe, time.Second},
		{snowfence.ErrPastHorizon, front.HorizonPassed, 0},
		{snowfence.ErrWindowEnded, front.LeaseUnavailable, time.Second},
		{fmt.Errorf("mint: %w", snowfence.ErrRevoked), front.LeaseUnavailable, time.Second},
		{&fence.UnavailableError{For: time.Second, Reason: context.DeadlineExceeded}, front.LeaseUnavailable, time.Second},
		{&counter.UnavailableError{For: time.Second, Reason: context.DeadlineExceeded}, front.StoreUnavailable, time.Second},
		{&counter.UnavailableError{Reason: &counter.BackwardsError{Counter: "a", Next: 3, Mark: 7}}, front.CounterChanged, 0},
		{counter.ErrReplaced, front.CounterChanged, 0},
		{&fence.UnavailableError{For: time.Second, Reason: &fence.ClockError{Offset: time.Hour}}, front.ClockUnsafe, time.Second},
		{&fence.UnavailableError{For: time.Second, Reason: snowfence.ErrClockStepped}, front.ClockUnsafe, time.Second},
		{&fence.UnavailableError{For: time.Second, Reason: fence.ErrNamespaceReplaced}, front.LeaseUnavailable, 0},
		{&fence.UnavailableError{For: time.Second, Reason: snowfence.ErrWindowEnded}, front.LeaseUnavailable, time.Second},
		{fence.ErrClosed, front.Stopped, time.Second},
		{fmt.Errorf("tickets: %w", kind.ErrUnavailable), front.LeaseUnavailable, time.Second},
		{context.Canceled, front.RequestCancelled, 0},
		{context.DeadlineExceeded, front.RequestCancelled, time.Second},
		{errors.New("disk on fire"), front.Internal, 0},
	} {
		s := serving(t, &counting{err: c.err})
		var b kind.Batch
		p := refused(t, c.err.Error(), askFor(anybody(s), "a", 3, &b), c.want)
		if p.RetryAfter != c.retry || !errors.Is(&p, c.err) || p.Detail == "" || b.Len() != 0 {
			t.Errorf("%v: %+v, retry after %s; want %s; %d ids are left in the batch", c.err, p, p.RetryAfter, c.retry, b.Len())
		}
		if status := s.Statuses()[0]; status.Problems[c.want] != 1 || status.IDs != 0 {
			t.Errorf("%v: counted %v and %d ids", c.err, status.Problems, status.IDs)
		}
	}
}

func TestNumbersOfADateThatAreUsedUpBeginAgainAndOthersDoNot(t *testing.T) {
	for _, c := range []struct{ date, want string }{
		{"20261122", "the numbers of 20261122 are used up: they begin again with the next date"},
		{"", "an operator must move to another counter"},
	} {
		s := serving(t, &counting{err: fmt.Errorf("orders: %w", &counter.FullError{Counter: "secret", Date: c.date, Limit: 999})})
		p := refused(t, c.date, mint(anybody(s), "a", 1), front.NumbersUsedUp)
		if p.RetryAfter != 0 || !strings.Contains(p.Detail, c.want) || strings.Contains(p.Detail, "secret") {
			t.Errorf("on %q: %s, %q, retry after %s", c.date, p.Type, p.Detail, p.RetryAfter)
		}
	}
}

func TestOutageOfTheStoreIsLoggedOnce(t *testing.T) {
	m := new(counting)
	s, log := logged(t, m)
	for range 2 {
		m.err = &counter.UnavailableError{Counter: "a", For: time.Second, Reason: errors.New("disk on fire")}
		for range 3 {
			refused(t, "an outage", mint(anybody(s), "a", 1), front.StoreUnavailable)
		}
		m.err = nil
		for range 3 {
			if err := mint(anybody(s), "a", 1); err != nil {
				t.Fatal(err)
			}
		}
	}
	for line, times := range map[string]int{"disk on fire": 2, "ids again": 2} {
		if got := strings.Count(log.String(), line); got != times {
			t.Errorf("%q stands %d times in the log, want %d:\n%s", line, got, times, log)
		}
	}
}

func TestGeneratorThatFailedIsNotReadyForAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		away := &counter.UnavailableError{Counter: "a", For: time.Second}
		m := &counting{err: away}
		s := serving(t, m)
		ready := func(want bool, when string) {
			t.Helper()
			if got := front.Active(s.Statuses()); got != want {
				t.Errorf("%s: ready is %t, want %t", when, got, want)
			}
		}
		ready(true, "before the first request")
		_ = mint(anybody(s), "a", 1) // it fails
		ready(false, "after a failure")
		over, stop := snowfence.SystemClock().After(lasting) // the bubble's
		defer stop()
		<-over
		ready(true, "when nothing was asked for a while")
		_ = mint(anybody(s), "a", 1)
		m.err = nil
		if err := mint(anybody(s), "a", 1); err != nil {
			t.Fatal(err)
		}
		ready(true, "after a success")
	})
}

// nearlyFull is a counter that has too few numbers left for the last request.
type nearlyFull struct {
	counting
	left, limit int64
}

func (m *nearlyFull) Caps() kind.Caps {
	return kind.Caps{Counter: func() kind.Counter { return kind.Counter{Left: m.left, Limit: m.limit} }}
}

func TestTooLargeRequestSaysNothingOfTheGenerator(t *testing.T) {
	for _, c := range []struct {
		left, limit int64
		ready       bool
		detail      string
	}{
		{999, 999, true, "fewer numbers are left than were asked for"},
		{0, 999, false, "the numbers of 20261122 are used up"},
		{0, 0, false, "the numbers of 20261122 are used up"}, // another system's counter
	} {
		full := &counter.FullError{Counter: "a", Date: "20261122", Limit: 999}
		s, log := logged(t, &nearlyFull{counting{err: full}, c.left, c.limit})
		if p := refused(t, c.detail, mint(anybody(s), "a", 1000), front.NumbersUsedUp); p.RetryAfter != 0 || !strings.HasPrefix(p.Detail, c.detail) {
			t.Errorf("%d of %d left: %s, %q", c.left, c.limit, p.Type, p.Detail)
		}
		if front.Ready(s.Statuses()) != c.ready || strings.Contains(log.String(), "gives no ids") == c.ready {
			t.Errorf("%d of %d left: ready is %t; the log: %s", c.left, c.limit, !c.ready, log)
		}
	}
}

// texted reports that its numbers are texts.
type texted struct{ counting }

func (*texted) Form() kind.Form { return kind.Text }

func TestMinterThatMintsTooFewOrOfAnotherFormIsAFault(t *testing.T) {
	for want, m := range map[string]kind.Minter{
		"minted 2 ids instead of 3": &counting{short: true}, "minted ids of the form number instead of text": new(texted),
	} {
		s, log := logged(t, m)
		var b kind.Batch
		if refused(t, want, askFor(anybody(s), "a", 3, &b), front.Internal); b.Len() != 0 {
			t.Errorf("%d ids are in the batch", b.Len())
		}
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log shows %q, want %q", log.String(), want)
		}
	}
}

func TestDetailOfAFaultShowsNothingOfIt(t *testing.T) {
	s := serving(t, &counting{err: errors.New("open /secret/path: denied")})
	if p := problemOf(t, mint(anybody(s), "a", 1)); strings.Contains(p.Detail+p.Value+p.Limit, "secret") {
		t.Errorf("the problem shows %q", p.Detail)
	}
}

func TestDecodeUsesTheLayoutNamedOrTheOneInCommon(t *testing.T) {
	s := New(Config{Settings: settings(t, "a", "b")})
	answer, err := anybody(s).Decode("1541815603606036480", "twitter", "")
	d, _ := answer.(*decode.Document)
	if err != nil || d.Time != "2022-06-28T16:07:40.105Z" || *d.Worker != 26 || *d.Datacenter != 11 || d.Guessed {
		t.Errorf("twitter: %+v, %v", d, err)
	}
	answer, err = anybody(s).Decode("0000000000000000001", "", "")
	d, _ = answer.(*decode.Document)
	if err != nil || d.Layout != snowfence.DefaultLayout().String() || d.ID != "1" {
		t.Errorf("layout in common: %+v, %v", d, err)
	}
	for _, c := range []struct {
		id, layout string
		want       front.Type
	}{
		{"no id", "", front.InvalidID},
		{"9223372036854775808", "twitter", front.InvalidID}, // the 64th bit
		{"507f1f77bcf86cd799439011", "twitter", front.InvalidID},
		{"507f1f77bcf86cd79943901x", "", front.InvalidID},
		{"1", "none", front.InvalidLayout},
		{"1", "ms41-wroker10-seq12", front.InvalidLayout},
		{"1", "ms60-worker10-seq12", front.InvalidLayout},
	} {
		_, err := anybody(s).Decode(c.id, c.layout, "")
		p := refused(t, c.id+" "+c.layout, err, c.want)
		// The limit is the reason alone, and the value stands once.
		if p.Limit == "" || strings.Contains(p.Limit, "snowfence") || strings.Contains(p.Limit, "invalid") || strings.Count(p.Detail, p.Value) != 1 {
			t.Errorf("%s, %s: limit %q, detail %q", c.id, c.layout, p.Limit, p.Detail)
		}
	}

	mixed := settings(t, "a", "b")
	b := mixed.Generators["b"]
	preset, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	b.Layout = preset.Layout
	mixed.Generators["b"] = b
	if _, err := anybody(New(Config{Settings: mixed})).Decode("1", "", ""); problemOf(t, err).Type != front.InvalidLayout {
		t.Errorf("two layouts without a name: %v", err)
	}
	answer, err = anybody(New(Config{Settings: mixed})).Decode("507f1f77bcf86cd799439011", "", "")
	if f, ok := answer.(*decode.Document); err != nil || !ok || f.Format != "objectid" || f.Time != "2012-10-17T21:13:27Z" {
		t.Errorf("an ObjectID without a layout: %+v, %v", answer, err)
	}
}

func TestTypesAreStable(t *testing.T) {
	var names []string
	for problem := range front.Type(front.Types) {
		names = append(names, problem.String())
		if problem.Title() == "" {
			t.Errorf("%s has no title", problem)
		}
	}
	// Clients rely on these names: they stay as they are.
	want := []string{
		"unknown-generator", "count-out-of-range", "invalid-id", "invalid-layout", "invalid-token", "not-allowed", "rate-limited", "not-consecutive",
		"not-a-series", "needs-reservation", "invalid-reservation", "reservation-ended", "not-lent", "invalid-lease", "lease-gone", "lease-moved", "no-worker", "lease-limit",
		"starting", "refused", "standby", "stopped",
		"lease-unavailable", "store-unavailable", "clock-unsafe", "saturated", "overloaded", "request-cancelled", "horizon-passed", "numbers-used-up", "counter-changed", "internal",
	}
	if !slices.Equal(names, want) {
		t.Errorf("types are %q, want %q", names, want)
	}
}

func BenchmarkMint(b *testing.B) {
	c := anybody(serving(b, new(counting)))
	for _, n := range []int{1, 100, 10_000} {
		b.Run(fmt.Sprintf("%d", n), func(b *testing.B) {
			var batch kind.Batch
			for b.Loop() {
				batch.Reset()
				if err := askFor(c, "a", n, &batch); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
		})
	}
}
