package metrics

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// minting is a minter with a state that a test makes up.
type minting struct{ caps kind.Caps }

func (minting) Form() kind.Form   { return kind.Number }
func (m minting) Caps() kind.Caps { return m.caps }
func (minting) Mint(_ context.Context, n int, into *kind.Batch) error {
	_, err := into.GrowNumbers(n)
	return err
}

func leased(l kind.Lease) minting {
	return minting{kind.Caps{Lease: func() kind.Lease { return l }}}
}

func counted(c kind.Counter) minting {
	return minting{kind.Caps{Counter: func() kind.Counter { return c }}}
}

// scraped returns a scrape of these collectors.
func scraped(t *testing.T, all ...prometheus.Collector) string {
	t.Helper()
	registry, err := NewRegistry("1.2.3", all...)
	if err != nil {
		t.Fatal(err)
	}
	return read(registry)
}

// read returns a scrape of the handler.
func read(registry *prometheus.Registry) string {
	w := httptest.NewRecorder()
	Handler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	return w.Body.String()
}

// stopwatch is one by the system's clock, and its registry.
func stopwatch(t *testing.T) (*Stopwatch, *prometheus.Registry) {
	t.Helper()
	registry := prometheus.NewRegistry()
	watch, err := NewStopwatch(snowfence.SystemClock().Monotonic, registry)
	if err != nil {
		t.Fatal(err)
	}
	return watch, registry
}

// faulty is a store in memory whose requests for the key "fail" fail.
func faulty() store.Store {
	fails := faultstore.Only(faultstore.Always(faultstore.Fault{Before: true}), func(c faultstore.Call) bool { return c.Key == "fail" })
	return faultstore.New(memstore.New().Client(), fails, snowfence.SystemClock())
}

// use makes one request of every kind, each with every result.
func use(t *testing.T, s store.Store) {
	t.Helper()
	ctx := t.Context()
	if _, err := s.Get(ctx, "a"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get: %v, want none", err)
	}
	if _, err := s.Swap(ctx, "a", "", nil); err != nil {
		t.Error(err)
	}
	if _, err := s.Swap(ctx, "a", "", nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap: %v, want a conflict", err)
	}
	if _, err := s.Get(ctx, "fail"); err == nil {
		t.Error("get did not fail")
	}
	for _, err := range s.List(ctx, "") {
		if err != nil {
			t.Error(err)
		}
		break
	}
}

func testService(t *testing.T) *service.Service {
	t.Helper()
	return service.New(service.Config{Settings: fronttest.Settings(t)})
}

func wantLines(t *testing.T, body string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains(body, line+"\n") {
			t.Errorf("no line %q in\n%s", line, body)
		}
	}
}

func TestScrapeShowsHowFarACounterIs(t *testing.T) {
	s := testService(t)
	if err := s.Serve("default", counted(kind.Counter{})); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"generator_ends", "counter_next", "counter_left"} {
		if body := scraped(t, NewCollector(s)); strings.Contains(body, "snowfence_"+name) {
			t.Errorf("%s is shown, which is not known:\n%s", name, body)
		}
	}
	if err := s.Serve("default", counted(kind.Counter{Next: 100, Limit: 999, Left: 900, Waiting: 3, RunsOut: time.Unix(1_800_000_000, 0)})); err != nil {
		t.Fatal(err)
	}
	wantLines(t, scraped(t, NewCollector(s)),
		`snowfence_counter_next{generator="default"} 100`,
		`snowfence_counter_left{generator="default"} 900`,
		`snowfence_counter_waiting{generator="default"} 3`,
		`snowfence_counter_runs_out_timestamp_seconds{generator="default"} 1.8e+09`,
		`snowfence_generator_ends_timestamp_seconds{generator="default"} 1.8e+09`,
	)
}

func TestScrapeShowsWhatTheServiceCounts(t *testing.T) {
	s := testService(t)
	var b kind.Batch
	client := s.Client(netip.Addr{})
	mint := func(n int) error {
		use, err := client.Use("default")
		if err != nil {
			return err
		}
		return use.Mint(t.Context(), n, &b)
	}
	_ = mint(1) // it is starting, and counts that
	wantLines(t, scraped(t, NewCollector(s)),
		`snowfence_generator_ready{generator="default"} 0`,
		`snowfence_generator_standby{generator="default"} 0`,
		`snowfence_requests_total{generator="default",result="starting"} 1`,
		`snowfence_build_info{version="1.2.3"} 1`,
	)
	l := leased(kind.Lease{
		Layout: snowfence.DefaultLayout(), Worker: 7, Term: 3, Window: time.Minute, Left: 42 * time.Second, Losses: 2, Outages: 4, WindowsEnded: 5, Extensions: 9,
		ClockOffset: -1500 * time.Millisecond, ClockCompared: true, HorizonIn: time.Hour,
		Generator: snowfence.GeneratorStatus{Drift: 10 * time.Millisecond, Behind: 2 * time.Second, Waits: 5},
	})
	if err := s.Serve("default", l); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := mint(50); err != nil {
			t.Fatal(err)
		}
	}
	wantLines(t, scraped(t, NewCollector(s)),
		`snowfence_ids_total{generator="default"} 100`,
		`snowfence_requests_total{generator="default",result="ok"} 2`,
		`snowfence_generator_ready{generator="default"} 1`,
		`snowfence_lease_info{generator="default",layout="ms41-worker10-seq12@2026-01-01T00:00:00Z",namespace="default",worker="7"} 1`,
		`snowfence_lease_remaining_seconds{generator="default"} 42`,
		`snowfence_lease_window_seconds{generator="default"} 60`,
		`snowfence_lease_term{generator="default"} 3`,
		`snowfence_lease_losses_total{generator="default"} 2`,
		`snowfence_lease_outages_total{generator="default"} 4`,
		`snowfence_lease_windows_ended_total{generator="default"} 5`,
		`snowfence_lease_extensions_total{generator="default"} 9`,
		`snowfence_drift_seconds{generator="default"} 0.01`,
		`snowfence_clock_behind_seconds{generator="default"} 2`,
		`snowfence_clock_offset_seconds{generator="default"} -1.5`,
		`snowfence_waits_total{generator="default"} 5`,
		`snowfence_horizon_seconds{generator="default"} 3600`,
		`snowfence_generator_ends_timestamp_seconds{generator="default"} 3.966248855e+09`,
	)
}

func TestNothingIsClaimedOfALeaseThatEndedOrAClockThatWasNotCompared(t *testing.T) {
	s := testService(t)
	if err := s.Serve("default", leased(kind.Lease{Layout: snowfence.DefaultLayout(), Worker: 7, Term: 3})); err != nil {
		t.Fatal(err)
	}
	body := scraped(t, NewCollector(s))
	wantLines(t, body, `snowfence_lease_remaining_seconds{generator="default"} 0`, `snowfence_lease_term{generator="default"} 0`)
	for _, name := range []string{"snowfence_lease_info{", "snowfence_clock_offset_seconds{"} {
		if strings.Contains(body, name) {
			t.Errorf("%s is shown", name)
		}
	}
}

func TestClockIsShown(t *testing.T) {
	clock := NewClock(func() time.Time { return time.UnixMilli(1_800_000_000_250) })
	wantLines(t, scraped(t, clock), `snowfence_clock_timestamp_seconds 1.80000000025e+09`)
}

func TestErrorsOfTheStoreAreCountedFromZero(t *testing.T) {
	watch, registry := stopwatch(t)
	for _, name := range []string{"", "cache"} {
		watch.Time(name, memstore.New().Client())
		for _, operation := range []string{"get", "swap", "list"} {
			wantLines(t, read(registry), `snowfence_store_request_duration_seconds_count{operation="`+operation+`",result="error",store="`+name+`"} 0`)
		}
	}
}

func TestRequestsToEachStoreAreSummed(t *testing.T) {
	var now time.Duration
	watch, err := NewStopwatch(func() time.Duration { now += time.Second; return now }, prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	use(t, watch.Time("cache", faulty()))
	if sum := watch.Sums()["cache"]; sum != (view.Requests{Answered: 3, Failed: 1, Took: 3 * time.Second}) {
		t.Errorf("%+v", watch.Sums())
	}
}

func TestRequestsToTheStoreAreTimedByResult(t *testing.T) {
	watch, registry := stopwatch(t)
	use(t, watch.Time("", faulty()))
	const name = "snowfence_store_request_duration_seconds_count"
	wantLines(t, read(registry),
		name+`{operation="get",result="not-found",store=""} 1`,
		name+`{operation="get",result="error",store=""} 1`,
		name+`{operation="swap",result="ok",store=""} 1`,
		name+`{operation="swap",result="conflict",store=""} 1`,
		name+`{operation="list",result="ok",store=""} 1`,
	)
}

func TestTimedStoreShowsTheClockOfItsEngine(t *testing.T) {
	with := memstore.NewWith(memstore.Config{Now: snowfence.SystemClock().Wall}).Client()
	watch, _ := stopwatch(t)
	_, bare := store.ClockOf(with)
	if _, through := store.ClockOf(watch.Time("", with)); through != bare || !bare {
		t.Errorf("clock shows through %v, bare %v, want both", through, bare)
	}
}

func TestNamesAreWellFormed(t *testing.T) {
	s := testService(t)
	if err := s.Serve("default", leased(kind.Lease{Layout: snowfence.DefaultLayout(), Term: 1, Left: time.Second, ClockCompared: true})); err != nil {
		t.Fatal(err)
	}
	watch, registry := stopwatch(t)
	watch.Time("", memstore.New().Client())
	var own strings.Builder
	for line := range strings.Lines(scraped(t, NewCollector(s)) + read(registry)) {
		if strings.Contains(line, "snowfence_") {
			own.WriteString(line)
		}
	}
	problems, err := promlint.New(strings.NewReader(own.String())).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
