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

// startCompatible starts a daemon on the tables of Leaf, in PostgreSQL, and of tinyid, in MariaDB. It asks for clientToken.
func startCompatible(t *testing.T, arguments ...string) *testkit.Daemon {
	t.Helper()
	leaf, _ := database(t, "postgres", leafTables, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('orders', 100)")
	tiny, _ := database(t, "mysql", tinyTables, "INSERT INTO tiny_id_info (biz_type, step, delta, remainder) VALUES ('users', 100, 2, 1)")
	file := written(t, fmt.Sprintf(`token-file: %s
thrift: ""
layout: leaf
stores: {leaf: %q, tiny: %q}
generators:
  ids: {}
  session: {kind: uuid}
  orders: {kind: leaf-segment, store: leaf}
  users: {kind: tinyid, store: tiny}
  numbers: {kind: segment, settings: {start: 5, increment: 3, step: 100}}
`, written(t, clientTokens), leaf, tiny))
	d := testkit.StartDaemon(t, executable(t, ""), []string{"TZ=Asia/Shanghai"}, append([]string{"--thrift=", "--config", file, "--data", t.TempDir()}, arguments...)...)
	d.WaitReady()
	return d
}

// TestCallersOfLeafAndTinyidGetTheAnswersOfTheirs asks on the tables of both, in their order. More paths and methods are asked
// in package httpfront.
func TestCallersOfLeafAndTinyidGetTheAnswersOfTheirs(t *testing.T) {
	t.Parallel()
	d := startCompatible(t)
	const plain, json, html, bearer, tiny = "text/plain;charset=UTF-8", "application/json;charset=UTF-8", "text/html;charset=UTF-8", "Bearer " + clientToken, "/tinyid/id/"
	failed := func(path string) string {
		return fmt.Sprintf(`^\{"timestamp":\d{13},"status":500,"error":"Internal Server Error","exception":"com.sankuai.inf.leaf.server.exception.LeafServerException","message":"Result\{id=-2, status=EXCEPTION\}","path":"%s"\}$`, path)
	}
	for _, test := range []struct {
		token, path string // as Leaf's callers show it, or as tinyid's do
		status      int
		kind, body  string
	}{
		{bearer, "/api/segment/get/orders", 200, plain, `^1$`},
		{bearer, "/api/segment/get/orders", 200, plain, `^2$`},
		{bearer, "/api/segment/get/users", 200, plain, `^1$`},
		{bearer, "/api/snowflake/get/ids", 200, plain, `^\d{18,19}$`},
		{bearer, "/api/segment/get/none", 500, json, failed("/api/segment/get/none")},
		{bearer, "/api/segment/get/ids", 500, json, failed("/api/segment/get/ids")},
		{bearer, "/api/segment/get/session", 500, json, failed("/api/segment/get/session")},
		{bearer, "/api/snowflake/get/orders", 500, json, failed("/api/snowflake/get/orders")},
		{bearer, "/api/snowflake/get/", 500, json, `"exception":"com.sankuai.inf.leaf.server.exception.NoKeyException","message":"Key is none"`},
		{"", "/api/segment/get/orders", 401, "application/problem+json", ``},
		{bearer, "/decodeSnowflakeId?snowflakeId=1169786042799259000", 200, json, `^\{"sequenceId":"3448","timestamp":"1567733700834\(2019-09-06 09:35:00.834\)","workerId":"39"\}$`},
		{bearer, "/decodeSnowflakeId?snowflakeId=x", 200, json, `^\{"errorMsg":".+"\}$`},
		{bearer, "/cache", 200, html, `<tr><td>orders</td><td>true</td><td>(true|false)</td><td>0</td><td>3</td><td>101</td><td>98</td>`},
		{bearer, "/db", 200, html, `<tr><td>orders</td><td>\d+01</td><td>100</td><td>20\d\d-\d\d-\d\d \d\d:\d\d:\d\d</td></tr>`},

		{clientToken, tiny + "nextId?bizType=users&batchSize=2", 200, json, `^\{"data":\[3,5\],"code":200,"message":""\}$`},
		{clientToken, tiny + "nextIdSimple?bizType=users&batchSize=2", 200, plain, `^7,9$`},
		{clientToken, tiny + "nextId?bizType=orders&batchSize=1000000", 200, json, `^\{"data":\[3,4,(\d+,)+10002\],"code":200,"message":""\}$`},
		{clientToken, tiny + "nextId?bizType=none", 200, json, `^\{"data":null,"code":6,"message":"generator is \\"none\\": .+"\}$`},
		{clientToken, tiny + "nextId?bizType=users&batchSize=x", 200, json, `^\{"data":null,"code":6,"message":"count is \\"x\\": .+"\}$`},
		{clientToken, tiny + "nextId?bizType=session", 200, json, `^\{"data":null,"code":6,"message":".+must mint numbers"\}$`},
		{clientToken, tiny + "nextIdSimple?bizType=none", 200, plain, `^$`},
		{clientToken, tiny + "nextSegmentId?bizType=ids", 200, json, `^\{"data":null,"code":6,"message":".+ must be of kind segment, leaf-segment or tinyid"\}$`},
		{"wrong", tiny + "nextId?bizType=users", 200, json, `^\{"data":null,"code":5,"message":"token is error"\}$`},
		{"wrong", tiny + "nextSegmentIdSimple?bizType=users", 200, plain, `^$`},
	} {
		target := d.URL + test.path
		if strings.HasPrefix(test.path, tiny) {
			target += "&token=" + test.token
			test.token = ""
		}
		got := ask(t, http.MethodGet, target, "Authorization", test.token)
		if got.status != test.status || got.header.Get("Content-Type") != test.kind || !regexp.MustCompile(test.body).MatchString(got.body) {
			t.Errorf("%s: %d, %s, %.300q, want %d, %s, %s", test.path, got.status, got.header.Get("Content-Type"), got.body, test.status, test.kind, test.body)
		}
	}
}

// TestSegmentsOfTinyidsClientsHaveNoNumberTwice counts in segments as tinyid's own client does, beside
// callers that get single numbers. In the middle the daemon is killed.
func TestSegmentsOfTinyidsClientsHaveNoNumberTwice(t *testing.T) {
	t.Parallel()
	d := startCompatible(t, "--http", "127.0.0.1:"+strconv.Itoa(testkit.FreePort(t)))
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
					if _, err := fmt.Sscan(ask(t, http.MethodGet, d.URL+"/tinyid/id/nextIdSimple?token="+clientToken+"&bizType="+name).body, &id); err != nil {
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
	answer := ask(t, http.MethodPost, url+"/tinyid/id/nextSegmentIdSimple?token="+clientToken+"&bizType="+name,
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
