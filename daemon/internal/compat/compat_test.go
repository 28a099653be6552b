package compat

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// failing is a minter that fails, or counts from 1.
type failing struct{ fronttest.Numbers }

func failingWith(err error) *failing {
	m := new(failing)
	m.Err = err
	return m
}

func (m *failing) Segment(context.Context) (kind.Range, error) {
	return kind.Range{First: 1, Increment: 1, Count: 10}, m.Err
}

func (*failing) Step() int64 { return 10 }

func (m *failing) Caps() kind.Caps { return kind.Caps{Segments: m} }

// newClient returns a client of [newService].
func newClient(t testing.TB, ids, users kind.Minter, aliases ...string) front.Client {
	t.Helper()
	return newService(t, ids, users, aliases...).Client(netip.Addr{})
}

// newService has the generators "ids" of kind snowflake, with aliases, and "users", which counts. One without a minter
// is starting.
func newService(t testing.TB, ids, users kind.Minter, aliases ...string) *service.Service {
	t.Helper()
	c := fronttest.Settings(t, func(c *config.Config) {
		c.Generators = map[string]config.Generator{"ids": {Aliases: aliases}, "users": {Kind: "segment"}}
	})
	return fronttest.Service(t, service.Config{Settings: c}, map[string]kind.Minter{"ids": ids, "users": users})
}

// keyed is a request with a key in its path.
func keyed(key string) *http.Request {
	r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
	r.SetPathValue("key", key)
	return r
}

func TestLeafsCodesSayWhyThereIsNoNumber(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{snowfence.ErrClockBehind, "Result{id=-3, status=EXCEPTION}"},
		{counter.ErrUnavailable, "Result{id=-3, status=EXCEPTION}"},
		{snowfence.ErrRevoked, "Result{id=-1, status=EXCEPTION}"},
		{nil, "Result{id=-1, status=EXCEPTION}"}, // while it starts
	} {
		var m kind.Minter
		if test.err != nil {
			m = failingWith(test.err)
		}
		for key, answerer := range map[string]Answerer{"ids": LeafSnowflake, "users": LeafSegment} {
			got, err := answerer(keyed(key), newClient(t, m, m))
			if got.Status != http.StatusInternalServerError || err == nil || !strings.Contains(string(got.Body), test.want) {
				t.Errorf("%s, %v: %d %s, %v, want %s", key, test.err, got.Status, got.Body, err, test.want)
			}
		}
	}
	refused := newService(t, nil, nil)
	refused.Refuse("ids", nil, time.Minute)
	client := refused.Client(netip.Addr{})
	if got, err := LeafSnowflake(keyed("ids"), client); err == nil || !strings.Contains(string(got.Body), "Result{id=-1,") {
		t.Errorf("refused: %s, %v", got.Body, err)
	}
}

// TestOneGeneratorCanAnswerEveryKeyOfLeafsSnowflakePath is as in Leaf, which does not look at keys there. On its
// other path it does.
func TestOneGeneratorCanAnswerEveryKeyOfLeafsSnowflakePath(t *testing.T) {
	client := newClient(t, new(failing), new(failing), config.AnyKey, "order_no", "users.old")
	for i, key := range []string{"ids", "order_no", "never.seen", "users", "ids.json", "users.old"} {
		got, err := LeafSnowflake(keyed(key), client)
		if want := strconv.Itoa(i + 1); err != nil || string(got.Body) != want {
			t.Errorf("%s: %s, %v, want %s", key, got.Body, err, want)
		}
	}
	for _, key := range []string{"never.seen", "order_no", "users.old.x"} {
		if got, err := LeafSegment(keyed(key), client); err == nil || !strings.Contains(string(got.Body), "id=-2") {
			t.Errorf("segment %s: %s, %v", key, got.Body, err)
		}
	}
	if got, err := LeafSegment(keyed("users.json"), client); err != nil || string(got.Body) != "1" {
		t.Errorf("segment users.json: %s, %v", got.Body, err)
	}
	if got, err := LeafSnowflake(keyed(""), client); err == nil || !strings.Contains(string(got.Body), "Key is none") {
		t.Errorf("no key: %s, %v", got.Body, err)
	}
	if got, err := LeafSnowflake(keyed("never.seen"), newClient(t, new(failing), nil)); err == nil || !strings.Contains(string(got.Body), "id=-2") {
		t.Errorf("without the alias: %s, %v", got.Body, err)
	}
}

func TestSegmentsAreAsTinyidCountsThem(t *testing.T) {
	for _, test := range []struct {
		give kind.Range
		want tinySegment
	}{
		{kind.Range{First: 1, Increment: 1, Count: 100}, tinySegment{MaxID: 100, LoadingID: 20, CurrentID: 0, Delta: 1, Remainder: 0}},
		{kind.Range{First: 101, Increment: 1, Count: 100}, tinySegment{MaxID: 200, LoadingID: 120, CurrentID: 100, Delta: 1, Remainder: 0}},
		{kind.Range{First: 1, Increment: 2, Count: 50}, tinySegment{MaxID: 99, LoadingID: 19, CurrentID: 0, Delta: 2, Remainder: 1}},
		{kind.Range{First: 102, Increment: 2, Count: 1}, tinySegment{MaxID: 102, LoadingID: 100, CurrentID: 100, Delta: 2, Remainder: 0}},
	} {
		if got := segmentOf(test.give.First, test.give.Last(), test.give.Increment); got != test.want {
			t.Errorf("%+v is %+v, want %+v", test.give, got, test.want)
		}
	}
}

// TestClientOfTinyidThatGetsNothingIsLogged is for Simple forms: there a client can't see the reason,
// and takes a cut batch for the whole.
func TestClientOfTinyidThatGetsNothingIsLogged(t *testing.T) {
	var log bytes.Buffer
	clock := setClock{Clock: snowfence.SystemClock()}
	c := fronttest.Settings(t, func(c *config.Config) {
		c.Limits.Batch, c.Generators = 10, map[string]config.Generator{"ids": {}}
	})
	settings := service.Config{Settings: c, Clock: &clock, Logger: slog.New(slog.NewTextHandler(&log, nil))}
	client := fronttest.Service(t, settings, map[string]kind.Minter{"ids": new(failing)}).Client(netip.Addr{})
	const empty, cut = "tinyid gets an empty answer", "tinyid gets fewer numbers"
	for _, test := range []struct {
		a           Answerer
		query, want string
		after       time.Duration
	}{
		{TinySegmentSimple, "bizType=none", empty + ".*generator=none error=.*unknown-generator", 0},
		{TinyIDsSimple, "bizType=none", "", 59 * time.Second},
		{TinyIDsSimple, "bizType=none", empty, time.Second},
		{TinyIDs, "bizType=none", "", time.Minute}, // its answer shows why
		{TinyIDsSimple, "bizType=ids&batchSize=10", "", 0},
		{TinyIDsSimple, "bizType=ids&batchSize=11", cut + ".*generator=ids asked=11 given=10", 0},
		{TinyIDs, "bizType=ids&batchSize=11", cut, time.Minute},
	} {
		clock.now += test.after
		log.Reset()
		r := keyed("")
		r.URL.RawQuery = test.query
		if got, _ := test.a(r, client); got.Status != http.StatusOK {
			t.Errorf("%s: %d %s", test.query, got.Status, got.Body)
		}
		if test.want == "" && log.Len() > 0 || !regexp.MustCompile(test.want).MatchString(log.String()) {
			t.Errorf("%s: logged %q, want %q", test.query, log.String(), test.want)
		}
	}
}

// setClock is a clock that a test sets.
type setClock struct {
	snowfence.Clock
	now time.Duration
}

func (c *setClock) Monotonic() time.Duration { return c.now }

// FuzzAnswers asks every path, with any key and query. An answer in JSON must be JSON, and a plain one
// must have nothing but digits and commas.
func FuzzAnswers(f *testing.F) {
	f.Add("ids", "snowflakeId=1169786042799259000")
	f.Add("users", "bizType=users&batchSize=3&token=t")
	f.Add("none", "bizType=ids&batchSize=-1")
	f.Add("", "bizType=users&batchSize=99999999999999999999&batchSize=%zz;")
	f.Add("a/b\x00\"<", "snowflakeId=%22%00%3C&bizType=%22")
	f.Fuzz(func(t *testing.T, key, query string) {
		client := newClient(t, new(failing), new(failing))
		for _, answerer := range []Answerer{
			LeafSnowflake, LeafSegment, LeafDecode, LeafCache, LeafDB, TinyIDs, TinyIDsSimple, TinySegment, TinySegmentSimple,
		} {
			r := keyed(key)
			r.URL = &url.URL{Path: "/" + key, RawQuery: query}
			got, err := answerer(r, client)
			switch {
			case got.Status == 0 && err == nil:
				t.Errorf("%q, %q: neither an answer nor an error", key, query)
			case got.Type == jsonType && !json.Valid(got.Body):
				t.Errorf("%q, %q: %s", key, query, got.Body)
			case got.Type == "text/plain"+charset && strings.Trim(string(got.Body), "0123456789,") != "":
				t.Errorf("%q, %q: %s", key, query, got.Body)
			}
		}
	})
}
