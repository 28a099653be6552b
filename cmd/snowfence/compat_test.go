package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

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
	config := more + "layout: leaf\nstores:\n"
	config += fmt.Sprintf("  leaf: %q\n", database(t, "postgres", testkit.Postgres(t), leafTables, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('orders', 100)"))
	config += fmt.Sprintf("  tiny: %q\n", database(t, "mysql", testkit.MariaDB(t), tinyTables, "INSERT INTO tiny_id_info (biz_type, step, delta, remainder) VALUES ('users', 100, 2, 1)"))
	config += `generators:
  ids: {}
  session: {kind: uuid}
  orders: {kind: leaf-segment, store: leaf}
  users: {kind: tinyid, store: tiny}
`
	file := filepath.Join(t.TempDir(), "snowfence.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	d := testkit.StartDaemon(t, testkit.Build(t, programPath, ""), []string{"TZ=Asia/Shanghai"}, append([]string{"--config", file, "--data", t.TempDir()}, arguments...)...)
	d.WaitReady(30 * time.Second)
	return d
}

// response is the status, content type and body of an answer.
type response struct {
	status     int
	kind, body string
}

// ask makes a request.
func ask(t *testing.T, method, url string) response {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = got.Body.Close() }()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response{got.StatusCode, got.Header.Get("Content-Type"), string(body)}
}

func TestLeafsCallersGetWhatLeafAnswers(t *testing.T) {
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
		if got.status != test.status || got.kind != test.kind || !regexp.MustCompile(test.body).MatchString(got.body) {
			t.Errorf("%s %s: %+v, want %d, %s, %s", test.method, test.path, got, test.status, test.kind, test.body)
		}
	}
	if got := fetchText(t, d.URL+"/metrics"); !strings.Contains(got, `snowfence_front_problems_total{front="http",problem="unknown-generator"} 6`) {
		t.Errorf("the counters are\n%s", got)
	}
}

func TestTinyidsCallersGetWhatTinyidAnswers(t *testing.T) {
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
		{"nextSegmentId?bizType=orders", json, `^\{"data":null,"code":6,"message":".+ must be of kind tinyid"\}$`},
		{"nextSegmentIdSimple?bizType=orders", plain, `^$`},
	} {
		got := ask(t, http.MethodGet, d.URL+"/tinyid/id/"+test.path)
		if got.status != http.StatusOK || got.kind != test.kind || !regexp.MustCompile(test.body).MatchString(got.body) {
			t.Errorf("%s: %.300q, want %s, %s", test.path, got, test.kind, test.body)
		}
	}
}

// TestSegmentsOfTinyidsClientsHaveNoNumberTwice counts in segments as tinyid's own client does, beside
// callers that get single numbers.
func TestSegmentsOfTinyidsClientsHaveNoNumberTwice(t *testing.T) {
	d := startCompatible(t, "")
	var all []int64
	for round := range 5 {
		var document struct {
			Data struct{ MaxID, LoadingID, CurrentID, Delta, Remainder int64 }
			Code int
		}
		got := ask(t, http.MethodPost, d.URL+"/tinyid/id/nextSegmentId?bizType=users&token=any")
		if err := json.Unmarshal([]byte(got.body), &document); err != nil || document.Code != 200 {
			t.Fatalf("%+v: %v", got, err)
		}
		s := document.Data
		if round%2 == 1 {
			got := ask(t, http.MethodGet, d.URL+"/tinyid/id/nextSegmentIdSimple?bizType=users&token=any")
			if _, err := fmt.Sscanf(got.body, "%d,%d,%d,%d,%d", &s.CurrentID, &s.LoadingID, &s.MaxID, &s.Delta, &s.Remainder); err != nil {
				t.Fatalf("%+v: %v", got, err)
			}
		}
		if s.Delta != 2 || s.Remainder != 1 || s.LoadingID <= s.CurrentID || s.LoadingID >= s.MaxID {
			t.Errorf("segment %+v", s)
		}
		before := len(all)
		all = append(all, countIn(s.CurrentID, s.MaxID, s.Delta, s.Remainder)...)
		if len(all)-before != 50 {
			t.Errorf("segment %+v has %d numbers, want 50", s, len(all)-before)
		}
		for range 40 {
			var id int64
			if _, err := fmt.Sscan(ask(t, http.MethodGet, d.URL+"/tinyid/id/nextIdSimple?bizType=users").body, &id); err != nil {
				t.Fatal(err)
			}
			all = append(all, id)
		}
	}
	slices.Sort(all)
	for i, id := range all {
		if id%2 != 1 || i > 0 && id == all[i-1] {
			t.Fatalf("%d came twice, or does not leave the remainder 1", id)
		}
	}
}

// countIn is what SegmentId of tinyid's client does: its init, and its nextId to the end.
func countIn(current, most, delta, remainder int64) (numbers []int64) {
	if current%delta != remainder {
		for current%delta != remainder {
			current++
		}
		current -= delta
	}
	for current += delta; current <= most; current += delta {
		numbers = append(numbers, current)
	}
	return numbers
}

func TestTokenOfTinyidsCallersIsOneOfOurs(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("Correct-horse-battery"), 0o600); err != nil {
		t.Fatal(err)
	}
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
	if got := ask(t, http.MethodGet, d.URL+"/api/segment/get/orders"); got.status != http.StatusUnauthorized || got.kind != "application/problem+json" {
		t.Errorf("Leaf's path without a token: %+v", got)
	}
}
