package httpfront

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// counting is a minter that counts from 1,000,000,000,000,000,000.
type counting struct {
	fronttest.Numbers
	ready error
}

func newCounting() *counting {
	m := new(counting)
	m.Last.Store(1_000_000_000_000_000_000 - 1)
	return m
}

func (m *counting) Caps() kind.Caps { return kind.Caps{Ready: func() error { return m.ready }} }

// fixture is a front with one generator, "default".
type fixture struct {
	*Handler
	minter   *counting
	segments *atomic.Int64 // that were reserved
	lender   *fronttest.Lender
}

// quiet is a [page.Source] of one namespace, whose registers can't be read.
type quiet struct{}

func (quiet) State(context.Context) view.State {
	one := 1.5
	worker := view.Worker{Number: 5, State: "held", From: time.Unix(1, 0), Until: time.Unix(2, 0), Written: time.Unix(1, 0), Offset: &one}
	changes := []view.Change{{What: "free again", From: "pid 7 on host a"}}
	return view.State{
		Taken: time.Unix(1, 0), Daemon: view.Daemon{Started: time.Unix(1, 0)},
		Problems:   []view.Problem{{Severity: "soon", Since: time.Unix(1, 0)}},
		Generators: []view.Generator{{Name: "default", Offset: &one, Worker: &worker.Number, Counter: &view.Counter{}, Refused: []view.Refusal{{Problem: "standby", Count: "1"}}}},
		Namespaces: []view.Namespace{{Name: "main", Layout: snowfence.DefaultLayout().String(), Counts: map[string]int64{"held": 1}, Holders: []view.Worker{worker}, Rest: []view.Worker{worker}, Median: &one, Changes: changes, Flags: " --store mem:"}},
		Events:     []view.Event{{Number: 1, Level: "WARN", Fields: [][2]string{{"a", "b"}}}},
		Refusals:   []front.Refusal{{Type: front.RateLimited, Count: 1, Address: netip.AddrFrom4([4]byte{192, 0, 2, 1}), Token: "few"}, {Generator: "default"}},
	}
}

func (quiet) History() view.History {
	series := map[string][]*float64{"default": {nil}}
	return view.History{Times: []int64{1}, Rates: series, Refused: series, StoreMS: series, Errors: series}
}

func (quiet) Workers(_ context.Context, _, _ string, from, _ int64) ([]view.Worker, error) {
	if from == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return []view.Worker{{Number: from, State: "held"}}, nil
}

// newHandler returns a front with every route.
func newHandler(s *service.Service, change ...func(*Config)) *Handler {
	p, err := page.New(page.Config{Source: quiet{}, Clock: snowfence.SystemClock(), Guarded: s.Guarded(), Public: true})
	if err != nil {
		panic(err) // the tests of package page cover the templates
	}
	c := Config{Service: s, Limits: s.Limits(), Meter: metrics.NewFront("http", func() time.Duration { return 0 }), Page: p, Public: true, Admin: true}
	for _, f := range change {
		f(&c)
	}
	return New(c)
}

// newFixture returns a front whose generator serves already. A test may change
// the settings before.
func newFixture(t testing.TB, token string, change ...func(*config.Config)) fixture {
	t.Helper()
	f := fixture{minter: newCounting()}
	settings := fronttest.Settings(t, change...)
	s := fronttest.Service(t, service.Config{Settings: settings, Tokens: fronttest.Ring(t, token)}, map[string]kind.Minter{"default": f.minter})
	scrape := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
		_, _ = io.WriteString(w, "snowfence_ids_total 0\n")
	})
	f.Handler = newHandler(s, func(c *Config) { c.Metrics, c.AnyHost, c.Hosts = scrape, token != "", settings.Hosts })
	return f
}

// request makes a request to a loopback address, with headers "Name: value".
func request(method, target string, headers ...string) *http.Request {
	r := httptest.NewRequest(method, target, http.NoBody)
	r = r.WithContext(context.WithValue(r.Context(), linkKey{}, &link{remote: netip.AddrFrom4([4]byte{192, 0, 2, 1})}))
	r.Host = "127.0.0.1:7600"
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		if name == "Host" {
			r.Host = value
			continue
		}
		r.Header.Add(name, value)
	}
	return r
}

// do answers a request.
func (f fixture) do(r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	f.ServeHTTP(w, r)
	return w
}

// wantProblem checks that an answer is a problem of a type, in form too.
func wantProblem(t *testing.T, w *httptest.ResponseRecorder, status int, name string) problem {
	t.Helper()
	var p problem
	if got := w.Header().Get("Content-Type"); got != "application/problem+json" {
		t.Errorf("content type is %q, want that of a problem", got)
	}
	if err := json.Unmarshal(w.Body.Bytes(), &p); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	if w.Code != status || p.Status != status || p.Type != typePrefix+name {
		t.Errorf("answer is %d, problem %d %s; want %d %s", w.Code, p.Status, p.Type, status, typePrefix+name)
	}
	if p.Title == "" {
		t.Error("the problem has no title")
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control is %q, want no-store", got)
	}
	return p
}

func TestAnswerHasIDsAsStringsOrOneALine(t *testing.T) {
	const path = "/v1/generators/default/ids"
	for _, c := range []struct{ method, target, accept, kind, want string }{
		{"GET", path + "?count=3", typeJSON, typeJSON, `{"ids":["1000000000000000000","1000000000000000001","1000000000000000002"]}`},
		{"POST", path + "?count=2", typeJSON, typeJSON, `{"ids":["1000000000000000000","1000000000000000001"]}`},
		{"POST", path + "?count=2", typePlain, "text/plain; charset=utf-8", "1000000000000000000\n1000000000000000001"},
		{"GET", path, "*/*", typeJSON, `{"ids":["1000000000000000000"]}`},
	} {
		w := newFixture(t, "").do(request(c.method, c.target, "Accept: "+c.accept))
		if w.Code != http.StatusOK || w.Body.String() != c.want+"\n" || w.Header().Get("Content-Type") != c.kind || w.Header().Get("Cache-Control") != "no-store" {
			t.Errorf("%s %s: %d %v %q, want %q", c.method, c.target, w.Code, w.Header(), w.Body, c.want)
		}
	}
}

func TestLongAnswerIsWhole(t *testing.T) {
	f := newFixture(t, "")
	for _, form := range []string{typeJSON, typePlain} {
		w := f.do(request("POST", "/v1/generators/default/ids?count=10000", "Accept: "+form))
		var answer struct{ IDs []string }
		if form == typeJSON {
			if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil {
				t.Fatal(err)
			}
		} else {
			answer.IDs = strings.Fields(w.Body.String())
		}
		if len(answer.IDs) != 10_000 || !slices.IsSorted(answer.IDs) || len(slices.Compact(answer.IDs)) != 10_000 {
			t.Errorf("%s: %d ids, sorted %v", form, len(answer.IDs), slices.IsSorted(answer.IDs))
		}
	}
}

func TestHeadAnswersAsGetDoes(t *testing.T) {
	f := newFixture(t, "")
	for _, path := range []string{"/v1/generators", "/v1/decode/1", "/livez", "/readyz", "/openapi.yaml"} {
		get, head := f.do(request("GET", path)), f.do(request("HEAD", path))
		if head.Code != get.Code || head.Body.Len() != 0 || head.Header().Get("Content-Length") != strconv.Itoa(get.Body.Len()) {
			t.Errorf("%s: %d with %d bytes and Content-Length %s; GET has %d with %d bytes", path, head.Code, head.Body.Len(), head.Header().Get("Content-Length"), get.Code, get.Body.Len())
		}
	}
}

func TestAddressesAreExact(t *testing.T) {
	f := newFixture(t, "")
	for _, path := range []string{
		"/v1", "/v1/", "/ui", "/ui/", "/ui/nothing", "/ui/state/", "/v1/generators/", "/v1/generators/default", "/v1/generators/default/ids/", "/v1/generators//ids",
		"//v1/generators", "/v1/../v1/generators", "/V1/generators", "/v1/generators/a%2Fb/ids/x", "/v1/generators/a/reservations/1/confirm/x/y/z", "/v1/decode/", "/favicon.ico",
	} {
		wantProblem(t, f.do(request("GET", path)), http.StatusNotFound, "not-found")
	}
	wantProblem(t, f.do(request("GET", "/v1/decode/.5")), http.StatusBadRequest, "invalid-id")
	// A slash that is escaped belongs to the name.
	p := wantProblem(t, f.do(request("GET", "/v1/generators/a%2Fb/ids")), http.StatusNotFound, "unknown-generator")
	if p.Value != "a/b" {
		t.Errorf("the name is %q, want a/b", p.Value)
	}
}

func TestOtherMethodsAreToldWhatIsAllowed(t *testing.T) {
	f := newFixture(t, "")
	for _, c := range []struct{ method, path, allow string }{
		{"PUT", "/v1/generators/default/ids", "GET, POST, OPTIONS"},
		{"POST", "/v1/generators", "GET, HEAD, OPTIONS"},
		{"DELETE", "/v1/decode/1", "GET, HEAD, OPTIONS"},
		{"POST", "/readyz", "GET, HEAD, OPTIONS"},
		{"BREW", "/metrics", "GET, HEAD, OPTIONS"},
		{"PUT", "/v1/generators/default/reservations/1/void", "POST, OPTIONS"},
	} {
		w := f.do(request(c.method, c.path))
		wantProblem(t, w, http.StatusMethodNotAllowed, "method-not-allowed")
		if got := w.Header().Get("Allow"); got != c.allow {
			t.Errorf("%s %s: Allow is %q, want %q", c.method, c.path, got, c.allow)
		}
	}
}

func TestWhatTimeMayMendSaysWhenToComeBack(t *testing.T) {
	f := newFixture(t, "")
	for _, c := range []struct {
		err    error
		status int
		name   string
		retry  string
	}{
		{&snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: 2100 * time.Millisecond, Limit: time.Second}, 503, "saturated", "3"},
		{snowfence.ErrRevoked, 503, "lease-unavailable", "1"},
		{snowfence.ErrBeforeEpoch, 503, "clock-unsafe", "1"},
		{snowfence.ErrPastHorizon, 500, "horizon-passed", ""},
		{errors.New("disk on fire"), 500, "internal", ""},
	} {
		f.minter.Err = c.err
		w := f.do(request("POST", "/v1/generators/default/ids"))
		wantProblem(t, w, c.status, c.name)
		if got := w.Header().Get("Retry-After"); got != c.retry {
			t.Errorf("%v: Retry-After is %q, want %q", c.err, got, c.retry)
		}
	}
}

func TestReadinessShowsWhichGeneratorIsNot(t *testing.T) {
	f := newFixture(t, "")
	for path, part := range map[string]string{"/readyz": `"ready":true`, "/livez": "live"} {
		if w := f.do(request("GET", path)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
	f.minter.ready = fmt.Errorf("%w: soon over", kind.ErrUnavailable)
	w := f.do(request("GET", "/readyz"))
	p := wantProblem(t, w, http.StatusServiceUnavailable, "not-ready")
	if len(p.Generators) != 1 || p.Generators[0].Ready || p.Generators[0].Problem != typePrefix+"lease-unavailable" || w.Header().Get("Retry-After") != "1" {
		t.Errorf("not ready: %+v, Retry-After %q", p, w.Header().Get("Retry-After"))
	}
}

// TestStandbyIsReadyAndNotActive asks a server with one generator that stands by, and one that gives ids: by itself, and as
// a front for probes.
func TestStandbyIsReadyAndNotActive(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": {Namespace: "ids"}, "orders": fronttest.Standby(t)}
	})
	ask := func(path string, want int, parts ...string) *httptest.ResponseRecorder {
		t.Helper()
		w := f.do(request("GET", path))
		if w.Code != want || slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(w.Body.String(), part) }) {
			t.Errorf("%s: %d %s, want %d and %q", path, w.Code, w.Body, want, parts)
		}
		return w
	}
	ask("/readyz", 503, "not-ready") // whether anything is wrong is not known yet
	wantProblem(t, ask("/activez", 503), 503, "not-ready")
	f.Service.(*service.Service).StandBy("orders", true)
	stands := `"ready":false,"stands_by":true,"problem":"` + typePrefix + `standby"`
	ask("/readyz", 200, `"name":"orders"`, stands)
	ask("/readyz/orders", 200, stands)
	wantProblem(t, ask("/activez", 503, stands), 503, "standby")
	wantProblem(t, ask("/activez/orders", 503, stands), 503, "standby")
	ask("/activez/default", 200)
	wantProblem(t, f.do(request("GET", "/v1/generators/orders/ids")), 503, "standby")
	f.Public, f.Admin = false, false
	f.Handler = New(f.Config)
	ask("/readyz", 200, `{"generators":[]}`)
	wantProblem(t, ask("/activez", 503), 503, "standby")
	f.Service.(*service.Service).Leave()
	wantProblem(t, ask("/readyz", 503), 503, "not-ready")
	wantProblem(t, ask("/activez", 503), 503, "not-ready")
}

func TestReadinessOfOneGeneratorIsItsOwn(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": {}, "other": {}} // which is starting
	})
	for path, want := range map[string]int{"/readyz": 503, "/readyz/default": 200, "/readyz/other": 503, "/readyz/none": 404} {
		if w := f.do(request("GET", path)); w.Code != want || strings.Contains(w.Body.String(), `"other"`) != (want == 503) {
			t.Errorf("%s: %d %s, want %d", path, w.Code, w.Body, want)
		}
	}
}

func TestReadinessNamesGeneratorsOnlyToClientsThatMaySeeThem(t *testing.T) {
	const secret = "0123456789abcdef"
	open, guarded := newFixture(t, ""), newFixture(t, secret)
	for _, c := range []struct {
		front        fixture
		path, header string
		named        bool
	}{
		{guarded, "/readyz", "", false},
		{guarded, "/readyz", "Authorization: Bearer wrong", false},
		{guarded, "/readyz", "Authorization: Bearer " + secret, true},
		{open, "/readyz", "Host: localhost", true},
		{open, "/readyz", "Host: rebound.example", false},
		{open, "/readyz", "Sec-Fetch-Site: cross-site", false},
		{open, "/readyz/default", "Host: localhost", true},
		{open, "/readyz/default", "Host: rebound.example", false},
		{open, "/readyz/default", "Sec-Fetch-Site: cross-site", false},
	} {
		w := c.front.do(request("GET", c.path, c.header))
		if w.Code != http.StatusOK || strings.Contains(w.Body.String(), `"default"`) != c.named {
			t.Errorf("%s with %q: %d %s", c.path, c.header, w.Code, w.Body)
		}
	}
}

// TestNoNameCanBeGuessedByReadiness asks for a generator that serves, one that does not, and an unknown one.
func TestNoNameCanBeGuessedByReadiness(t *testing.T) {
	f := newFixture(t, "few "+token.HashOf("of-one-generator").String()+" generators=default\nall "+token.HashOf("of-all").String(), func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": {}, "other": {}} // which is starting
	})
	for header, want := range map[string][3]int{
		"":                                       {401, 401, 401},
		"Authorization: Bearer wrong":            {401, 401, 401},
		"Authorization: Bearer of-all":           {200, 503, 404},
		"Authorization: Bearer of-one-generator": {200, 403, 403},
	} {
		for i, name := range []string{"default", "other", "none"} {
			if w := f.do(request("GET", "/readyz/"+name, header)); w.Code != want[i] {
				t.Errorf("%s with %q: %d %s, want %d", name, header, w.Code, w.Body, want[i])
			}
		}
	}
}

func TestEndIsShownAndTakesNoReadinessAway(t *testing.T) {
	for preset, want := range map[string]string{
		"default": `"ends":"2095-09-07T15:47:35Z","ends_soon":false}`,
		"baidu":   `"ends":"2024-11-20T13:24:16Z","ends_soon":true}`,
	} {
		p, err := snowfence.PresetByName(preset)
		if err != nil {
			t.Fatal(err)
		}
		f := newFixture(t, "", func(c *config.Config) { c.Layout = p.Layout })
		for _, path := range []string{"/readyz", "/v1/generators"} {
			if w := f.do(request("GET", path)); w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"ready":true,`+want) {
				t.Errorf("%s of %s: %d %s, want %s", path, preset, w.Code, w.Body, want)
			}
		}
	}
}

func TestRequestAllocatesOnceAndNothingAnID(t *testing.T) {
	f := newFixture(t, "")
	allocations := func(query string, header ...string) float64 {
		r := request("POST", "/v1/generators/default/ids"+query, header...)
		w := &discard{header: http.Header{}}
		return testing.AllocsPerRun(50, func() { f.ServeHTTP(w, r) })
	}
	for _, header := range [][]string{nil, {"Accept: */*"}, {"Accept: " + typePlain}} {
		if got := allocations("", header...); got > 1 {
			t.Errorf("%q: %v allocations, want 1", header, got)
		}
	}
	if one, many := allocations("?count=1"), allocations("?count=1000"); many > one+1 {
		t.Errorf("%v allocations for 1000 ids, %v for one", many, one)
	}
}

// discard is an answer that drops its content.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(b []byte) (int, error) { return len(b), nil }
func (d *discard) WriteHeader(int)             {}

func BenchmarkHandler(b *testing.B) {
	f := newFixture(b, "")
	for _, form := range []string{typeJSON, typePlain} {
		for _, n := range []int{1, 100, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", form, n), func(b *testing.B) {
				r := request("POST", "/v1/generators/default/ids?count="+strconv.Itoa(n), "Accept: "+form)
				w := &discard{header: http.Header{}}
				b.ReportAllocs()
				for b.Loop() {
					f.ServeHTTP(w, r)
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(n), "ns/id")
			})
		}
	}
}
