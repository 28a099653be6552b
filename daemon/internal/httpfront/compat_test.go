package httpfront

import (
	"cmp"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// table is a minter that has a row of leaf_alloc, and gives segments as tinyid does.
type table struct {
	counting
	segments atomic.Int64
}

func (m *table) Caps() kind.Caps {
	held := kind.Counter{Held: []kind.Range{{First: 1, Increment: 1, Count: 9}}}
	return kind.Caps{Counter: func() kind.Counter { return held }, Segments: m, Row: m.row}
}

func (*table) Step() int64 { return 10 }
func (m *table) Segment(context.Context) (kind.Range, error) {
	m.segments.Add(1)
	return kind.Range{First: 1, Increment: 2, Count: 10}, m.Err
}

func (m *table) row(context.Context) (kind.Row, error) {
	return kind.Row{Tag: "users", MaxID: 11, Step: 10, Updated: "2026-11-23 05:00:00"}, m.Err
}

// newTable returns a front with a generator "users" that counts in a table.
func newTable(t *testing.T, err error) fixture {
	t.Helper()
	c := fronttest.Settings(t, func(c *config.Config) { c.Generators = map[string]config.Generator{"users": {Kind: "segment"}} })
	m := new(table)
	m.Last.Store(1_000_000_000_000_000_000 - 1)
	m.Err = err
	s := fronttest.Service(t, service.Config{Settings: c}, map[string]kind.Minter{"users": m})
	return fixture{Handler: newHandler(s), minter: &m.counting, segments: &m.segments}
}

// addCompat adds the probes of Leaf's and tinyid's paths.
func addCompat(t *testing.T, add func(string, fixture, *http.Request, int), guarded, open, limited fixture) {
	t.Helper()
	counts, failing := newTable(t, nil), newTable(t, kind.ErrUnavailable)
	for _, c := range []struct {
		path, target string
		front        fixture
		post, token  bool
	}{
		{"/api/snowflake/get/{key}", "/api/snowflake/get/default", open, true, true},
		{"/api/segment/get/{key}", "/api/segment/get/users", counts, true, true},
		{"/decodeSnowflakeId", "/decodeSnowflakeId?snowflakeId=1169786042799259000", open, true, true},
		{"/decodeSnowflakeId", "/decodeSnowflakeId", open, true, true},
		{"/cache", "/cache", counts, false, true},
		{"/db", "/db", counts, false, true},
		{"/tinyid/id/nextId", "/tinyid/id/nextId?bizType=users&batchSize=3", counts, true, false},
		{"/tinyid/id/nextIdSimple", "/tinyid/id/nextIdSimple?bizType=users&batchSize=3", counts, true, false},
		{"/tinyid/id/nextSegmentId", "/tinyid/id/nextSegmentId?bizType=users", counts, true, false},
		{"/tinyid/id/nextSegmentIdSimple", "/tinyid/id/nextSegmentIdSimple?bizType=users", counts, true, false},
	} {
		methods := []string{http.MethodGet}
		if c.post {
			methods = append(methods, http.MethodPost)
		}
		for _, method := range methods {
			add(c.path, c.front, request(method, c.target), 200)
			add(c.path, c.front, withBody(request(method, c.target), "x"), 400)
			add(c.path, c.front, large(method, c.target), 413)
			add(c.path, c.front, request(method, c.target, "Sec-Fetch-Site: cross-site"), 403)
			add(c.path, c.front, request(method, c.target, "Host: evil.example"), 421)
			add(c.path, newLimited(t, "Correct-horse-battery"), request(method, c.target), 429)
			if c.token {
				add(c.path, guarded, request(method, c.target), 401)
			} else {
				add(c.path, guarded, request(method, c.target), 200)
				add(c.path, failing, request(method, c.target), 200)
			}
		}
	}
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		for _, path := range []string{"/api/snowflake/get/", "/api/segment/get/"} {
			add(path+"{key}", open, request(method, path+"none"), 500)
		}
		add("/api/segment/get/{key}", failing, request(method, "/api/segment/get/users"), 500)
	}
	add("/db", failing, request(http.MethodGet, "/db"), 503)
	add("/tinyid/id/nextId", limited, request(http.MethodGet, "/tinyid/id/nextId?bizType=default"), 429)
}

// TestNoMethodThatOnlyAsksUsesANumberUp asks every path that mints, with every method of a registry and
// an unregistered one.
func TestNoMethodThatOnlyAsksUsesANumberUp(t *testing.T) {
	counts, open := newTable(t, nil), newFixture(t, "")
	for path, front := range map[string]fixture{
		"/v1/generators/users/ids": counts, "/api/segment/get/users": counts, "/api/snowflake/get/default": open,
		"/tinyid/id/nextId?bizType=users": counts, "/tinyid/id/nextIdSimple?bizType=users": counts,
		"/tinyid/id/nextSegmentId?bizType=users": counts, "/tinyid/id/nextSegmentIdSimple?bizType=users": counts,
	} {
		for method, status := range map[string]int{
			"HEAD": 405, "OPTIONS": 204, "TRACE": 405, "CONNECT": 405, "PROPFIND": 405, "SEARCH": 405, "REPORT": 405, "QUERY": 405, "BREW": 405, "get": 405,
		} {
			w := front.do(request(method, path))
			allow := w.Header().Get("Allow")
			if w.Code != status || !strings.HasPrefix(allow, "GET, POST") {
				t.Errorf("%s %s: %d, Allow %q, want %d", method, path, w.Code, allow, status)
			}
		}
	}
	if n := counts.minter.Calls.Load() + counts.segments.Load() + open.minter.Calls.Load(); n != 0 {
		t.Errorf("numbers and segments were used up %d times", n)
	}
	for i, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} { // as Leaf and tinyid
		w := counts.do(request(method, "/api/segment/get/users"))
		if want := strconv.Itoa(1_000_000_000_000_000_000 + i); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", method, w.Code, w.Body, want)
		}
	}
}

// TestOtherSystemsPathsAreReadAsSpringReadsThem asks by paths that Spring Boot 1.5 takes for one
// another, and by the Accept headers of clients.
func TestOtherSystemsPathsAreReadAsSpringReadsThem(t *testing.T) {
	const leaf, tiny, jsonType, plain = "/api/segment/get/users", "/tinyid/id/nextIdSimple?bizType=users", "application/json;charset=UTF-8", "text/plain;charset=UTF-8"
	counts := newTable(t, nil)
	n := 0
	for _, test := range []struct{ method, target, accept, kind string }{
		{"GET", leaf, "", plain},
		{"GET", leaf, "*/*", plain},
		{"GET", leaf, "text/*", plain},
		{"GET", leaf, "application/json", jsonType},
		{"GET", leaf, "application/*", jsonType},
		{"GET", leaf, "application/json, application/*+json", jsonType}, // RestTemplate for a number
		{"GET", leaf, "text/plain, */*", plain},                         // RestTemplate for a text
		{"GET", leaf, "text/plain;q=0.5, Application/JSON;v=1", jsonType},
		{"GET", leaf, "*/*;q=0.1, application/json;q=0.5", jsonType},
		{"GET", leaf, "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2", "text/html;charset=UTF-8"}, // HttpURLConnection
		{"GET", leaf, "image/*", plain},
		{"GET", leaf, "no type;;, /, a/b/c", plain},
		{"GET", leaf + "/", "", plain},
		{"GET", leaf + ".json", "", jsonType},
		{"GET", leaf + ".json", "text/plain", jsonType},
		{"GET", leaf + ".txt", "", plain},
		{"GET", leaf + ";jsessionid=1", "", plain},
		{"GET", leaf + ".json;jsessionid=1/", "", jsonType},
		{"GET", "/api;v=1//segment;/get/users", "", plain},
		{"GET", "//api/segment/get/users", "", plain},
		{"POST", tiny, "application/json", jsonType},
		{"POST", "/tinyid/id/nextIdSimple.json?bizType=users", "", jsonType},
		{"POST", "/tinyid/id/nextIdSimple/?bizType=users", "", plain},
		{"POST", "/tinyid/id/nextIdSimple;jsessionid=1?bizType=users", "text/plain", plain},
	} {
		header := []string{"Accept: " + test.accept}
		if test.accept == "" {
			header = nil
		}
		w := counts.do(request(test.method, test.target, header...))
		want := strconv.Itoa(1_000_000_000_000_000_000 + n)
		if n++; w.Code != 200 || w.Body.String() != want || w.Header().Get("Content-Type") != test.kind {
			t.Errorf("%s, Accept %q: %d %s %s, want %s, %s", test.target, test.accept, w.Code, w.Header().Get("Content-Type"), w.Body, test.kind, want)
		}
	}
	for target, status := range map[string]int{
		"/tinyid/id/nextId.json?bizType=users": 200, "/decodeSnowflakeId/?snowflakeId=1": 200,
		"/api/segment/get/users%2F": 500, "/api/segment/get/users%3Bx": 500, // a part of the name
		"/tinyid/id/nextIdx?bizType=users": 404, "/tinyid/id/.json?bizType=users": 404, "/v1/generators/": 404, "/v1/generators.json": 404,
		"/v1/generators;jsessionid=1": 404, "//v1/generators": 404, "/livez/": 404, "/cache/": 404, "/cache.json": 404, "/db;jsessionid=1": 404, "//db": 404,
	} {
		if w := counts.do(request("GET", target)); w.Code != status {
			t.Errorf("%s: %d %s, want %d", target, w.Code, w.Body, status)
		}
	}
}

func TestOtherSystemsPathsTakeAForm(t *testing.T) {
	server := httptest.NewServer(newTable(t, nil))
	t.Cleanup(server.Close)
	open := httptest.NewServer(newFixture(t, ""))
	t.Cleanup(open.Close)
	for _, test := range []struct {
		url, body string
		status    int
		want      string
		method    string // POST if empty
	}{
		{server.URL + "/tinyid/id/nextIdSimple", "bizType=users&batchSize=3", 200, "1000000000000000000,1000000000000000001,1000000000000000002", ""},
		{server.URL + "/tinyid/id/nextIdSimple?bizType=users", "bizType=none&batchSize=2", 200, "1000000000000000003,1000000000000000004", ""}, // the query is first
		{server.URL + "/tinyid/id/nextSegmentIdSimple", "bizType=users", 200, "0,3,19,2,1", ""},
		{server.URL + "/api/segment/get/users", "any=thing", 200, "1000000000000000005", ""},
		{open.URL + "/decodeSnowflakeId", "snowflakeId=1169786042799259000", 200, `"sequenceId"`, ""},
		{server.URL + "/tinyid/id/nextId", "bizType=%zz", 400, "unexpected-body", ""},
		{server.URL + "/tinyid/id/nextId", "bizType=users&x=" + strings.Repeat("x", config.Default().Limits.Body), 413, "body-too-large", ""},
		{server.URL + "/v1/generators/users/ids", "count=3", 400, "unexpected-body", ""},
		{server.URL + "/tinyid/id/nextIdSimple", "bizType=users", 200, "1000000000000000006", http.MethodPut}, // Spring Boot reads it there, too
		{server.URL + "/tinyid/id/nextIdSimple", "bizType=users", 200, "1000000000000000007", http.MethodPatch},
		{server.URL + "/tinyid/id/nextIdSimple?bizType=users", "batchSize=2", 400, "unexpected-body", http.MethodDelete},
	} {
		r, err := http.NewRequestWithContext(t.Context(), cmp.Or(test.method, http.MethodPost), test.url, strings.NewReader(test.body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded; charset=UTF-8")
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != test.status || !strings.Contains(string(got), test.want) {
			t.Errorf("%s, %.40s: %d %s, %v, want %d %s", test.url, test.body, answer.StatusCode, got, err, test.status, test.want)
		}
	}
}
