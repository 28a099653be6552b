package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/filestore"
)

// line is one line of JSON of the verbs that stream.
type line struct {
	Type, State, Error, Action, Severity, Check string
	Worker                                      *int64
	Workers                                     json.RawMessage
	Registers                                   int64
	Applied                                     bool
}

func lines(t *testing.T, text string) []line {
	t.Helper()
	var all []line
	for part := range strings.Lines(text) {
		var l line
		if err := json.Unmarshal([]byte(part), &l); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
		all = append(all, l)
	}
	return all
}

// inStore is a program of a test's own with a namespace in a file store, and that
// store opened beside it.
func inStore(t *testing.T, l snowfence.Layout) (p program, stdout, stderr *strings.Builder, s *filestore.Store, folder string) {
	t.Helper()
	p, stdout, stderr = inTest(t)
	folder = filepath.Join(t.TempDir(), "store")
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: folder})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: l})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p, stdout, stderr, s, folder
}

func TestWhatCannotBeReadIsListedAndIsAnErrorToVerify(t *testing.T) {
	l := snowfence.DefaultLayout()
	p, stdout, stderr, s, folder := inStore(t, l)
	for number, value := range map[int64]string{3: "not json", 4: `{"format":2}`, 5: "torn"} {
		if _, err := s.Swap(t.Context(), stored.RegisterKey("default", l, number), "", []byte(value)); err != nil {
			t.Fatal(err)
		}
	}
	// The file of worker 5 is cut short: the store itself can't read it.
	cut := ""
	err := filepath.WalkDir(folder, func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), "torn") {
				cut = path
				return os.WriteFile(path, data[:len(data)/2], 0o600)
			}
		}
		return err
	})
	if err != nil || cut == "" {
		t.Fatalf("no file of worker 5: %v", err)
	}
	if code := p.run(t.Context(), "workers", "list", "--store", "file:"+folder, "--state", "unreadable", "-o", "json"); code != exitOK {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	found := lines(t, stdout.String())
	if len(found) != 4 || found[3].Type != "pool" || found[3].Registers != 4 {
		t.Fatalf("list: %s", stdout)
	}
	seen := map[int64]bool{}
	for _, x := range found[:3] {
		if x.Error == "" || x.Worker == nil {
			t.Errorf("%+v", x)
			continue
		}
		seen[*x.Worker] = true
	}
	if fmt.Sprint(seen) != "map[3:true 4:true 5:true]" {
		t.Errorf("unreadable: %v", seen)
	}
	stdout.Reset()
	if code := p.run(t.Context(), "namespace", "verify", "--store", "file:"+folder, "-o", "json"); code != exitFailure {
		t.Errorf("verify: exit code %d: %s", code, stderr)
	}
	found = lines(t, stdout.String())
	if len(found) != 4 || found[3].Type != "verdict" {
		t.Errorf("verify: %s", stdout)
	}
	for _, x := range found[:len(found)-1] {
		if x.Severity != "error" || x.Check != "readable" {
			t.Errorf("verify: %+v", x)
		}
	}
	stdout.Reset()
	if code := p.run(t.Context(), "workers", "show", "5", "--store", "file:"+folder); code != exitOK || !strings.Contains(stdout.String(), "worker 5 of namespace default: unreadable") {
		t.Errorf("show: exit code %d: %s", code, stdout)
	}
	for _, verb := range []string{"release", "quarantine"} {
		if code := p.run(t.Context(), "workers", verb, "5", "--yes", "--store", "file:"+folder); code != exitFailure {
			t.Errorf("%s: exit code %d", verb, code)
		}
	}
}

func TestWhoIsAskedDecides(t *testing.T) {
	l := snowfence.DefaultLayout()
	for answer, want := range map[string]int{"y\n": exitOK, "yes\n": exitOK, "n\n": exitFailure, "\n": exitFailure, "": exitFailure} {
		p, stdout, stderr, s, folder := inStore(t, l)
		worker := int64(7)
		h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: l, Worker: &worker, Window: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		p.asks, p.stdin = true, strings.NewReader(answer)
		if code := p.run(t.Context(), "workers", "release", "7", "--store", "file:"+folder); code != want {
			t.Errorf("%q: exit code %d, want %d: %s", answer, code, want, stderr)
		}
		if !strings.Contains(stderr.String(), "snowfence: release worker 7, held by") || (stdout.Len() > 0) != (want == exitOK) {
			t.Errorf("%q: %s%s", answer, stdout, stderr)
		}
		entry, err := s.Get(t.Context(), stored.RegisterKey("default", l, 7))
		if err != nil {
			t.Fatal(err)
		}
		register, err := stored.DecodeRegister(entry.Value)
		if err != nil || (register.Holder == "") != (want == exitOK) {
			t.Errorf("%q: %+v, %v", answer, register, err)
		}
		if err := h.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

func TestTakeOverIsWrittenWhenSomebodyAgrees(t *testing.T) {
	for answer, want := range map[string]int{"y\n": exitOK, "n\n": exitFailure} {
		p, stdout, stderr, s, folder := inStore(t, snowfence.DefaultLayout())
		p.asks, p.stdin = true, strings.NewReader(answer)
		code := p.run(t.Context(), "workers", "import", "list", "--workers", "1022,1023", "--stopped-at", "2026-01-02T03:04:05Z", "--store", "file:"+folder)
		if code != want || !strings.Contains(stderr.String(), "set the floor of 2 worker ids? [y/N]") || !strings.Contains(stdout.String(), "2 to be written") {
			t.Errorf("%q: exit code %d: %s%s", answer, code, stdout, stderr)
		}
		_, err := s.Get(t.Context(), stored.RegisterKey("default", snowfence.DefaultLayout(), 1022))
		if (err == nil) != (want == exitOK) {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// FuzzParseWorkerList holds that a list is what it says, and never too long.
func FuzzParseWorkerList(f *testing.F) {
	for _, seed := range []string{"all", "0", "0-31,40", "3-1", "1-", "-1", "0-9223372036854775807", "4611686018427387903-4611686018427387903", "1,,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		l, err := parseWorkerList(text)
		if err != nil {
			return
		}
		if l.all != (text == "all") || len(l.numbers) > takeover.MaxWorkers || !l.all && len(l.numbers) == 0 {
			t.Fatalf("%q: %v, %d numbers", text, l.all, len(l.numbers))
		}
		for _, n := range l.numbers {
			if n < 0 {
				t.Fatalf("%q: %d", text, n)
			}
		}
	})
}

// TestOldSystemsAreTakenOverFromTheirZooKeeper stops a Leaf whose clock is ahead,
// is refused while it still uploads, and issues none of its ids again; and does
// the same to the others as far as they differ.
func TestOldSystemsAreTakenOverFromTheirZooKeeper(t *testing.T) {
	server := testkit.ZooKeeper(t)
	conn, _, err := zk.Connect([]string{server.Addr()}, 2*time.Second, zk.WithLogInfo(false))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(conn.Close)
	create := func(path, data string, flags int32) {
		if _, err := conn.Create(path, []byte(data), flags, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatalf("create %s: %v", path, err)
		}
	}
	upload := func(at time.Time) string {
		return fmt.Sprintf(`{"ip":"10.0.0.1","port":"8080","timestamp":%d}`, at.UnixMilli())
	}
	// Leaf's worker 1 had a clock that was 20 minutes ahead.
	preset, err := snowfence.PresetByName("leaf")
	if err != nil {
		t.Fatal(err)
	}
	l := preset.Layout
	stopped := time.Now().UTC().Truncate(time.Millisecond)
	ahead := stopped.Add(20 * time.Minute)
	folder := takeover.LeafPath("orders")
	create("/snowflake", "", 0)
	create("/snowflake/orders", "", 0)
	create(folder, "", 0)
	create(folder+"/10.0.0.1:8080-", upload(stopped.Add(-time.Minute)), zk.FlagSequence)
	create(folder+"/10.0.0.2:8080-", upload(ahead), zk.FlagSequence)
	old := map[snowfence.ID]bool{}
	for back := range snowfence.Tick(1000) {
		for sequence := range int64(8) {
			id, err := l.Compose(snowfence.Parts{Tick: l.TickAt(ahead) - back, Worker: 1, Sequence: sequence})
			if err != nil {
				t.Fatal(err)
			}
			old[id] = true
		}
	}

	p, stdout, stderr := inTest(t)
	store := "file:" + filepath.Join(t.TempDir(), "store")
	run := func(want int, args ...string) string {
		t.Helper()
		stdout.Reset()
		stderr.Reset()
		if code := p.run(t.Context(), args...); code != want {
			t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, stdout, stderr)
		}
		return stdout.String() + stderr.String()
	}
	take := []string{"workers", "import", "leaf", "--zookeeper", server.Addr(), "--name", "orders", "--namespace", "orders", "--store", store, "--watch", "300ms", "-o", "json"}

	// Nobody says when it was stopped.
	run(exitUsage, take...)
	take = append(take, "--stopped-at", stopped.Format(time.RFC3339Nano))

	// Somebody uploads.
	path := folder + "/10.0.0.1:8080-0000000000"
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = conn.Set(path, []byte(upload(stopped.Add(-time.Minute))), -1)
			case <-done:
				return
			}
		}
	}()
	if said := run(exitUnsafe, take...); !strings.Contains(said, "the old system still runs: worker 0, "+path) {
		t.Errorf("while it runs: %s", said)
	}
	close(done)
	<-ended

	// Its clock was ahead by more than a clock may be, unless that is said.
	if said := run(exitUsage, take...); !strings.Contains(said, "a clock of the old system was ahead") {
		t.Errorf("ahead: %s", said)
	}
	take = append(take, "--ahead", "1h")
	plan := lines(t, run(exitOK, append(take, "--yes")...)[:stdout.Len()])
	if len(plan) != 3 || plan[0].Action != "create" || plan[1].Action != "create" || !plan[2].Applied {
		t.Errorf("plan %+v", plan)
	}
	again := lines(t, run(exitOK, append(take, "--yes")...)[:stdout.Len()])
	if len(again) != 3 || again[0].Action != "keep" || again[1].Action != "keep" {
		t.Errorf("again %+v", again)
	}

	// A pinned claim now is refused with the reason; 20 minutes later it is not.
	config := filepath.Join(t.TempDir(), "snowfence.yaml")
	if err := os.WriteFile(config, []byte("generators:\n  default:\n    namespace: orders\n    preset: leaf\n    worker: 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	next := []string{"next", "-n", "5000", "--config", config, "--store", store}
	if said := run(exitUnsafe, next...); !strings.Contains(said, "behind the ticks of worker 1, whose last write was by") {
		t.Errorf("at once: %s", said)
	}
	p.clock = later{snowfence.SystemClock(), 20 * time.Minute}
	run(exitOK, next...)
	for text := range strings.Lines(stdout.String()) {
		id, err := snowfence.Parse(strings.TrimSpace(text))
		if err != nil {
			t.Fatal(err)
		}
		if old[id] {
			t.Fatalf("Leaf's id %s was issued again", id)
		}
		old[id] = true
	}

	t.Run("recyclable", func(t *testing.T) {
		pool := takeover.RecyclablePath("orders")
		create(pool, "", 0)
		create(pool+"/notuse", "", 0)
		create(pool+"/notuse/workId:1024", `{"workId":1024,"lastUsedIp":null,"lastUsedPort":null,"lastUsedTimestamp":null}`, 0)
		create(pool+"/inuse", "", 0)
		create(pool+"/inuse/workId:2", `{"workId":2,"lastUsedIp":"10.0.0.1","lastUsedPort":"8080","lastUsedTimestamp":1567733700834}`, 0)
		said := run(exitOK, "workers", "import", "leaf-recyclable", "--zookeeper", server.Addr(), "--name", "orders", "--watch", "50ms",
			"--namespace", "orders", "--store", store, "--stopped-at", stopped.Format(time.RFC3339Nano))
		for _, want := range []string{"\n2        create ", "\n3-1023   create ", "/inuse/workId:2, last 2019-09-06T01:35:00.834Z", "worker id 1024 is none of the layout", "nothing was written"} {
			if !strings.Contains(said, want) {
				t.Errorf("%q is not in %s", want, said)
			}
		}
	})

	t.Run("twitter", func(t *testing.T) {
		process, _, err := zk.Connect([]string{server.Addr()}, 2*time.Second, zk.WithLogInfo(false))
		if err != nil {
			t.Fatal(err)
		}
		defer process.Close()
		create(takeover.TwitterPath, "", 0)
		if _, err := process.Create(takeover.TwitterPath+"/3", []byte("10.0.0.1:7609"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
			t.Fatal(err)
		}
		twitter := []string{"workers", "import", "twitter", "--zookeeper", server.Addr(), "--datacenter", "11", "--namespace", "tweets", "--store", store,
			"--last-id", "1541815603606036480", "--yes"}
		if said := run(exitUnsafe, twitter...); !strings.Contains(said, "worker 355, /snowflake-servers/3: its node is there") {
			t.Errorf("while it runs: %s", said)
		}
		process.Close() // its session, and its node
		if said := run(exitOK, twitter...); !strings.Contains(said, "352-383  create") || !strings.Contains(said, "32 worker ids; 32 written") {
			t.Errorf("after that: %s", said)
		}
	})
}

// later is a clock that is ahead.
type later struct {
	snowfence.Clock
	by time.Duration
}

func (l later) Wall() time.Time { return l.Clock.Wall().Add(l.by) }

func TestReleaseInAFullPoolSaysForHowLongThereAreNoIDs(t *testing.T) {
	l, err := snowfence.ParseLayout("ms41-worker1-seq21@2026-01-01")
	if err != nil {
		t.Fatal(err)
	}
	p, stdout, stderr, s, folder := inStore(t, l)
	for i, want := range []string{"if one is free; worker 0 can be claimed from ", "no other worker id is free, so a holder that lives gives no ids until one is; worker 0 can be claimed from "} {
		worker := int64(i)
		h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: l, Worker: &worker})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = h.Close(context.Background()) })
		stdout.Reset()
		if code := p.run(t.Context(), "workers", "release", "0", "--dry-run", "--store", "file:"+folder); code != exitOK || !strings.Contains(stdout.String(), want) {
			t.Errorf("%d holders: exit code %d: %s%s", i+1, code, stdout, stderr)
		}
	}
}
