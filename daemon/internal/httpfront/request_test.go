package httpfront

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
)

func TestQueryIsHeldToWhatIsKnown(t *testing.T) {
	f := newFixture(t, "")
	for query, field := range map[string]string{
		"cuont=3":         "cuont",
		"count=3&count=4": "count",
		"count=3&x=1":     "x",
		"count=%zz":       "",
		"count=1;x=2":     "",
	} {
		if p := wantProblem(t, f.do(request("GET", "/v1/generators/default/ids?"+query)), http.StatusBadRequest, "invalid-query"); p.Field != field {
			t.Errorf("%s: field is %q, want %q", query, p.Field, field)
		}
	}
	for _, count := range []string{"0", "-1", "10001", "x", "", "1.5", "03", "0x3", "1_0", "99999999999999999999"} {
		p := wantProblem(t, f.do(request("GET", "/v1/generators/default/ids?count="+count)), http.StatusBadRequest, "count-out-of-range")
		if p.Field != "count" || p.Value != count || !strings.Contains(p.Limit, "10000") {
			t.Errorf("count %q: %+v", count, p)
		}
	}
	if n := f.minter.Calls.Load(); n != 0 {
		t.Errorf("ids were minted %d times", n)
	}
}

func TestBodySaysNothingOrIsRefused(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Limits.Body = 1 << 10 })
	post := func(body io.Reader) *httptest.ResponseRecorder {
		r := httptest.NewRequest(http.MethodPost, "/v1/generators/default/ids", body)
		r.Host = "localhost"
		return f.do(r)
	}
	for _, body := range []string{"", " \n", "{}", " {}\n"} {
		if w := post(strings.NewReader(body)); w.Code != http.StatusOK {
			t.Errorf("%q: %d, want 200", body, w.Code)
		}
	}
	for _, body := range []string{"count=3", `{"count":3}`, "x"} {
		wantProblem(t, post(strings.NewReader(body)), http.StatusBadRequest, "unexpected-body")
	}
	large := strings.Repeat(" ", 1<<10+1)
	wantProblem(t, post(strings.NewReader(large)), http.StatusRequestEntityTooLarge, "body-too-large")
	// One that does not declare its length is measured as it comes.
	wantProblem(t, post(io.MultiReader(strings.NewReader(large))), http.StatusRequestEntityTooLarge, "body-too-large")
}

func TestPagesOfOtherSitesGetNothing(t *testing.T) {
	f := newFixture(t, "", func(c *config.Config) { c.Hosts = []string{"ids.internal"} })
	const ids = "/v1/generators/default/ids"
	for _, c := range []struct {
		name    string
		headers []string
		status  int
		problem string
	}{
		{"a program", nil, 200, ""},
		{"this server's own page", []string{"Sec-Fetch-Site: same-origin", "Origin: http://127.0.0.1:7600"}, 200, ""},
		{"a person at the address bar", []string{"Sec-Fetch-Site: none"}, 200, ""},
		{"an image on another site's page", []string{"Sec-Fetch-Site: cross-site"}, 403, "cross-site"},
		{"a page on another port of this host", []string{"Sec-Fetch-Site: same-site"}, 403, "cross-site"},
		{"an older browser's own page", []string{"Origin: http://127.0.0.1:7600"}, 200, ""},
		{"an older browser, another site's page", []string{"Origin: https://evil.example"}, 403, "cross-site"},
		{"a page without an origin", []string{"Origin: null"}, 403, "cross-site"},
		{"localhost", []string{"Host: localhost:7600"}, 200, ""},
		{"IPv6 loopback", []string{"Host: [::1]:7600"}, 200, ""},
		{"IPv6 loopback, no port", []string{"Host: [::1]"}, 200, ""},
		{"a configured host", []string{"Host: IDs.internal."}, 200, ""},
		{"a name that was rebound to loopback", []string{"Host: evil.example:7600"}, 421, "unknown-host"},
		{"an address that is not loopback", []string{"Host: 10.0.0.1:7600"}, 421, "unknown-host"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := f.do(request("GET", ids, c.headers...))
			if c.problem != "" {
				// The last header is the one that gave it away.
				p := wantProblem(t, w, c.status, c.problem)
				if header := c.headers[len(c.headers)-1]; c.problem == "cross-site" && p.Field+": "+p.Value != header {
					t.Errorf("blames %s: %s, want %s", p.Field, p.Value, header)
				}
			} else if w.Code != c.status {
				t.Errorf("%d, want %d", w.Code, c.status)
			}
		})
	}
	if p := wantProblem(t, f.do(request("GET", ids, "Host: snowfence")), 421, "unknown-host"); !strings.Contains(p.Detail, `hosts: [snowfence]`) || !strings.Contains(p.Detail, "SNOWFENCE_HOSTS") {
		t.Errorf("the problem does not name the key to set: %s", p.Detail)
	}
	// Probes come under any name, and find out nothing that matters.
	if w := f.do(request("GET", "/livez", "Host: 10.0.0.1:7600")); w.Code != http.StatusOK {
		t.Errorf("a probe got %d, want 200", w.Code)
	}
}

func TestTokenIsAskedForButByProbes(t *testing.T) {
	const token = "Correct-horse-battery"
	f := newFixture(t, token)
	for _, c := range []struct {
		path, authorization string
		status              int
	}{
		{"/v1/generators/default/ids", "Bearer " + token, 200},
		{"/v1/generators/default/ids", "bearer  " + token, 200},
		{"/v1/generators/default/ids", "", 401},
		{"/v1/generators/default/ids", token, 401},
		{"/v1/generators/default/ids", "Basic " + token, 401},
		{"/v1/generators/default/ids", "Bearer wrong", 401},
		{"/v1/generators", "", 401},
		{"/v1/decode/1", "", 401},
		{"/metrics", "", 401},
		{"/metrics", "Bearer " + token, 200},
		{"/livez", "", 200},
		{"/readyz", "", 200},
		{"/openapi.yaml", "", 200},
		{"OPTIONS /", "", 204}, // as HAProxy checks
		{"/v1", "", 404},
	} {
		method, path, both := strings.Cut(c.path, " ")
		if !both {
			method, path = "GET", c.path
		}
		r := request(method, path, "Host: ids.example")
		if c.authorization != "" {
			r.Header.Set("Authorization", c.authorization)
		}
		w := f.do(r)
		if c.status != http.StatusUnauthorized {
			if w.Code != c.status {
				t.Errorf("%s with %q: %d, want %d", c.path, c.authorization, w.Code, c.status)
			}
			continue
		}
		wantProblem(t, w, c.status, "invalid-token")
		if got := w.Header().Get("WWW-Authenticate"); !strings.HasPrefix(got, "Bearer") {
			t.Errorf("%s: WWW-Authenticate is %q", c.path, got)
		}
	}
}
