package httpfront

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
)

const leases = "/v1/generators/default/leases"

// newLender returns a front whose generator lends worker ids.
func newLender(t *testing.T) fixture {
	t.Helper()
	s := service.New(service.Config{Settings: fronttest.Settings(t)})
	lender := fronttest.NewLender(t)
	if err := s.Serve("default", lender); err != nil {
		t.Fatal(err)
	}
	return fixture{Handler: newHandler(s), lender: lender}
}

// send answers a request with a body.
func (f fixture) send(method, target, body string) *httptest.ResponseRecorder {
	return f.do(withBody(request(method, target), body))
}

func withBody(r *http.Request, body string) *http.Request {
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
	return r
}

// large is a request whose body is above every limit.
func large(method, target string) *http.Request {
	return withBody(request(method, target), strings.Repeat("x", config.Default().Limits.Body+1))
}

// leaseJSON has the fields of an answer that tests read.
type leaseJSON struct {
	Lease, Mark, Base, Check, Floor, Until string
	Worker                                 int
}

// about sends a document, and reads the answer.
func (f fixture) about(t *testing.T, method, target, body string) leaseJSON {
	t.Helper()
	w := f.send(method, target, body)
	var got leaseJSON
	if err := json.Unmarshal(w.Body.Bytes(), &got); w.Code != 200 || err != nil || w.Header().Get("Cache-Control") != "no-store" {
		t.Fatalf("%s %s: %d %s", method, target, w.Code, w.Body)
	}
	return got
}

func TestLeaseIsClaimedExtendedAndGivenBack(t *testing.T) {
	f := newLender(t)
	now := time.Now().UnixMilli()
	claimed := f.about(t, http.MethodPost, leases, fmt.Sprintf(`{"now":%d,"host":"a","pid":7,"program":"billing"}`, now))
	if claimed.Lease == "" || claimed.Mark != "" || claimed.Base == "" || claimed.Check == "" {
		t.Errorf("claimed %+v", claimed)
	}
	one := fmt.Sprintf("%s/%d", leases, claimed.Worker)
	extend := fmt.Sprintf(`{"now":"%d","lease":%q,"mark":"00000000000000a1"}`, now+20_000, claimed.Lease)
	extended := f.about(t, http.MethodPut, one, extend)
	if extended.Lease == claimed.Lease || extended.Mark != "00000000000000a1" || extended.Floor != claimed.Floor || extended.Until <= claimed.Until {
		t.Errorf("extended %+v after %+v", extended, claimed)
	}
	if again := f.about(t, http.MethodPut, one, extend); again != extended {
		t.Errorf("the retry has %+v, want %+v", again, extended)
	}
	wantProblem(t, f.send(http.MethodPut, one, strings.Replace(extend, "a1", "a2", 1)), 409, "lease-moved")
	release := fmt.Sprintf(`{"lease":%q,"mark":"00000000000000a3","next":%q}`, extended.Lease, extended.Floor)
	f.about(t, http.MethodPost, one+"/release", release)
	f.about(t, http.MethodPost, one+"/release", release)
	wantProblem(t, f.send(http.MethodPut, one, fmt.Sprintf(`{"now":%d,"lease":%q,"mark":"00000000000000a4"}`, now, extended.Lease)), 409, "lease-gone")
}

func TestDocumentOfALeaseThatCanNotBeUsedIsNamed(t *testing.T) {
	f := newLender(t)
	now := time.Now().UnixMilli()
	claimed := f.about(t, http.MethodPost, leases, fmt.Sprintf(`{"now":%d}`, now))
	one := fmt.Sprintf("%s/%d", leases, claimed.Worker)
	for _, test := range []struct {
		method, target, body string
		status               int
		problem, field       string
	}{
		{http.MethodPost, leases, ``, 400, "unexpected-body", "body"},
		{http.MethodPost, leases, `{"now":1}{}`, 400, "unexpected-body", "body"},
		{http.MethodPost, leases, `{"now":1,"wroker":1}`, 400, "unexpected-body", "body"},
		{http.MethodPost, leases, `{"host":"a"}`, 400, "invalid-lease", "now"},
		{http.MethodPost, leases, `{"now":1.5}`, 400, "invalid-lease", "now"},
		{http.MethodPost, leases, fmt.Sprintf(`{"now":%d,"pid":-1}`, now), 400, "invalid-lease", "pid"},
		{http.MethodPost, leases, fmt.Sprintf(`{"now":%d,"program":%q}`, now, strings.Repeat("x", 51)), 400, "invalid-lease", "program"},
		{http.MethodPost, leases, fmt.Sprintf(`{"now":%d}`, now+660_000), 503, "clock-unsafe", ""},
		{http.MethodPut, one, fmt.Sprintf(`{"now":%d,"lease":"AQ","mark":"00000000000000a1"}`, now), 400, "invalid-lease", "lease"},
		{http.MethodPut, leases + "/9", fmt.Sprintf(`{"now":%d,"lease":%q,"mark":"00000000000000a1"}`, now, claimed.Lease), 400, "invalid-lease", "worker"},
		{http.MethodPut, one, fmt.Sprintf(`{"now":%d,"lease":%q,"mark":"1"}`, now, claimed.Lease), 400, "invalid-lease", "mark"},
		{http.MethodPost, one + "/release", fmt.Sprintf(`{"lease":%q,"mark":"00000000000000a1","next":"1"}`, claimed.Lease), 400, "invalid-lease", "next"},
	} {
		if p := wantProblem(t, f.send(test.method, test.target, test.body), test.status, test.problem); p.Field != test.field {
			t.Errorf("%s %s %s names %q, want %q", test.method, test.target, test.body, p.Field, test.field)
		}
	}
	wantProblem(t, newFixture(t, "").send(http.MethodPost, leases, `{"now":1}`), 400, "not-lent")
}
