package page_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/httpfront"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

const secret = "Correct-horse-battery"

// began is when the tests' clock starts.
func began() time.Time { return time.Date(2026, time.June, 1, 12, 0, 0, 0, time.UTC) }

// hand is a clock that tests set.
type hand struct {
	snowfence.Clock
	passed atomic.Int64
}

func (c *hand) Monotonic() time.Duration { return time.Duration(c.passed.Load()) }
func (c *hand) Wall() time.Time          { return began().Add(c.Monotonic()) }

// source is a [page.Source] that counts how often it is asked. A test may change it between requests.
type source struct {
	clock  *hand
	state  view.State
	asked  int
	failed error
}

func (s *source) State(context.Context) view.State {
	s.asked++
	s.state.Taken = s.clock.Wall()
	return s.state
}

func (s *source) History() view.History {
	one := 1.5
	return view.History{Times: []int64{1, 11}, Rates: map[string][]*float64{"default": {nil, &one}}}
}

func (s *source) Workers(_ context.Context, _, _ string, from, to int64) ([]view.Worker, error) {
	var found []view.Worker
	for _, n := range s.state.Namespaces {
		for _, w := range n.Holders {
			if from <= w.Number && w.Number <= to {
				found = append(found, w)
			}
		}
	}
	return found, s.failed
}

// fixture is a front with the page, at an address.
type fixture struct {
	*source
	url  string
	http *http.Client
}

// dashed shows the ids of generator "default" with a dash before them.
type dashed struct{ fronttest.Texts }

func (d dashed) Caps() kind.Caps              { return kind.Caps{Shows: d} }
func (dashed) Of() string                     { return "default" }
func (dashed) Show(id string) (string, error) { return "-" + id, nil }
func (dashed) Read(text string) (string, error) {
	if id, ok := strings.CutPrefix(text, "-"); ok {
		return id, nil
	}
	return "", &snowfence.IDError{Form: "dashed", Text: text, Reason: "has no dash"}
}

// newHandler returns a front with the page of a source. Its tokens are in a file.
func newHandler(t *testing.T, tokens string, change ...func(*httpfront.Config)) (http.Handler, *source) {
	t.Helper()
	layout := snowfence.DefaultLayout().String()
	clock := &hand{Clock: snowfence.SystemClock()}
	offset := 1.25
	s := &source{clock: clock, state: view.State{
		Daemon: view.Daemon{Host: "host-a", PID: 7, Version: "v1"},
		Generators: []view.Generator{
			{Name: "default", Kind: "snowflake", Namespace: "main", Layout: layout, IDs: "9007199254740993", Offset: &offset},
			{Name: "public", Kind: "opaque"}, {Name: "users", Kind: "segment"},
		},
		Namespaces: []view.Namespace{{Name: "main", Layout: layout, Holders: []view.Worker{
			{Number: 5, State: "held", Host: "host-b", PID: 12, Term: 3, From: began().Add(-time.Minute), Until: began().Add(time.Minute)}, {Number: 6},
		}}},
	}}
	settings := fronttest.Settings(t, func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": {}, "users": {Kind: "segment"}, "public": {Kind: "opaque"}}
	})
	served := fronttest.Service(t, service.Config{Settings: settings, Tokens: fronttest.Ring(t, tokens), Formats: builtin.Formats()},
		map[string]kind.Minter{"default": new(fronttest.Numbers), "users": new(fronttest.Numbers), "public": dashed{}})
	p, err := page.New(page.Config{Source: s, Clock: clock, Guarded: tokens != "", Public: true})
	if err != nil {
		t.Fatal(err)
	}
	c := httpfront.Config{
		Service: served, Limits: served.Limits(), Meter: metrics.NewFront("http", clock.Monotonic), Metrics: http.NotFoundHandler(), Page: p,
		Public: true, Admin: true, AnyHost: tokens != "",
	}
	for _, f := range change {
		f(&c)
	}
	return httpfront.New(c), s
}

// serve serves the page. The client ignores redirects and cookies.
func serve(t *testing.T, tokens string, change ...func(*httpfront.Config)) fixture {
	t.Helper()
	handler, s := newHandler(t, tokens, change...)
	server := httpfront.NewServer(handler, fronttest.Limits(t), slog.New(slog.DiscardHandler))
	address := fronttest.Serve(t, server, nil)
	client := &http.Client{Transport: &http.Transport{}, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	t.Cleanup(client.CloseIdleConnections)
	return fixture{s, "http://" + address, client}
}

// reply is an answer without its body.
type reply struct {
	Code    int
	Header  http.Header
	Cookies []*http.Cookie
	Close   bool
	Length  int64
}

// ask sends a request, "GET /path" or "POST /path body", with headers "Name: value". It returns the answer with its body.
func (f fixture) ask(t *testing.T, what string, headers ...string) (reply, string) {
	t.Helper()
	method, target, _ := strings.Cut(what, " ")
	target, body, posted := strings.Cut(target, " ")
	r, err := http.NewRequestWithContext(t.Context(), method, f.url+target, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if posted {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for _, h := range headers {
		switch name, value, _ := strings.Cut(h, ": "); name {
		case "":
		case "Host":
			r.Host = value
		default:
			r.Header.Set(name, value)
		}
	}
	answer, err := f.http.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(answer.Body)
	if err = errors.Join(err, answer.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return reply{answer.StatusCode, answer.Header, answer.Cookies(), answer.Close, answer.ContentLength}, string(got)
}

// sign shows a token, and returns the header with the cookie.
func (f fixture) sign(t *testing.T, text string) string {
	t.Helper()
	answer, body := f.ask(t, "POST /ui/token token="+url.QueryEscape(text), "Sec-Fetch-Site: same-origin")
	if answer.Code != http.StatusSeeOther || len(answer.Cookies) != 1 {
		t.Fatalf("%d %s", answer.Code, body)
	}
	return "Cookie: " + answer.Cookies[0].Name + "=" + answer.Cookies[0].Value
}

func TestPageShowsTheNumbersOfItsSource(t *testing.T) {
	f := serve(t, "")
	for path, want := range map[string]struct{ kind, part string }{
		"/":           {"text/html; charset=utf-8", "9,007,199,254,740,993"},
		"/ui/state":   {"application/json", `"ids":"9007199254740993"`},
		"/ui/history": {"application/json", `"rates":{"default":[null,1.5]}`},
		"/ui/workers?store=&namespace=main&from=0&to=256": {"application/json", `{"workers":[{"worker":5,`},
		"/ui/decode?id=7": {"application/json", `"id":"7"`},
		"/ui/plan":        {"application/json", `"layout":"ms41-worker10-seq12@2026-01-01T00:00:00Z"`},
		"/ui/runbook":     {"text/html; charset=utf-8", "<html"},
	} {
		answer, body := f.ask(t, "GET "+path)
		if answer.Code != 200 || answer.Header.Get("Content-Type") != want.kind || !strings.Contains(body, want.part) {
			t.Errorf("%s: %d %s %s", path, answer.Code, answer.Header.Get("Content-Type"), body)
		}
		head, none := f.ask(t, "HEAD "+path)
		if head.Code != 200 || none != "" || head.Length != answer.Length {
			t.Errorf("HEAD %s: %d with %d bytes of %d, GET has %d", path, head.Code, len(none), head.Length, answer.Length)
		}
	}
}

func TestPageListsRefusalsAndChangesOfHandsWithoutAScript(t *testing.T) {
	f := serve(t, "")
	if _, body := f.ask(t, "GET /"); strings.Count(body, "<tbody></tbody>") < 2 { // a rule of the style shows that there are none yet
		t.Errorf("without refusals and changes: %s", body)
	}
	f.clock.passed.Add(int64(2 * time.Second))
	f.state.Refusals = []front.Refusal{
		{Generator: "users", Type: front.RateLimited, Count: 1234, Last: began(), Address: netip.MustParseAddr("192.0.2.7"), Token: "shop"},
		{Type: front.InvalidToken, Count: 1, Last: began()},
	}
	f.state.Namespaces[0].Changes = []view.Change{{Worker: 5, Seen: began(), What: "claimed", From: "pid 7 on host a", To: "pid 8 on host <b>"}}
	_, body := f.ask(t, "GET /")
	for _, row := range []string{
		`<th scope="row">users</th><td><a href="/ui/runbook#rate-limited">rate-limited</a></td><td class="n">1,234</td><td class="num">2026-06-01 12:00:00</td><td>192.0.2.7</td><td>shop</td>`,
		`<th scope="row">–</th><td><a href="/ui/runbook#invalid-token">invalid-token</a></td><td class="n">1</td><td class="num">2026-06-01 12:00:00</td><td></td><td></td>`,
		`<th scope="row">main</th><td class="n">5</td><td class="num">2026-06-01 12:00:00</td><td>claimed</td><td>pid 7 on host a</td><td>pid 8 on host &lt;b&gt;</td>`,
	} {
		if !strings.Contains(body, row) {
			t.Errorf("the page lacks %s: %s", row, body)
		}
	}
}

func TestEveryAnswerOfThePageIsHardened(t *testing.T) {
	open, guarded := serve(t, ""), serve(t, secret)
	const tagged = "If-None-Match: *"
	for _, x := range []struct {
		from    fixture
		what    string
		headers []string
		status  int
		keep    string
	}{
		{open, "GET /", nil, 200, "no-store"},
		{open, "GET /ui/state", nil, 200, "no-store"},
		{open, "GET /ui/state", []string{tagged}, 304, "no-store"},
		{open, "GET /ui/runbook", nil, 200, "no-cache"},
		{open, "GET /ui/runbook", []string{tagged}, 304, "no-cache"},
		{open, "GET /ui/state?x=1", nil, 400, "no-store"},
		{open, "GET /ui/plan?years=x", nil, 400, "no-store"},
		{guarded, "GET /", nil, 401, "no-store"},
		{guarded, "GET /ui/state", nil, 401, "no-store"},
		{guarded, "POST /ui/token token=wrong", nil, 401, "no-store"},
		{guarded, "POST /ui/token token=" + secret, nil, 303, "no-store"},
		{open, "GET /", []string{"Sec-Fetch-Site: cross-site"}, 403, "no-store"},
		{open, "GET /ui/index.html", nil, 404, "no-store"},
		{open, "GET /ui/../page.go", nil, 404, "no-store"},
		{open, "POST /ui/state", nil, 405, "no-store"},
		{open, "GET /", []string{"Host: rebound.example"}, 421, "no-store"},
	} {
		answer, body := x.from.ask(t, x.what, x.headers...)
		if answer.Code != x.status {
			t.Errorf("%s %q: %d %s, want %d", x.what, x.headers, answer.Code, body, x.status)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
			"X-Frame-Options":         "DENY", "X-Content-Type-Options": "nosniff", "Cross-Origin-Opener-Policy": "same-origin", "Cache-Control": x.keep,
		} {
			if got := answer.Header.Get(name); got != want {
				t.Errorf("%s %q: %s is %q, want %q", x.what, x.headers, name, got, want)
			}
		}
		if got := answer.Header.Get("Referrer-Policy"); got != "no-referrer" && got != "same-origin" {
			t.Errorf("%s: Referrer-Policy is %q", x.what, got)
		}
	}
}

func TestStateIsSentAgainOnlyWhenMoreThanItsTimeChanged(t *testing.T) {
	f := serve(t, "")
	first, _ := f.ask(t, "GET /ui/state")
	known := "If-None-Match: " + first.Header.Get("ETag")
	f.clock.passed.Add(int64(time.Second))
	if again, body := f.ask(t, "GET /ui/state", known); again.Code != http.StatusNotModified || body != "" {
		t.Errorf("nothing changed: %d %s", again.Code, body)
	}
	f.state.Generators[0].IDs = "9007199254740994"
	f.clock.passed.Add(int64(time.Second))
	if again, body := f.ask(t, "GET /ui/state", known); again.Code != 200 || !strings.Contains(body, "9007199254740994") {
		t.Errorf("an id was minted: %d %s", again.Code, body)
	}
}

func TestReadersOfOneSecondShareAState(t *testing.T) {
	f := serve(t, "")
	for _, want := range []int{1, 2} {
		for range 5 {
			f.ask(t, "GET /ui/state")
			f.ask(t, "GET /")
		}
		if f.asked != want {
			t.Errorf("the source was asked %d times, want %d", f.asked, want)
		}
		f.clock.passed.Add(int64(time.Second))
	}
}

func TestReaderWithoutATokenGetsTheFormAndNoData(t *testing.T) {
	f := serve(t, "all "+token.HashOf(secret).String()+"\nsome "+token.HashOf("for-one-generator").String()+" generators=default")
	for _, x := range []struct {
		shown  string
		status int
		reason string
	}{
		{"", 401, ""},
		{"Authorization: Bearer wrong", 401, "the token is not known"},
		{"Cookie: snowfence=d3Jvbmc", 401, "the token is not known"},
		{"Cookie: snowfence=!", 401, ""},
		{"Authorization: Bearer for-one-generator", 403, "must allow all"},
	} {
		answer, body := f.ask(t, "GET /?id=7", x.shown)
		if answer.Code != x.status || !strings.Contains(body, `action="/ui/token"`) || !strings.Contains(body, x.reason) || strings.Contains(body, "host-") {
			t.Errorf("%q: %d %s", x.shown, answer.Code, body)
		}
		for _, path := range []string{"/ui/state", "/ui/history", "/ui/workers", "/ui/decode?id=7", "/ui/plan"} {
			answer, body := f.ask(t, "GET "+path, x.shown)
			if answer.Code != x.status || answer.Header.Get("Content-Type") != "application/problem+json" || strings.Contains(body, "host-") {
				t.Errorf("%s with %q: %d %s", path, x.shown, answer.Code, body)
			}
		}
		if answer, _ := f.ask(t, "GET /ui/runbook", x.shown); answer.Code != 200 {
			t.Errorf("the runbook with %q: %d", x.shown, answer.Code)
		}
	}
	if answer, body := f.ask(t, "GET /", "Authorization: Bearer "+secret); answer.Code != 200 || !strings.Contains(body, "host-a") {
		t.Errorf("with a token: %d", answer.Code)
	}
}

func TestTokenIsKeptWhereNoScriptAndNoOtherSiteCanUseIt(t *testing.T) {
	handler, _ := newHandler(t, secret)
	plain, secure := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secure.Close()
	for server, want := range map[*httptest.Server]http.Cookie{
		plain: {Name: "snowfence"}, secure: {Name: "__Host-snowfence", Secure: true},
	} {
		f := fixture{url: server.URL, http: server.Client()}
		f.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		answer, _ := f.ask(t, "POST /ui/token token="+secret)
		if answer.Code != http.StatusSeeOther || answer.Header.Get("Location") != "/" || len(answer.Cookies) != 1 {
			t.Fatalf("%d %v", answer.Code, answer.Header)
		}
		c := answer.Cookies[0]
		if c.Name != want.Name || c.Secure != want.Secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 0 {
			t.Errorf("the cookie is %s", c)
		}
		kept := "Cookie: " + c.Name + "=" + c.Value
		if answer, body := f.ask(t, "GET /", kept); answer.Code != 200 || !strings.Contains(body, `action="/ui/token"`) {
			t.Errorf("%s: %d", c.Name, answer.Code)
		}
		if answer, _ := f.ask(t, "POST /ui/token token=", kept); answer.Code != http.StatusSeeOther || answer.Cookies[0].MaxAge >= 0 {
			t.Errorf("an empty token: %d %v", answer.Code, answer.Cookies)
		}
	}
}

func TestCookieCountsOnTheRoutesOfThePageAlone(t *testing.T) {
	f := serve(t, secret)
	kept := f.sign(t, secret)
	for what, want := range map[string]int{
		"GET /": 200, "GET /ui/state": 200, "GET /ui/history": 200, "GET /v1/decode/7": 200, "POST /v1/generators/default/ids": 200,
		"GET /v1/generators": 401, "GET /metrics": 401, "GET /cache": 401, "POST /v1/generators/default/leases": 401, "GET /api/segment/get/users": 401,
		"POST /v1/generators/default/reservations": 401,
	} {
		if answer, body := f.ask(t, what, kept, "Sec-Fetch-Site: same-origin"); answer.Code != want {
			t.Errorf("%s: %d %s, want %d", what, answer.Code, body, want)
		}
	}
	for _, path := range []string{"/", "/ui/state", "/v1/decode/7"} {
		if answer, _ := f.ask(t, "GET "+path, kept, "Authorization: Bearer wrong"); answer.Code != 401 {
			t.Errorf("%s: %d beside a wrong header, which counts alone", path, answer.Code)
		}
	}
}

func TestCookieMintsForThePageAlone(t *testing.T) {
	f := serve(t, secret)
	kept, origin := f.sign(t, secret), "Origin: "+f.url
	for _, x := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Sec-Fetch-Site: same-origin"}, 200},
		{[]string{"Sec-Fetch-Site: same-origin", origin}, 200},
		{[]string{origin}, 200},
		{nil, 403},
		{[]string{"Sec-Fetch-Site: none"}, 403}, // a link that a person was led to open
		{[]string{"Sec-Fetch-Site: same-site"}, 403},
		{[]string{"Sec-Fetch-Site: same-site", origin}, 403},
		{[]string{"Sec-Fetch-Site: cross-site"}, 403},
		{[]string{"Origin: null"}, 403},
		{[]string{"Origin: http://127.0.0.1:1"}, 403},
	} {
		for _, method := range []string{"GET", "POST"} {
			if answer, body := f.ask(t, method+" /v1/generators/default/ids", append(x.headers, kept)...); answer.Code != x.status {
				t.Errorf("%s with %q: %d %s, want %d", method, x.headers, answer.Code, body, x.status)
			}
		}
	}
	if answer, _ := f.ask(t, "POST /v1/generators/default/ids", "Authorization: Bearer "+secret); answer.Code != 200 {
		t.Errorf("a program with a token: %d", answer.Code)
	}
}

func TestWrongTokenOfTheFormOrACookieIsAGuess(t *testing.T) {
	for name, what := range map[string][]string{
		"form": {"POST /ui/token token=wrong"}, "cookie": {"GET /ui/state", "Cookie: snowfence=d3Jvbmc"}, "cookie that mints": {"POST /v1/generators/default/ids", "Cookie: snowfence=d3Jvbmc", "Sec-Fetch-Site: same-origin"},
	} {
		f := serve(t, secret)
		for i := range 6 {
			answer, _ := f.ask(t, what[0], what[1:]...)
			if answer.Code != 401 || answer.Close != (i == 5) {
				t.Errorf("%s, guess %d: %d, and the connection ends: %v", name, i, answer.Code, answer.Close)
			}
		}
	}
}

func TestWithdrawnTokenShowsTheFormAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(path, []byte("a "+token.HashOf(secret).String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ring, err := token.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	f := serve(t, secret, func(c *httpfront.Config) {
		c.Service = service.New(service.Config{Settings: fronttest.Settings(t), Tokens: ring})
	})
	kept := f.sign(t, secret)
	if answer, _ := f.ask(t, "GET /ui/state", kept); answer.Code != 200 {
		t.Fatal(answer.Code)
	}
	if err := os.WriteFile(path, []byte("another "+token.HashOf("another").String()+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if !ring.Again(slog.New(slog.DiscardHandler)) {
		t.Fatal("the tokens did not change")
	}
	for _, path := range []string{"/", "/ui/state"} {
		answer, body := f.ask(t, "GET "+path, kept)
		if answer.Code != 401 || strings.Contains(body, "host-a") || len(answer.Cookies) != 1 || answer.Cookies[0].MaxAge >= 0 {
			t.Errorf("%s: %d %v", path, answer.Code, answer.Cookies)
		}
	}
}

func TestLinkOfAnotherSiteOpensThePageAlone(t *testing.T) {
	f := serve(t, "")
	link := []string{"Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate", "Sec-Fetch-Dest: document"}
	for what, want := range map[string]int{
		"GET /": 200, "GET /ui/runbook": 200, "POST /ui/token token=x": 403, "GET /v1/generators/default/ids": 403, "GET /metrics": 403,
	} {
		if answer, _ := f.ask(t, what, link...); answer.Code != want {
			t.Errorf("%s: %d, want %d", what, answer.Code, want)
		}
	}
	for _, other := range [][]string{
		{link[0], link[1], "Sec-Fetch-Dest: iframe"}, {link[0], "Sec-Fetch-Mode: cors", link[2]}, append([]string{"Host: rebound.example"}, link...),
	} {
		if answer, _ := f.ask(t, "GET /", other...); answer.Code == 200 {
			t.Errorf("%q: answered", other)
		}
	}
}

// plant puts a text into every string of a value.
func plant(v reflect.Value, text string) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		plant(v.Elem(), text)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() && v.Type() != reflect.TypeFor[time.Time]() {
				plant(v.Field(i), text)
			}
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		plant(v.Index(0), text)
	case reflect.Array:
		for i := range v.Len() {
			plant(v.Index(i), text)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		plant(key, text)
		plant(value, text)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

func TestScriptsInNamesAreText(t *testing.T) {
	const script = `"'><script>alert(1)</script><img src=x onerror=alert(2)>`
	f := serve(t, "")
	plant(reflect.ValueOf(&f.state).Elem(), script)
	q := url.QueryEscape(script)
	answer, body := f.ask(t, "GET /?id="+q+"&generator="+q+"&years="+q+"&workers="+q+"&rate="+q)
	if answer.Code != 200 || !strings.Contains(body, "&lt;script&gt;") {
		t.Fatalf("%d %s", answer.Code, body)
	}
	if strings.Contains(body, "<script>alert") || strings.Contains(body, "<img src=x") {
		t.Errorf("a script came through: %s", body)
	}
	if _, body := f.ask(t, "GET /ui/state"); strings.Contains(body, "<") {
		t.Errorf("JSON has a tag: %s", body)
	}
	if _, body := serve(t, secret).ask(t, "POST /ui/token token="+q); strings.Contains(body, "<script>alert") {
		t.Errorf("the form has the token: %s", body)
	}
}

// TestDocumentsHaveNothingInLine reads the documents as they are in the folder: the policy would stop such a thing without a word.
func TestDocumentsHaveNothingInLine(t *testing.T) {
	documents, err := filepath.Glob("assets/*.html")
	if err != nil || len(documents) < 3 {
		t.Fatal(documents, err)
	}
	for _, name := range documents {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for what, pattern := range map[string]string{
			"a script in line": `(?i)<script(?:\s+(?:type|defer|async)[^\s>]*)*\s*>`, "a style in line": `(?i)<style|\sstyle\s*=`, "a handler in line": `(?i)\son[a-z]+\s*=\s*["']`,
			"a thing of another host": `(?i)(?:src|action|<link[^>]*href)\s*=\s*["']?(?:https?:)?//`,
		} {
			if found := regexp.MustCompile(pattern).Find(text); found != nil {
				t.Errorf("%s has %s: %s", name, what, found)
			}
		}
	}
}

func TestEveryFileIsServedAsItsType(t *testing.T) {
	f := serve(t, secret)
	types := map[string]string{
		".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", "": "text/plain; charset=utf-8",
	}
	err := filepath.WalkDir("assets", func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		want, err := os.ReadFile(name)
		answer, body := f.ask(t, "GET /ui/"+strings.TrimPrefix(filepath.ToSlash(name), "assets/"))
		switch template := name == filepath.FromSlash("assets/index.html") || name == filepath.FromSlash("assets/login.html"); {
		case template && answer.Code != 404:
			t.Errorf("%s, a template: %d", name, answer.Code)
		case !template && (answer.Code != 200 || body != string(want) || answer.Header.Get("Content-Type") != types[filepath.Ext(name)]):
			t.Errorf("%s: %d %s", name, answer.Code, answer.Header.Get("Content-Type"))
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestLibrariesAreWhatTheirVERSIONSays compares the files of others with the sums that stand beside them.
func TestLibrariesAreWhatTheirVERSIONSays(t *testing.T) {
	versions, err := filepath.Glob("assets/*/VERSION")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range versions {
		text, err := os.ReadFile(version)
		if err != nil {
			t.Fatal(err)
		}
		files, err := os.ReadDir(filepath.Dir(version))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(filepath.Dir(version), file.Name()))
			if err != nil {
				t.Fatal(err)
			}
			if file.Name() != "VERSION" && !strings.Contains(string(text), fmt.Sprintf("%x  %s\n", sha256.Sum256(content), file.Name())) {
				t.Errorf("%s has another sum of %s", version, file.Name())
			}
		}
	}
}

func TestWorkersAreAskedForInRanges(t *testing.T) {
	f := serve(t, "")
	for query, want := range map[string]int{
		"store=&namespace=main&from=0&to=256": 200, "namespace=main&from=5&to=6": 200,
		"namespace=main&from=0&to=257": 400, "namespace=main&from=5&to=5": 400, "namespace=main&from=-1&to=5": 400, "namespace=main&from=x&to=5": 400,
		"namespace=main": 400, "namespace=main&from=0&to=1&more=1": 400,
		"namespace=other&from=0&to=1": 404, "store=x&namespace=main&from=0&to=1": 404,
	} {
		if answer, body := f.ask(t, "GET /ui/workers?"+query); answer.Code != want {
			t.Errorf("%s: %d %s, want %d", query, answer.Code, body, want)
		}
	}
	f.failed = errors.New("away")
	if answer, body := f.ask(t, "GET /ui/workers?namespace=main&from=0&to=1"); answer.Code != 503 || !strings.Contains(body, "store-unavailable") {
		t.Errorf("a store that is away: %d %s", answer.Code, body)
	}
}

// decoded asks for an id.
func (f fixture) decoded(t *testing.T, id, generator string) (d page.Decoded, status int) {
	t.Helper()
	answer, body := f.ask(t, "GET /ui/decode?"+url.Values{"id": {id}, "generator": {generator}}.Encode())
	if answer.Code == 200 {
		if err := json.Unmarshal([]byte(body), &d); err != nil {
			t.Fatal(err)
		}
	}
	return d, answer.Code
}

// minted is an id of a worker id under the default layout.
func minted(t *testing.T, at time.Time, worker int64) snowfence.ID {
	t.Helper()
	l := snowfence.DefaultLayout()
	id, err := l.Compose(snowfence.Parts{Tick: snowfence.Tick(at.Sub(l.Epoch) / l.Unit), Worker: worker, Sequence: 9})
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func TestAnyIDIsDecodedToItsBits(t *testing.T) {
	f := serve(t, "")
	id := minted(t, began(), 5)
	for _, x := range []struct {
		text, generator string
		want            string // id, format, generator, time, worker, bits, fields
	}{
		{id.String(), "", id.String() + " id  2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{" " + id.String() + " ", "default", id.String() + " id default 2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{"0x" + id.Hex(), "", id.String() + " id  2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{id.Base62(), "", id.String() + " id  2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{"-" + id.String(), "", id.String() + " id default 2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{"-" + id.String(), "public", id.String() + " id default 2026-06-01T12:00:00.000Z 5 64 unused=0 time=13089600000 worker=5 sequence=9"},
		{"9007199254740993", "users", "9007199254740993 number users  none 64 unused=0 number=9007199254740993"},
		{"507f1f77bcf86cd799439011", "", "507f1f77bcf86cd799439011 objectid  2012-10-17T21:13:27Z none 96 time=1350508407 process=bcf86cd799 counter=4427793"},
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "", "01ARZ3NDEKTSV4RRFFQ69G5FAV ulid  2016-07-30T23:54:10.259Z none 128 time=1469922850259 random=d6764c61efb99302bd5b"},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f uuid  2022-02-22T19:22:22.000Z none 128 time=1645557742000 version=7 random=cc3 variant=2 random=18c4dc0c0c07398f"},
	} {
		d, status := f.decoded(t, x.text, x.generator)
		worker := "none"
		if d.WorkerID != nil {
			worker = fmt.Sprint(*d.WorkerID)
		}
		got := []string{d.ID, d.Format, d.Generator, d.Time, worker, fmt.Sprint(d.Bits())}
		for _, s := range d.Fields {
			got = append(got, fmt.Sprintf("%s=%v", s.Name, s.Value))
		}
		if strings.Join(got, " ") != x.want {
			t.Errorf("%q of %q: %d\n%s, want\n%s", x.text, x.generator, status, strings.Join(got, " "), x.want)
		}
	}
	for text, want := range map[string]int{"": 400, "x": 400, "507f1f77bcf86cd79943901x": 400} {
		if _, status := f.decoded(t, text, ""); status != want {
			t.Errorf("%q: %d, want %d", text, status, want)
		}
	}
	if _, status := f.decoded(t, "7", "none"); status != 404 {
		t.Errorf("an unknown generator: %d", status)
	}
}

func TestIDIsOfTheHolderWhoseTermHasItsTick(t *testing.T) {
	f := serve(t, "")
	for _, x := range []struct {
		at     time.Duration
		worker int64
		covers bool
		text   string
	}{
		{0, 5, true, "Term 3 of worker id 5 has this tick: host host-b, process 12."},
		{-time.Minute, 5, true, "Term 3"},
		{-time.Minute - time.Millisecond, 5, false, "An earlier term of worker id 5"},
		{time.Minute, 5, false, "No term of worker id 5 has this tick yet"},
		{0, 6, false, "Worker id 6 was never held here"},
		{0, 7, false, "the register of worker id 7 was not read"},
	} {
		d, _ := f.decoded(t, minted(t, began().Add(x.at), x.worker).String(), "")
		if len(d.Owners) != 1 || d.Owners[0].Covers != x.covers || !strings.HasPrefix(d.Owners[0].Text+d.Owners[0].Error, x.text) || d.Owners[0].Namespace != "main" {
			t.Errorf("%s of worker id %d: %+v, want %s", x.at, x.worker, d.Owners, x.text)
		}
	}
	f.failed = errors.New("away")
	if d, _ := f.decoded(t, "7", ""); len(d.Owners) != 1 || d.Owners[0].Error != "away" {
		t.Errorf("of a store that is away: %+v", d.Owners)
	}
}

func TestPlanShowsWhatFitsAndWhyTheRestDoesNot(t *testing.T) {
	f := serve(t, "")
	plan := func(query string) (p page.Plan) {
		_, body := f.ask(t, "GET /ui/plan?"+query)
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := plan("years=69&workers=1024&rate=4M")
	if len(p.Fits) != 1 || p.Fits[0].Widths != "ms41-worker10-seq12" || p.Fits[0].Ends.Year() != 2095 || len(p.Fits[0].Fields) != 4 || p.Fits[0].Fields[2].Shift != 12 {
		t.Errorf("what fits: %+v", p.Fits)
	}
	why := map[string]string{}
	for _, m := range p.Misfits {
		why[m.Name] = m.Why
	}
	if why["ticks of 1s"] != "64 bits, 1 more than the 63 there are" || len(why) != 2 {
		t.Errorf("what does not fit: %v", why)
	}
	if p := plan("years=100&workers=1M&rate=10k"); len(p.Fits) != 0 || len(p.Misfits) == 0 {
		t.Errorf("nothing fits: %+v", p)
	}
	for _, query := range []string{"years=x", "years=2e6", "workers=1.5", "rate=-1", "more=1"} {
		if answer, body := f.ask(t, "GET /ui/plan?"+query); answer.Code != 400 || !strings.Contains(body, "invalid-query") {
			t.Errorf("%s: %d %s", query, answer.Code, body)
		}
	}
}

func TestDecodeAndPlanNeedNoScript(t *testing.T) {
	f := serve(t, "")
	for query, want := range map[string]string{
		"id=507f1f77bcf86cd799439011":   "bcf86cd799",
		"id=x":                          "is neither decimal nor hex",
		"years=69&workers=1024&rate=1M": "ms41-worker10-seq12@",
		"rate=x":                        "must be a number above 0",
	} {
		if answer, body := f.ask(t, "GET /?"+query); answer.Code != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", query, answer.Code, body)
		}
	}
}

func TestAddressInCommandsIsSafeToCopy(t *testing.T) {
	f := serve(t, secret)
	for host, want := range map[string]string{"ids.example:7600": "http://ids.example:7600", "a;id": "http://localhost", "[::1]:7600": "http://[::1]:7600"} {
		if _, body := f.ask(t, "GET /", "Authorization: Bearer "+secret, "Host: "+host); !strings.Contains(body, want) {
			t.Errorf("%s: %s", host, body)
		}
	}
}
