//go:build servers

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

const leafTables = `CREATE TABLE leaf_alloc (biz_tag varchar(128) NOT NULL DEFAULT '' PRIMARY KEY, max_id bigint NOT NULL DEFAULT 1, step int NOT NULL,
	description varchar(256) DEFAULT NULL, update_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP)`

const tinyTables = `CREATE TABLE tiny_id_info (id bigint unsigned NOT NULL AUTO_INCREMENT PRIMARY KEY, biz_type varchar(63) NOT NULL UNIQUE, begin_id bigint NOT NULL DEFAULT 0,
	max_id bigint NOT NULL DEFAULT 0, step int DEFAULT 0, delta int NOT NULL DEFAULT 1, remainder int NOT NULL DEFAULT 0,
	create_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', update_time timestamp NOT NULL DEFAULT '2010-01-01 00:00:00', version bigint NOT NULL DEFAULT 0)`

// startCompatible starts a daemon on the tables of Leaf, in PostgreSQL, and of tinyid, in MariaDB, and
// waits until it is ready.
func startCompatible(t *testing.T, more string, arguments ...string) *testkit.Daemon {
	t.Helper()
	leaf, _ := database(t, "postgres", leafTables, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('orders', 100)")
	tiny, _ := database(t, "mysql", tinyTables, "INSERT INTO tiny_id_info (biz_type, step, delta, remainder) VALUES ('users', 100, 2, 1)")
	config := more + "layout: leaf\nstores:\n"
	config += fmt.Sprintf("  leaf: %q\n", leaf)
	config += fmt.Sprintf("  tiny: %q\n", tiny)
	config += `generators:
  ids: {}
  session: {kind: uuid}
  orders: {kind: leaf-segment, store: leaf}
  users: {kind: tinyid, store: tiny}
  numbers: {kind: segment, settings: {start: 5, increment: 3, step: 100}}
`
	file := written(t, config)
	d := testkit.StartDaemon(t, executable(t, ""), []string{"TZ=Asia/Shanghai"}, append([]string{"--config", file, "--data", t.TempDir()}, arguments...)...)
	d.WaitReady()
	return d
}

func TestLeafsCallersGetWhatLeafAnswers(t *testing.T) {
	t.Parallel()
	d := startCompatible(t, "")
	const plain, json = "text/plain;charset=UTF-8", "application/json;charset=UTF-8"
	failed := func(id int, path string) string {
		return fmt.Sprintf(`^\{"timestamp":\d{13},"status":500,"error":"Internal Server Error","exception":"com.sankuai.inf.leaf.server.exception.LeafServerException","message":"Result\{id=%d, status=EXCEPTION\}","path":"%s"\}$`, id, path)
	}
	for _, test := range []struct {
		method, path string
		status       int
		kind, body   string
	}{
		{"GET", "/api/segment/get/orders", 200, plain, `^1$`},
		{"POST", "/api/segment/get/orders", 200, plain, `^2$`},
		{"PUT", "/api/segment/get/orders", 200, plain, `^3$`},
		{"HEAD", "/api/segment/get/orders", 200, plain, `^$`},
		{"GET", "/api/segment/get/orders", 200, plain, `^4$`},
		{"GET", "/api/segment/get/users", 200, plain, `^1$`},
		{"GET", "/api/snowflake/get/ids", 200, plain, `^\d{18,19}$`},
		{"GET", "/api/segment/get/none", 500, json, failed(-2, "/api/segment/get/none")},
		{"GET", "/api/segment/get/ids", 500, json, failed(-2, "/api/segment/get/ids")},
		{"GET", "/api/segment/get/session", 500, json, failed(-2, "/api/segment/get/session")},
		{"GET", "/api/segment/get/a/b", 500, json, failed(-2, "/api/segment/get/a/b")},
		{"GET", "/api/snowflake/get/orders", 500, json, failed(-2, "/api/snowflake/get/orders")},
		{"GET", "/api/snowflake/get/", 500, json, `"exception":"com.sankuai.inf.leaf.server.exception.NoKeyException","message":"Key is none"`},
		{"GET", "/decodeSnowflakeId?snowflakeId=1169786042799259000", 200, json, `^\{"sequenceId":"3448","timestamp":"1567733700834\(2019-09-06 09:35:00.834\)","workerId":"39"\}$`},
		{"GET", "/decodeSnowflakeId?snowflakeId=x", 200, json, `^\{"errorMsg":".+"\}$`},
		{"GET", "/cache", 200, "text/html;charset=UTF-8", `<tr><td>orders</td><td>true</td><td>(true|false)</td><td>0</td><td>5</td><td>101</td><td>96</td>`},
		{"GET", "/db", 200, "text/html;charset=UTF-8", `<tr><td>orders</td><td>\d+01</td><td>100</td><td>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d</td></tr>`},
		{"POST", "/db", 405, "application/problem+json", ``},
	} {
		got := ask(t, test.method, d.URL+test.path)
		if got.status != test.status || got.header.Get("Content-Type") != test.kind || !regexp.MustCompile(test.body).MatchString(got.body) {
			t.Errorf("%s %s: %+v, want %d, %s, %s", test.method, test.path, got, test.status, test.kind, test.body)
		}
	}
	if got := ask(t, http.MethodGet, d.URL+"/metrics").body; !strings.Contains(got, `snowfence_front_problems_total{front="http",problem="unknown-generator"} 6`) {
		t.Errorf("the counters are\n%s", got)
	}
}

func TestTinyidsCallersGetWhatTinyidAnswers(t *testing.T) {
	t.Parallel()
	d := startCompatible(t, "")
	const plain, json = "text/plain;charset=UTF-8", "application/json;charset=UTF-8"
	for _, test := range []struct{ path, kind, body string }{
		{"nextId?bizType=users&batchSize=1&token=any", json, `^\{"data":\[1\],"code":200,"message":""\}$`},
		{"nextId?bizType=users&batchSize=2", json, `^\{"data":\[3,5\],"code":200,"message":""\}$`},
		{"nextIdSimple?bizType=users&batchSize=2&token=any", plain, `^7,9$`},
		{"nextIdSimple?bizType=users", plain, `^11$`},
		{"nextId?bizType=orders&batchSize=1000000", json, `^\{"data":\[1,2,(\d+,)+10000\],"code":200,"message":""\}$`},
		{"nextId?bizType=none", json, `^\{"data":null,"code":6,"message":"generator is \\"none\\": .+"\}$`},
		{"nextId", json, `^\{"data":null,"code":6,"message":".+"\}$`},
		{"nextId?bizType=users&batchSize=x", json, `^\{"data":null,"code":6,"message":"count is \\"x\\": .+"\}$`},
		{"nextId?bizType=session", json, `^\{"data":null,"code":6,"message":".+must mint numbers"\}$`},
		{"nextIdSimple?bizType=none", plain, `^$`},
		{"nextSegmentId?bizType=ids", json, `^\{"data":null,"code":6,"message":".+ must be of kind segment, leaf-segment or tinyid"\}$`},
		{"nextSegmentIdSimple?bizType=ids", plain, `^$`},
	} {
		got := ask(t, http.MethodGet, d.URL+"/tinyid/id/"+test.path)
		if got.status != http.StatusOK || got.header.Get("Content-Type") != test.kind || !regexp.MustCompile(test.body).MatchString(got.body) {
			t.Errorf("%s: %d, %s, %.300q, want %s, %s", test.path, got.status, got.header.Get("Content-Type"), got.body, test.kind, test.body)
		}
	}
}

// TestSegmentsOfTinyidsClientsHaveNoNumberTwice counts in segments as tinyid's own client does, beside
// callers that get single numbers. In the middle the daemon is killed.
func TestSegmentsOfTinyidsClientsHaveNoNumberTwice(t *testing.T) {
	t.Parallel()
	d := startCompatible(t, "", "--http", "127.0.0.1:"+strconv.Itoa(testkit.FreePort(t)))
	had := map[string]once[int64]{"users": {}, "orders": {}, "numbers": {}}
	for range 2 {
		for name, want := range map[string]tinySegment{
			"users": {delta: 2, remainder: 1, count: 50}, "orders": {delta: 1, count: 100}, "numbers": {delta: 3, remainder: 2, count: 100},
		} {
			for range 4 {
				got := tinyClient(t, d.URL, name)
				if got.delta != want.delta || got.remainder != want.remainder || got.loading <= got.current || got.loading >= got.most {
					t.Errorf("%s: segment %+v", name, got)
				}
				numbers := countIn(got)
				if len(numbers) != want.count {
					t.Errorf("%s: segment %+v has %d numbers, want %d", name, got, len(numbers), want.count)
				}
				had[name].take(t, name, numbers...)
				for range 40 {
					var id int64
					if _, err := fmt.Sscan(ask(t, http.MethodGet, d.URL+"/tinyid/id/nextIdSimple?bizType="+name).body, &id); err != nil {
						t.Fatal(err)
					}
					if id%want.delta != want.remainder {
						t.Fatalf("%s: %d does not leave the remainder", name, id)
					}
					had[name].take(t, name, id)
				}
			}
		}
		d.Kill()
		d = d.Again()
	}
}

// tinySegment is a segment as tinyid's client reads it.
type tinySegment struct {
	current, loading, most, delta, remainder int64

	count int // of its numbers, as a test wants it
}

// tinyClient asks for a segment as tinyid's client in Java does, by HttpURLConnection: a POST without a body, whose answer is
// read when the status is 200, and split at commas.
func tinyClient(t *testing.T, url, name string) (s tinySegment) {
	t.Helper()
	answer := ask(t, http.MethodPost, url+"/tinyid/id/nextSegmentIdSimple?token=0f673adf80504e2eaa552f5d791b644c&bizType="+name,
		"Content-Type", "application/x-www-form-urlencoded", "User-Agent", "Java/1.8.0_392", "Accept", "text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2")
	if answer.status != http.StatusOK {
		t.Fatalf("%s: %+v", name, answer)
	}
	fields := []*int64{&s.current, &s.loading, &s.most, &s.delta, &s.remainder}
	parts := strings.Split(answer.body, ",")
	if len(parts) != len(fields) {
		t.Fatalf("%s: the answer is %q", name, answer.body)
	}
	for i, part := range parts {
		var err error
		if *fields[i], err = strconv.ParseInt(part, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// countIn counts as SegmentId of tinyid's client does: its init, and its nextId to the end.
func countIn(s tinySegment) (numbers []int64) {
	current := s.current
	if current%s.delta != s.remainder {
		for current%s.delta != s.remainder {
			current++
		}
		current -= s.delta
	}
	for current += s.delta; current <= s.most; current += s.delta {
		numbers = append(numbers, current)
	}
	return numbers
}

func TestTokenOfTinyidsCallersIsOneOfOurs(t *testing.T) {
	t.Parallel()
	file := written(t, "Correct-horse-battery")
	d := startCompatible(t, "token-file: "+file+"\n", "--thrift", "")
	const refused = `{"data":null,"code":5,"message":"token is error"}`
	for path, want := range map[string]string{
		"nextId?bizType=users&token=Correct-horse-battery": `{"data":[1],"code":200,"message":""}`,
		"nextId?bizType=users&token=wrong":                 refused,
		"nextId?bizType=users":                             refused,
		"nextSegmentId?bizType=users":                      refused,
		"nextIdSimple?bizType=users&token=wrong":           "",
		"nextSegmentIdSimple?bizType=users&token=wrong":    "",
	} {
		if got := ask(t, http.MethodGet, d.URL+"/tinyid/id/"+path); got.status != http.StatusOK || got.body != want {
			t.Errorf("%s: %+v, want %s", path, got, want)
		}
	}
	if got := ask(t, http.MethodGet, d.URL+"/api/segment/get/orders"); got.status != http.StatusUnauthorized || got.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("Leaf's path without a token: %+v", got)
	}
}
