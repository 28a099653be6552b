package httpfront

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	words "snowfence.example/snowfence/daemon/token"
)

// document returns the OpenAPI document, which must be a valid one.
func document(t *testing.T) *openapi3.T {
	t.Helper()
	d, err := openapi3.NewLoader().LoadFromData(api.OpenAPI())
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(d.OpenAPI, "3.1.") {
		t.Fatalf("the document is of OpenAPI %s, want 3.1", d.OpenAPI)
	}
	return d
}

func TestEveryRouteIsDocumentedAndNothingElse(t *testing.T) {
	var documented, routed []string
	for path, item := range document(t).Paths.Map() {
		for method := range item.Operations() {
			documented = append(documented, method+" "+path)
		}
	}
	for _, r := range newFixture(t, "").table() {
		methods := r.methods
		if r.takesForm() && !r.form { // of any, these are worth a word
			methods = []string{http.MethodGet, http.MethodPost}
		}
		for _, method := range methods {
			if method == http.MethodHead {
				continue // the head of the document explains it
			}
			routed = append(routed, method+" "+strings.Replace(strings.Join(r.path, "/"), "...", "", 1))
		}
	}
	slices.Sort(documented)
	slices.Sort(routed)
	if !slices.Equal(documented, routed) {
		t.Errorf("documented are\n%s\nrouted are\n%s", strings.Join(documented, "\n"), strings.Join(routed, "\n"))
	}
}

func TestEveryProblemTypeIsDocumentedAndNothingElse(t *testing.T) {
	var documented, known []string
	for _, value := range document(t).Components.Schemas["Problem"].Value.Properties["type"].Value.Enum {
		documented = append(documented, value.(string))
	}
	for problem := front.Type(0); problem.String() != ""; problem++ {
		known = append(known, typePrefix+problem.String())
	}
	known = append(
		known, typeNotFound, typeMethodNotAllowed, typeInvalidQuery, typeUnexpectedBody,
		typeBodyTooLarge, typeCrossSite, typeUnknownHost, typeNotReady,
	)
	slices.Sort(documented)
	slices.Sort(known)
	if !slices.Equal(documented, known) {
		t.Errorf("documented are\n%s\nknown are\n%s", strings.Join(documented, "\n"), strings.Join(known, "\n"))
	}
}

// checkAnswer compares an answer with its operation in the document: its
// status, its headers, its content type and its schema.
func checkAnswer(t *testing.T, d *openapi3.T, path string, r *http.Request, w *httptest.ResponseRecorder) error {
	t.Helper()
	item := d.Paths.Value(path)
	operation := item.GetOperation(r.Method)
	input := &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{
			Request: r,
			Route:   &routers.Route{Spec: d, Path: path, PathItem: item, Method: r.Method, Operation: operation},
		},
		Status:  w.Code,
		Header:  w.Header(),
		Options: &openapi3filter.Options{IncludeResponseStatus: true},
	}
	input.SetBodyBytes(w.Body.Bytes())
	return openapi3filter.ValidateResponse(t.Context(), input)
}

// stopped is a clock that does not go on.
type stopped struct{ snowfence.Clock }

func (stopped) Monotonic() time.Duration { return 0 }

// newLimited returns a front whose client has asked for as much already as it may.
func newLimited(t *testing.T, text string) fixture {
	t.Helper()
	settings := fronttest.Settings(t, func(c *config.Config) { c.Limits.Batch, c.Limits.AddressRate = 1, 1 })
	s := service.New(service.Config{Settings: settings, Tokens: fronttest.Ring(t, text), Clock: stopped{snowfence.SystemClock()}})
	f := fixture{Handler: newHandler(s)}
	f.do(request("GET", "/v1/decode/1"))
	return f
}

// probe is a request and the status that it must meet.
type probe struct {
	front   fixture
	request *http.Request
	status  int
}

// probes are requests, by path, whose answers between them show every status
// that the document knows for every operation.
func probes(t *testing.T) map[string][]probe {
	t.Helper()
	const ids, token = "/v1/generators/default/ids", "Correct-horse-battery"
	open := newFixture(t, "")
	guarded := newFixture(t, token)
	failing := func(err error) fixture {
		f := newFixture(t, "")
		f.minter.Err, f.minter.ready = err, err
		return f
	}
	starting := fixture{Handler: newHandler(service.New(service.Config{Settings: fronttest.Settings(t)}))}
	limited := newLimited(t, "")
	all := map[string][]probe{}
	add := func(path string, f fixture, r *http.Request, status int) {
		all[path] = append(all[path], probe{f, r, status})
	}
	for _, method := range []string{"GET", "POST"} {
		const path = "/v1/generators/{name}/ids"
		add(path, open, request(method, ids+"?count=3"), 200)
		add(path, open, request(method, ids+"?count=3", "Accept: text/plain"), 200)
		add(path, open, request(method, ids+"?count=0"), 400)
		add(path, open, request(method, ids+"?cuont=3"), 400)
		add(path, guarded, request(method, ids), 401)
		add(path, open, request(method, ids, "Sec-Fetch-Site: cross-site"), 403)
		add(path, open, request(method, "/v1/generators/none/ids"), 404)
		add(path, open, large(method, ids), 413)
		add(path, open, request(method, ids, "Host: evil.example"), 421)
		add(path, limited, request(method, ids), 429)
		add(path, failing(snowfence.ErrPastHorizon), request(method, ids), 500)
		add(path, failing(io.ErrUnexpectedEOF), request(method, ids), 500)
		add(path, failing(snowfence.ErrRevoked), request(method, ids), 503)
		add(path, starting, request(method, ids), 503)
	}
	addReservations(t, add, guarded, open, starting, limited)
	addLeases(t, add, guarded, starting, limited)
	addOpaque(t, add, open)
	addCompat(t, add, guarded, open, limited)
	addPage(t, add, guarded, open)
	for path, target := range map[string]string{"/v1/generators": "/v1/generators", "/v1/decode/{id}": "/v1/decode/1"} {
		add(path, open, request("GET", target), 200)
		add(path, open, request("GET", target+"?x=1"), 400)
		add(path, guarded, request("GET", target), 401)
		add(path, open, request("GET", target, "Origin: null"), 403)
		add(path, open, large("GET", target), 413)
		add(path, open, request("GET", target, "Host: evil.example"), 421)
		add(path, newLimited(t, token), request("GET", target), 429)
	}
	add("/v1/generators", starting, request("GET", "/v1/generators"), 200)
	for _, layout := range []string{"twitter", "discord", "mastodon", "sonyflake-v1"} {
		add("/v1/decode/{id}", open, request("GET", "/v1/decode/1541815603606036480?layout="+layout), 200)
	}
	for _, id := range []string{
		"C232AB00-9414-11EC-B3C8-9F6BDECED846", "919108f752d143209bacf847db4148a8", "00000000-0000-0000-0000-000000000000",
		"urn:uuid:017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "507f1f77bcf86cd799439011",
	} {
		add("/v1/decode/{id}", open, request("GET", "/v1/decode/"+id), 200)
	}
	add("/v1/decode/{id}", open, request("GET", "/v1/decode/01a20566-d121-819a-b9e4-5b76510d2572?layout=uuid8"), 200)
	add("/v1/decode/{id}", open, request("GET", "/v1/decode/017f22e2-79b0-7cc3-98c4-dc0c0c07398f?layout=uuid8"), 400)
	add("/v1/decode/{id}", open, request("GET", "/v1/decode/507f1f77bcf86cd79943901x"), 400)
	add("/v1/decode/{id}", open, request("GET", "/v1/decode/x"), 400)
	add("/v1/decode/{id}", open, request("GET", "/v1/decode/1?layout=x"), 400)
	for _, path := range []string{"/livez", "/readyz", "/activez", "/metrics", "/openapi.yaml"} {
		add(path, open, request("GET", path), 200)
		add(path, open, large("GET", path), 413)
	}
	few := newFixture(t, "few "+words.HashOf("of-none").String()+" generators=-")
	for _, path := range []string{"/readyz", "/activez"} {
		of, named := path+"/{name}", path+"/default"
		add(path, failing(snowfence.ErrRevoked), request("GET", path), 503)
		add(path, starting, request("GET", path), 503)
		add(of, open, request("GET", named), 200)
		add(of, guarded, request("GET", named), 401)
		add(of, few, request("GET", named, "Authorization: Bearer of-none"), 403)
		add(of, newLimited(t, token), request("GET", named, "Authorization: Bearer wrong"), 429)
		add(of, open, request("GET", path+"/none"), 404)
		add(of, open, large("GET", named), 413)
		add(of, starting, request("GET", named), 503)
	}
	add("/metrics", guarded, request("GET", "/metrics"), 401)
	add("/metrics", open, request("GET", "/metrics", "Origin: null"), 403)
	add("/metrics", open, request("GET", "/metrics", "Host: evil.example"), 421)
	add("/metrics", newLimited(t, token), request("GET", "/metrics"), 429)
	return all
}

// addReservations adds the probes of a series.
func addReservations(t *testing.T, add func(string, fixture, *http.Request, int), guarded, open, starting, limited fixture) {
	t.Helper()
	const list, one = "/v1/generators/{name}/reservations", "/v1/generators/{name}/reservations/{number}/"
	series, full := newSeries(t), newSeriesOf(t, fullSeries())
	for _, c := range []struct{ method, path, target, wrong string }{
		{"GET", list, "reservations?tenant=acme", "reservations?tenants=acme"},
		{"POST", list, "reservations?timeout=5m", "reservations?timeout=never"},
		{"POST", one + "confirm", "reservations/1/confirm?token=t", "reservations/x/confirm?token=t"},
		{"POST", one + "void", "reservations/1/void?token=t&reason=spoilt", "reservations/1/void?token=t"},
	} {
		target := "/v1/generators/default/" + c.target
		add(c.path, series, request(c.method, target), 200)
		add(c.path, series, request(c.method, "/v1/generators/default/"+c.wrong), 400)
		add(c.path, guarded, request(c.method, target), 401)
		add(c.path, series, request(c.method, target, "Sec-Fetch-Site: cross-site"), 403)
		add(c.path, open, request(c.method, target), 404)
		add(c.path, series, large(c.method, target), 413)
		add(c.path, series, request(c.method, target, "Host: evil.example"), 421)
		add(c.path, limited, request(c.method, target), 429)
		add(c.path, full, request(c.method, target), 500)
		add(c.path, starting, request(c.method, target), 503)
		if strings.HasPrefix(c.path, one) {
			add(c.path, series, request(c.method, strings.Replace(target, "token=t", "token=u", 1)), 409)
		}
	}
	add("/v1/generators/{name}/ids", series, request("POST", "/v1/generators/default/ids"), 400)
}

// addLeases adds the probes of lent worker ids.
func addLeases(t *testing.T, add func(string, fixture, *http.Request, int), guarded, starting, limited fixture) {
	t.Helper()
	now, broken := time.Now().UnixMilli(), newLender(t)
	broken.lender.Fault = io.ErrUnexpectedEOF
	for _, c := range []struct{ path, method, below string }{
		{"", http.MethodPost, ""}, {"/{worker}", http.MethodPut, "/%d"}, {"/{worker}/release", http.MethodPost, "/%d/release"},
	} {
		lends, target, body := newLender(t), leases, fmt.Sprintf(`{"now":%d}`, now)
		if c.below != "" {
			claimed := lends.about(t, http.MethodPost, leases, body)
			target += fmt.Sprintf(c.below, claimed.Worker)
			body = fmt.Sprintf(`{"now":%d,"lease":%q,"mark":"00000000000000a1"}`, now, claimed.Lease)
		}
		path := "/v1/generators/{name}/leases" + c.path
		probe := func(f fixture, status int, body string, headers ...string) {
			add(path, f, withBody(request(c.method, target, headers...), body), status)
		}
		probe(lends, 200, body)
		if c.below != "" {
			probe(lends, 409, strings.Replace(body, "a1", "a2", 1))
		}
		probe(lends, 400, `{}`)
		probe(guarded, 401, body)
		probe(lends, 403, body, "Sec-Fetch-Site: cross-site")
		add(path, lends, withBody(request(c.method, strings.Replace(target, "default", "none", 1)), body), 404)
		probe(lends, 413, strings.Repeat(" ", config.Default().Limits.Body+1))
		probe(lends, 421, body, "Host: evil.example")
		probe(limited, 429, body)
		probe(broken, 500, body)
		probe(starting, 503, body)
	}
}

// addPage adds the probes of the page.
func addPage(t *testing.T, add func(string, fixture, *http.Request, int), guarded, open fixture) {
	t.Helper()
	few := newFixture(t, "few "+words.HashOf("of-one-generator").String()+" generators=default")
	const one = "Authorization: Bearer of-one-generator"
	for path, target := range map[string]string{
		"/": "/", "/ui/state": "/ui/state", "/ui/history": "/ui/history", "/ui/workers": "/ui/workers?namespace=main&from=5&to=6", "/ui/decode": "/ui/decode?id=1",
		"/ui/plan": "/ui/plan?years=10&workers=8&rate=100", "/ui/runbook": "/ui/runbook", "/ui/{asset}": "/ui/runbook.html",
	} {
		add(path, open, request("GET", target), 200)
		add(path, open, request("GET", target, "Sec-Fetch-Site: cross-site"), 403)
		add(path, open, request("GET", target, "Host: evil.example"), 421)
		add(path, open, large("GET", target), 413)
		if path != "/" {
			add(path, open, request("GET", target, "If-None-Match: *"), 304)
			separator := "?"
			if strings.Contains(target, "?") {
				separator = "&"
			}
			add(path, open, request("GET", target+separator+"x=1"), 400)
		}
		if path != "/ui/runbook" && path != "/ui/{asset}" {
			add(path, guarded, request("GET", target), 401)
			add(path, few, request("GET", target, one), 403)
			add(path, newLimited(t, "Correct-horse-battery"), request("GET", target), 429)
		}
	}
	add("/ui/{asset}", open, request("GET", "/ui/nothing"), 404)
	add("/ui/workers", open, request("GET", "/ui/workers?namespace=none&from=5&to=6"), 404)
	add("/ui/workers", open, request("GET", "/ui/workers?namespace=main&from=0&to=6"), 503)
	add("/ui/decode", open, request("GET", "/ui/decode?id=507f1f77bcf86cd799439011"), 200)
	add("/ui/decode", open, request("GET", "/ui/decode?id=1&generator=none"), 404)
	add("/ui/decode", newOpaque(t, false), request("GET", "/ui/decode?id=1&generator=public"), 503)
	add("/ui/plan", open, request("GET", "/ui/plan?years=100&workers=1M&rate=10k"), 200)
	post := func(f fixture, text string, status int, headers ...string) {
		r := request("POST", "/ui/token", append(headers, "Content-Type: application/x-www-form-urlencoded")...)
		add("/ui/token", f, withBody(r, text), status)
	}
	post(guarded, "token=Correct-horse-battery", 303)
	post(open, "", 303)
	post(open, "%", 400)
	post(guarded, "token=wrong", 401)
	post(few, "token=of-one-generator", 403)
	post(open, "", 403, "Origin: null")
	post(open, strings.Repeat("x", config.Default().Limits.Body+1), 413)
	post(open, "", 421, "Host: evil.example")
	post(newLimited(t, "Correct-horse-battery"), "token=wrong", 429)
	spent := newFixture(t, "")
	spent.Memory = budget.New(1)
	add("/ui/token", spent, request("POST", "/ui/token"), 503)
	for path, query := range map[string]string{"/": "", "/ui/state": "", "/ui/history": "", "/ui/plan": "?years=1&workers=1&rate=1", "/metrics": ""} {
		add(path, spent, request("GET", path+query), 503)
	}
}

// addOpaque adds the probes of an opaque generator, "public".
func addOpaque(t *testing.T, add func(string, fixture, *http.Request, int), open fixture) {
	t.Helper()
	const mint, decode = "/v1/generators/{name}/ids", "/v1/decode/{id}"
	const ids = "/v1/generators/public/ids"
	shown, starting := newOpaque(t, true), newOpaque(t, false)
	add(mint, shown, request("POST", ids+"?count=2"), 200)
	add(mint, shown, request("GET", ids+"?show=7"), 200)
	add(mint, shown, request("GET", ids+"?show=7", "Accept: text/plain"), 200)
	add(mint, shown, request("GET", ids+"?show=x"), 400)
	add(mint, shown, request("GET", ids+"?show=7&count=1"), 400)
	add(mint, open, request("GET", "/v1/generators/default/ids?show=7"), 400)
	add(mint, starting, request("POST", ids), 503)
	add(mint, starting, request("GET", ids+"?show=7"), 503)
	add(decode, shown, request("GET", "/v1/decode/-7?generator=public"), 200)
	add(decode, shown, request("GET", "/v1/decode/7?generator=default"), 200)
	add(decode, shown, request("GET", "/v1/decode/7?generator=users"), 200)
	add(decode, shown, request("GET", "/v1/decode/7?generator=public"), 400)
	add(decode, shown, request("GET", "/v1/decode/7?generator=default&layout=twitter"), 400)
	add(decode, open, request("GET", "/v1/decode/7?generator=public"), 404)
	add(decode, starting, request("GET", "/v1/decode/-7?generator=public"), 503)
}

func TestEveryAnswerIsAsDocumented(t *testing.T) {
	d := document(t)
	shown := map[string]bool{}
	for path, requests := range probes(t) {
		for _, p := range requests {
			w := p.front.do(p.request)
			if w.Code != p.status {
				t.Errorf("%s %s: %d, want %d", p.request.Method, p.request.URL, w.Code, p.status)
			}
			if err := checkAnswer(t, d, path, p.request, w); err != nil {
				t.Errorf("%s %s: %d: %v", p.request.Method, p.request.URL, w.Code, err)
			}
			shown[p.request.Method+" "+path+" "+strconv.Itoa(p.status)] = true
		}
	}
	for path, item := range d.Paths.Map() {
		for method, operation := range item.Operations() {
			for status := range operation.Responses.Map() {
				if name := method + " " + path + " " + status; !shown[name] {
					t.Errorf("%s is documented, but the tests' requests don't show it", name)
				}
			}
		}
	}
}

// TestAnswerThatIsNotAsDocumentedIsFound holds the tests above to account.
func TestAnswerThatIsNotAsDocumentedIsFound(t *testing.T) {
	d := document(t)
	for name, spoil := range map[string]func(*httptest.ResponseRecorder){
		"a number for an id":  func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{"ids":[1]}`) },
		"no ids":              func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{"ids":[]}`) },
		"another field":       func(w *httptest.ResponseRecorder) { w.Body = bytes.NewBufferString(`{"ids":["1"],"n":1}`) },
		"another status":      func(w *httptest.ResponseRecorder) { w.Code = 418 },
		"another type":        func(w *httptest.ResponseRecorder) { w.Header().Set("Content-Type", "text/html") },
		"an answer to keep":   func(w *httptest.ResponseRecorder) { w.Header().Set("Cache-Control", "max-age=60") },
		"no word on caching":  func(w *httptest.ResponseRecorder) { w.Header().Del("Cache-Control") },
		"an unknown problem":  func(w *httptest.ResponseRecorder) { problemInstead(w, "tag:snowfence.example,2026:problem/new") },
		"a problem in detail": func(w *httptest.ResponseRecorder) { problemInstead(w, typePrefix+"internal", "stack", "trace") },
	} {
		r := request("GET", "/v1/generators/default/ids")
		w := newFixture(t, "").do(r)
		spoil(w)
		if err := checkAnswer(t, d, "/v1/generators/{name}/ids", r, w); err == nil {
			t.Errorf("%s: was not found", name)
		}
	}
}

// problemInstead makes an answer a problem, with fields of its own.
func problemInstead(w *httptest.ResponseRecorder, problemType string, more ...string) {
	body := `{"type":"` + problemType + `","title":"x","status":400`
	if len(more) == 2 {
		body += `,"` + more[0] + `":"` + more[1] + `"`
	}
	w.Code, w.Body = http.StatusBadRequest, bytes.NewBufferString(body+"}")
	w.Header().Set("Content-Type", "application/problem+json")
}
