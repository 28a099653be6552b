package httpfront

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/series"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// oneNumber is a series whose number 1 is reserved with the token t. The real one is tried on real
// servers, through the daemon.
type oneNumber struct {
	kind.Minter
	entries int   // of the audit
	broken  error // that the audit ends with
	full    error // of every verb
}

func (oneNumber) Form() kind.Form          { return kind.Text }
func (s oneNumber) Caps() kind.Caps        { return kind.Caps{Series: s} }
func (oneNumber) Text(number int64) string { return fmt.Sprint("INV-", number) }
func (s oneNumber) Reserve(_ context.Context, tenant string, timeout time.Duration) (kind.Reservation, error) {
	until := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC).Add(timeout)
	return kind.Reservation{Number: 1, Text: "INV-1", Token: "t" + tenant, Until: until}, s.full
}

func (s oneNumber) Confirm(_ context.Context, _ string, _ int64, token string) error {
	if s.full == nil && token != "t" {
		return fmt.Errorf("%w: it is another's", series.ErrEnded)
	}
	return s.full
}

func (s oneNumber) Void(ctx context.Context, tenant string, number int64, token, reason string) error {
	if reason == "" {
		return &counter.ConfigError{Field: "reason", Value: `""`, Limit: "must be given"}
	}
	return s.Confirm(ctx, tenant, number, token)
}

func (s oneNumber) Audit(context.Context, string) iter.Seq2[kind.Entry, error] {
	return func(yield func(kind.Entry, error) bool) {
		at := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
		for n := range int64(s.entries) {
			if !yield(kind.Entry{Number: n + 1, State: "void", Reason: "spoilt", Changed: at}, nil) {
				return
			}
		}
		if err := cmp.Or(s.broken, s.full); err != nil {
			yield(kind.Entry{}, err)
		}
	}
}

// fullSeries is a series in which everything fails for good.
func fullSeries() oneNumber {
	return oneNumber{full: &counter.FullError{Counter: "invoices", Limit: 9}}
}

// newSeries returns a front whose generator is a series.
func newSeries(t *testing.T) fixture { return newSeriesOf(t, oneNumber{entries: 2}) }

func newSeriesOf(t *testing.T, of kind.Minter) fixture {
	t.Helper()
	f := fixture{}
	s := service.New(service.Config{Settings: fronttest.Settings(t)})
	if err := s.Serve("default", of); err != nil {
		t.Fatal(err)
	}
	f.Handler = newHandler(s)
	return f
}

func TestReservationHasItsTokenAndItsEnd(t *testing.T) {
	const reservations = "/v1/generators/default/reservations"
	f := newSeries(t)
	for target, want := range map[string]string{
		reservations + "?tenant=acme&timeout=90s": `{"number":"1","id":"INV-1","state":"reserved","token":"tacme","until":"2026-11-22T12:01:30Z"}`,
		reservations + "/1/confirm?token=t":       `{"number":"1","id":"INV-1","state":"confirmed"}`,
		reservations + "/1/void?token=t&reason=r": `{"number":"1","id":"INV-1","state":"void","reason":"r"}`,
	} {
		if w := f.do(request("POST", target)); w.Code != 200 || w.Body.String() != want+"\n" {
			t.Errorf("%s: %d %s, want %s", target, w.Code, w.Body, want)
		}
	}
	wantProblem(t, f.do(request("POST", reservations+"/1/confirm?token=u")), 409, "reservation-ended")
	wantProblem(t, f.do(request("POST", "/v1/generators/default/ids")), 400, "needs-reservation")
	if p := wantProblem(t, f.do(request("POST", reservations+"/1/void?token=t")), 400, "invalid-reservation"); p.Field != "reason" || p.Limit == "" {
		t.Errorf("the problem names %q, %q", p.Field, p.Limit)
	}
	wantProblem(t, newFixture(t, "").do(request("POST", reservations)), 404, "not-a-series")
}

func TestAuditThatBreaksOffIsNotTakenForTheWhole(t *testing.T) {
	const target, entries = "/v1/generators/default/reservations", `{"reservations":[` +
		`{"number":"1","id":"INV-1","state":"void","reason":"spoilt","changed":"2026-11-22T12:00:00Z"},` +
		`{"number":"2","id":"INV-2","state":"void","reason":"spoilt","changed":"2026-11-22T12:00:00Z"}`
	if got := newSeries(t).do(request("GET", target)).Body.String(); got != entries+"]}\n" {
		t.Errorf("the audit is %s", got)
	}
	func() {
		defer func() {
			if err, _ := recover().(error); !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("the broken audit ended with %v, want a broken connection", err)
			}
		}()
		newSeriesOf(t, oneNumber{entries: 2, broken: io.ErrUnexpectedEOF}).do(request("GET", target))
	}()
	empty := newSeriesOf(t, oneNumber{})
	if got := empty.do(request("GET", target)).Body.String(); strings.TrimSpace(got) != `{"reservations":[]}` {
		t.Errorf("the empty audit is %s", got)
	}
}

func TestHeadReadsNoSeries(t *testing.T) {
	// Its first entry would be a problem.
	w := newSeriesOf(t, fullSeries()).do(request("HEAD", "/v1/generators/default/reservations"))
	if w.Code != 200 || w.Header().Get("Content-Type") != typeJSON {
		t.Errorf("%d, %v", w.Code, w.Header())
	}
	if w := newFixture(t, "").do(request("HEAD", "/v1/generators/default/reservations")); w.Code != 404 {
		t.Errorf("of another kind: %d", w.Code)
	}
}
