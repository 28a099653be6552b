package httpfront

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/kind"
)

// table is a minter that has a row of leaf_alloc, and gives segments as tinyid does.
type table struct {
	counting
	segments atomic.Int64
}

func (*table) Status() counter.Status {
	return counter.Status{Held: []counter.Range{{First: 1, Increment: 1, Count: 9}}}
}
func (*table) Step() int64 { return 10 }
func (m *table) Segment(context.Context) (counter.Range, error) {
	m.segments.Add(1)
	return counter.Range{First: 1, Increment: 2, Count: 10}, m.err
}

func (m *table) Row(context.Context) (leafalloc.Row, error) {
	return leafalloc.Row{Tag: "users", MaxID: 11, Step: 10, Updated: "2026-11-23 05:00:00"}, m.err
}

// newTable returns a front with a generator "users" that counts in a table.
func newTable(t *testing.T, err error) fixture {
	t.Helper()
	c := config.Default()
	c.Store, c.Generators = "mem:", map[string]config.Generator{"users": {Kind: "segment"}}
	c, wrong := c.Complete("segment")
	if wrong != nil {
		t.Fatal(wrong)
	}
	s := service.New(service.Config{Settings: c})
	m := &table{counting: counting{err: err}}
	if err := s.Serve("users", m); err != nil {
		t.Fatal(err)
	}
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
			body := func(n int) *http.Request {
				r := request(method, c.target)
				r.Body = io.NopCloser(bytes.NewReader(bytes.Repeat([]byte("x"), n)))
				return r
			}
			add(c.path, c.front, request(method, c.target), 200)
			add(c.path, c.front, body(1), 400)
			add(c.path, c.front, body(config.Default().Limits.Body+1), 413)
			add(c.path, c.front, request(method, c.target, "Sec-Fetch-Site: cross-site"), 403)
			add(c.path, c.front, request(method, c.target, "Host: evil.example"), 421)
			if c.token {
				add(c.path, guarded, request(method, c.target), 401)
				add(c.path, newLimited(t, "Correct-horse-battery"), request(method, c.target), 429)
			} else {
				add(c.path, guarded, request(method, c.target), 200)
				add(c.path, failing, request(method, c.target), 200)
				add(c.path, newLimited(t, "Correct-horse-battery"), request(method, c.target), 429)
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

// TestNoMethodThatOnlyAsksUsesANumberUp asks every path that mints, with every method of a registry and one of none.
func TestNoMethodThatOnlyAsksUsesANumberUp(t *testing.T) {
	counts, open := newTable(t, nil), newFixture(t, "")
	for path, front := range map[string]fixture{
		"/v1/generators/users/ids": counts, "/api/segment/get/users": counts, "/api/snowflake/get/default": open,
		"/tinyid/id/nextId?bizType=users": counts, "/tinyid/id/nextIdSimple?bizType=users": counts,
		"/tinyid/id/nextSegmentId?bizType=users": counts, "/tinyid/id/nextSegmentIdSimple?bizType=users": counts,
	} {
		for method, status := range map[string]int{
			"HEAD": 200, "OPTIONS": 204, "TRACE": 405, "CONNECT": 405, "PROPFIND": 405, "SEARCH": 405, "REPORT": 405, "QUERY": 405, "BREW": 405, "get": 405,
		} {
			w := front.do(request(method, path))
			allow := w.Header().Get("Allow")
			if w.Code != status || status != 200 && !strings.Contains(allow, "GET, HEAD, POST") {
				t.Errorf("%s %s: %d, Allow %q, want %d", method, path, w.Code, allow, status)
			}
		}
	}
	if n := counts.minter.minted.Load() + counts.segments.Load() + open.minter.minted.Load(); n != 0 {
		t.Errorf("%d numbers and segments were used up", n)
	}
	for i, method := range []string{"GET", "POST", "PUT", "PATCH", "DELETE"} { // as Leaf and tinyid
		w := counts.do(request(method, "/api/segment/get/users"))
		if want := strconv.Itoa(1_000_000_000_000_000_000 + i); w.Code != 200 || w.Body.String() != want {
			t.Errorf("%s: %d %s, want %s", method, w.Code, w.Body, want)
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
	}{
		{server.URL + "/tinyid/id/nextIdSimple", "bizType=users&batchSize=3", 200, "1000000000000000000,1000000000000000001,1000000000000000002"},
		{server.URL + "/tinyid/id/nextIdSimple?bizType=users", "bizType=none&batchSize=2", 200, "1000000000000000003,1000000000000000004"}, // the query is first
		{server.URL + "/tinyid/id/nextSegmentIdSimple", "bizType=users", 200, "0,3,19,2,1"},
		{server.URL + "/api/segment/get/users", "any=thing", 200, "1000000000000000005"},
		{open.URL + "/decodeSnowflakeId", "snowflakeId=1169786042799259000", 200, `"sequenceId"`},
		{server.URL + "/tinyid/id/nextId", "bizType=%zz", 400, "unexpected-body"},
		{server.URL + "/tinyid/id/nextId", "bizType=users&x=" + strings.Repeat("x", config.Default().Limits.Body), 413, "body-too-large"},
		{server.URL + "/v1/generators/users/ids", "count=3", 400, "unexpected-body"},
	} {
		answer, err := http.Post(test.url, "application/x-www-form-urlencoded; charset=UTF-8", strings.NewReader(test.body))
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
