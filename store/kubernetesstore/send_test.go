package kubernetesstore

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	coordination "k8s.io/api/coordination/v1"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// reply is an answer of a server that the test plays.
type reply struct {
	code   int
	header map[string]string
	body   any  // encoded as JSON unless it is a string
	cached bool // it repeats another request's Audit-Id
}

// server answers requests by the test's function, and keeps them.
type server struct {
	answer   func(*http.Request) reply
	requests []string // method, path and query
}

// RoundTrip implements [http.RoundTripper].
func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	s.requests = append(s.requests, r.Method+" "+r.URL.RequestURI())
	if r.GetBody != nil {
		return nil, errors.New("the body can be rewound")
	}
	a := s.answer(r)
	text, ok := a.body.(string)
	if !ok {
		content, err := json.Marshal(a.body)
		if err != nil {
			return nil, err
		}
		text = string(content)
	}
	header := http.Header{}
	for key, value := range a.header {
		header.Set(key, value)
	}
	if header.Set(auditID, r.Header.Get(auditID)); a.cached {
		header.Set(auditID, "of another request")
	}
	return &http.Response{StatusCode: a.code, Header: header, Body: io.NopCloser(strings.NewReader(text))}, nil
}

// on returns a store on a server that the test plays.
func on(t *testing.T, answer func(*http.Request) reply) (*Store, *server) {
	t.Helper()
	played := &server{answer: answer}
	s := &Store{
		config: Config{Prefix: "ids"}, place: place{base: &url.URL{Scheme: "http", Host: "played"}, namespace: "ns"},
		leases: "/leases", writer: "host/1", sender: played, unused: func() {}, life: storeclient.Begin(),
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, played
}

const token = "0123456789abcdef0123456789abcdef"

// register is a Lease as the server has it.
func register(key, token, resource string) *coordination.Lease {
	l := newLease("ids", "id", key, token, []byte("value"), "host/1")
	l.ResourceVersion = resource
	return l
}

// refuse is the answer of an API server that did not carry the request out.
func refuse(code int, reason, name string) reply {
	return reply{code: code, body: map[string]any{"kind": "Status", "reason": reason, "message": "no", "details": map[string]string{"name": name}}}
}

func TestAnswerFromACacheIsRefused(t *testing.T) {
	s, _ := on(t, func(*http.Request) reply { return reply{code: 200, body: register("key", token, "7"), cached: true} })
	if e, err := s.Get(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "caches") {
		t.Errorf("get: %+v, %v", e, err)
	}
	s, _ = on(t, func(*http.Request) reply {
		a := refuse(404, "NotFound", "ids.key")
		a.cached = true
		return a
	})
	if _, err := s.Get(t.Context(), "key"); err == nil || errors.Is(err, store.ErrNotFound) {
		t.Errorf("get of nothing: %v", err)
	}
}

// TestRejectedSwapIsJudgedByItsRegister answers a swap in every way that means that nothing was written.
func TestRejectedSwapIsJudgedByItsRegister(t *testing.T) {
	prev := store.Version(token + ".7")
	other := strings.Repeat("f", len(token))
	for _, code := range []int{404, 409, 422} {
		for name, test := range map[string]struct {
			now  func(drawn string) reply
			want error // nil means that the swap took effect
		}{
			"its own token":     {func(drawn string) reply { return reply{code: 200, body: register("key", drawn, "8")} }, nil},
			"another token":     {func(string) reply { return reply{code: 200, body: register("key", other, "7")} }, store.ErrConflict},
			"another revision":  {func(string) reply { return reply{code: 200, body: register("key", token, "9")} }, store.ErrConflict},
			"nothing":           {func(string) reply { return refuse(404, "NotFound", "ids.key") }, store.ErrConflict},
			"the same register": {func(string) reply { return reply{code: 200, body: register("key", token, "7")} }, errUnknown},
			"damage":            {func(string) reply { return reply{code: 200, body: register("other", token, "7")} }, errUnknown},
			"no answer":         {func(string) reply { return reply{code: 500, body: "oh"} }, errUnknown},
		} {
			var drawn string
			s, played := on(t, func(r *http.Request) reply {
				switch {
				case r.Method == http.MethodPatch:
					var operations []struct{ Value any }
					if err := json.NewDecoder(r.Body).Decode(&operations); err != nil {
						t.Error(err)
					}
					drawn, _ = operations[2].Value.(string)
					return refuse(code, "Invalid", "ids.key")
				case strings.HasSuffix(r.URL.Path, "/ids"):
					return refuse(404, "NotFound", "ids")
				}
				return test.now(drawn)
			})
			version, err := s.Swap(t.Context(), "key", prev, nil)
			switch {
			case test.want == nil && (err != nil || version != store.Version(drawn+".8")),
				errors.Is(test.want, store.ErrConflict) && !errors.Is(err, store.ErrConflict),
				errors.Is(test.want, errUnknown) && (err == nil || errors.Is(err, store.ErrConflict)):
				t.Errorf("%d, and the register has %s: %q, %v", code, name, version, err)
			}
			if n := count(played.requests, "PATCH"); n != 1 {
				t.Errorf("%d, and the register has %s: sent %d times", code, name, n)
			}
		}
	}
}

// errUnknown stands for every error but ErrConflict.
var errUnknown = errors.New("the outcome is unknown")

func TestOtherStatusLeavesTheOutcomeUnknown(t *testing.T) {
	for _, a := range []reply{
		refuse(400, "BadRequest", ""), refuse(401, "Unauthorized", ""), refuse(403, "Forbidden", ""), refuse(429, "TooManyRequests", ""),
		refuse(500, "InternalError", ""), refuse(504, "Timeout", ""), {code: 502, body: "<html>"}, {code: 409, body: "{}"}, {code: 404, body: "<html>"},
		{code: 302, body: ""}, {code: 200, body: "{}"}, {code: 200, body: register("key", token, "8")}, {code: 200, body: register("other", token, "8")},
		{code: 200, body: strings.Repeat(" ", maxAnswer+1)}, {code: 201, body: "{"},
	} {
		s, played := on(t, func(r *http.Request) reply {
			if r.Method == http.MethodGet {
				return reply{code: 200, body: register("key", token, "8")} // it would be a conflict
			}
			return a
		})
		for _, prev := range []store.Version{"", store.Version(token + ".7")} {
			if version, err := s.Swap(t.Context(), "key", prev, nil); err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("%d %.80v after %q: %q, %v", a.code, a.body, prev, version, err)
			}
			s.paused = time.Time{}
		}
		if n := count(played.requests, "PATCH"); n != 1 {
			t.Errorf("%d: sent %d times", a.code, n)
		}
	}
}

func count(requests []string, method string) (n int) {
	for _, r := range requests {
		if strings.HasPrefix(r, method+" ") {
			n++
		}
	}
	return n
}

func TestBusyServerIsLeftAloneForAsLongAsItAsks(t *testing.T) {
	for code, asked := range map[int]time.Duration{429: 3 * time.Second, 503: 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			busy := true
			s, played := on(t, func(*http.Request) reply {
				if busy {
					a := refuse(code, "TooManyRequests", "")
					a.header = map[string]string{"Retry-After": fmt.Sprint(asked.Seconds())}
					busy = false
					return a
				}
				return reply{code: 200, body: register("key", token, "8")}
			})
			begun := time.Now()
			if _, err := s.Swap(t.Context(), "key", store.Version(token+".7"), nil); err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("swap: %v", err)
			}
			if len(played.requests) != 1 || time.Since(begun) != 0 {
				t.Errorf("requests %v, after %v", played.requests, time.Since(begun))
			}
			impatient, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			if _, err := s.Get(impatient, "key"); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "busy") {
				t.Errorf("get with less patience: %v", err)
			}
			if _, err := s.Get(t.Context(), "key"); err != nil {
				t.Errorf("get: %v", err)
			}
			if took := time.Since(begun); len(played.requests) != 2 || took < asked || took > 2*asked {
				t.Errorf("requests %v, after %v", played.requests, took)
			}
		})
	}
}

func TestReadIsSentAgainToABusyServerAndNotForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, played := on(t, func(*http.Request) reply {
			a := refuse(429, "TooManyRequests", "")
			a.header = map[string]string{"Retry-After": "4000"}
			return a
		})
		begun := time.Now()
		if _, err := s.Get(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), ": no") {
			t.Errorf("get: %v", err)
		}
		if took := time.Since(begun); len(played.requests) != reads || took > 2*reads*maxPause {
			t.Errorf("%d requests in %v", len(played.requests), took)
		}
	})
}

// listed is a page of registers. A list goes on at next, unless that is its end.
func listed(next, end int, keys []string) reply {
	items, token := []*coordination.Lease{}, ""
	for _, key := range keys {
		items = append(items, register(key, strings.Repeat("a", 32), "7"))
	}
	if next < end {
		token = fmt.Sprint(next)
	}
	return reply{code: 200, body: map[string]any{"metadata": map[string]string{"continue": token}, "items": items}}
}

// TestListGoesOnBehindARevisionThatIsForgotten plays a server that forgets the revision of each page once.
func TestListGoesOnBehindARevisionThatIsForgotten(t *testing.T) {
	keys := []string{"a", "b", "c", "d", "e"}
	for name, token := range map[string]string{"with a token to go on": "3", "from the beginning": ""} {
		var forgot bool
		s, _ := on(t, func(r *http.Request) reply {
			query := r.URL.Query()
			if query.Get("labelSelector") != "snowfence.example/prefix=ids" || query.Get("limit") != "500" || query.Has("resourceVersion") {
				t.Errorf("query %v", query)
			}
			at := 0
			_, _ = fmt.Sscan(query.Get("continue"), &at)
			if at == 3 && !forgot {
				forgot = true
				a := refuse(410, "Expired", "")
				a.body.(map[string]any)["metadata"] = map[string]string{"continue": token}
				return a
			}
			return listed(at+3, len(keys), keys[at:min(at+3, len(keys))])
		})
		var got []string
		if err := servertest.Listed(t.Context(), s, "", func(e store.Entry) { got = append(got, e.Key) }); err != nil || !slices.Equal(got, keys) || !forgot {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

// TestListOutOfOrderIsRefused plays a server that lists by revision, as old versions of kine do: what lies behind the
// last name is then unknown.
func TestListOutOfOrderIsRefused(t *testing.T) {
	for name, pages := range map[string][][]string{"in a page": {{"a", "c", "b"}}, "between pages": {{"a", "c"}, {"b"}}} {
		s, _ := on(t, func(r *http.Request) reply {
			at := 0
			_, _ = fmt.Sscan(r.URL.Query().Get("continue"), &at)
			return listed(at+1, len(pages), pages[at])
		})
		for _, prefix := range []string{"", "c"} {
			if err := servertest.Listed(t.Context(), s, prefix, nil); err == nil || !strings.Contains(err.Error(), "lists out of order: ids.b after ids.c") {
				t.Errorf("%s, of %q: %v", name, prefix, err)
			}
		}
	}
}

func TestListEndsIfNoRevisionLasts(t *testing.T) {
	s, played := on(t, func(*http.Request) reply { return refuse(410, "Expired", "") })
	if err := servertest.Listed(t.Context(), s, "", nil); err == nil || len(played.requests) != 2 {
		t.Errorf("%v after %d requests", err, len(played.requests))
	}
}

func TestStoreThatIsGoneIsNotTakenForEmpty(t *testing.T) {
	anchor := refuse(404, "NotFound", "ids")
	s, played := on(t, func(r *http.Request) reply {
		if strings.HasSuffix(r.URL.Path, "/ids") {
			return anchor
		}
		return refuse(404, "NotFound", "ids.key")
	})
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get from an empty store: %v", err)
	}
	seen := register("", token, "1")
	seen.Name = "ids"
	anchor = reply{code: 200, body: seen}
	if _, err := s.Get(t.Context(), "key"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("get from a store with an anchor: %v", err)
	}
	seen = seen.DeepCopy()
	seen.Annotations[storeAnnotation] = "another"
	for name, a := range map[string]reply{"none": refuse(404, "NotFound", "ids"), "another": {code: 200, body: seen}} {
		anchor = a
		if _, err := s.Get(t.Context(), "key"); err == nil || errors.Is(err, store.ErrNotFound) {
			t.Errorf("get, and the anchor is %s: %v", name, err)
		}
		if _, err := s.Swap(t.Context(), "key", "", nil); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("create, and the anchor is %s: %v", name, err)
		}
	}
	if n := count(played.requests, "POST"); n != 0 {
		t.Errorf("%d registers were created", n)
	}
}
