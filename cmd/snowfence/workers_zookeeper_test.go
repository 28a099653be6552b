//go:build servers

package main

import (
	"bufio"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/internal/testkit"
)

// TestOldSystemsAreTakenOverFromTheirZooKeeper stops a Leaf whose clock is ahead,
// is refused while it still uploads, and issues none of its ids again; and does
// the same to the others as far as they differ.
func TestOldSystemsAreTakenOverFromTheirZooKeeper(t *testing.T) {
	t.Parallel()
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
	folder := imports.LeafPath("orders")
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

	p, _, _ := inTest(t)
	store := "file:" + filepath.Join(t.TempDir(), "store")
	run := func(want int, args ...string) string {
		t.Helper()
		stdout, stderr := p.must(t, want, args...)
		return stdout + stderr
	}
	applied := func(args ...string) []line {
		t.Helper()
		stdout, _ := p.must(t, exitOK, append(args, "--yes")...)
		return lines(t, stdout)
	}
	take := []string{"workers", "import", "leaf", "--zookeeper", server.Addr(), "--name", "orders", "--namespace", "orders", "--store", store, "--watch", "300ms", "-o", "json"}

	// The time of the stop is missing.
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
	plan := applied(take...)
	if len(plan) != 3 || plan[0].Action != "create" || plan[1].Action != "create" || !plan[2].Applied {
		t.Errorf("plan %+v", plan)
	}
	again := applied(take...)
	if len(again) != 3 || again[0].Action != "keep" || again[1].Action != "keep" {
		t.Errorf("again %+v", again)
	}

	// A pinned claim now is refused with the reason; 20 minutes later it is not.
	config := written(t, "generators:\n  default:\n    namespace: orders\n    preset: leaf\n    worker: 1\n")
	next := []string{"next", "-n", "5000", "--config", config, "--store", store}
	if said := run(exitUnsafe, next...); !strings.Contains(said, "behind the ticks of worker 1, whose last write was by") {
		t.Errorf("at once: %s", said)
	}
	p.clock = later{snowfence.SystemClock(), 20 * time.Minute}
	stdout, _ := p.must(t, exitOK, next...)
	for text := range strings.Lines(stdout) {
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
		pool := imports.RecyclablePath("orders")
		create(pool, "", 0)
		create(pool+"/notuse", "", 0)
		create(pool+"/notuse/workId:1024", `{"workId":1024,"lastUsedIp":null,"lastUsedPort":null,"lastUsedTimestamp":null}`, 0)
		create(pool+"/inuse", "", 0)
		create(pool+"/inuse/workId:2", `{"workId":2,"lastUsedIp":"10.0.0.1","lastUsedPort":"8080","lastUsedTimestamp":1567733700834}`, 0)
		said := run(exitOK, "workers", "import", "leaf-recyclable", "--zookeeper", server.Addr(), "--name", "orders", "--watch", "50ms",
			"--namespace", "orders", "--store", store, "--stopped-at", stopped.Format(time.RFC3339Nano))
		for _, want := range []string{"\n2        create ", "\n3-1023   create ", "/inuse/workId:2, last 2019-09-06T01:35:00.834Z", "nothing was written"} {
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
		create(imports.TwitterPath, "", 0)
		if _, err := process.Create(imports.TwitterPath+"/3", []byte("10.0.0.1:7609"), zk.FlagEphemeral, zk.WorldACL(zk.PermAll)); err != nil {
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

// TestPageOfTakingOverWorksAsWritten runs the commands of docs/taking-over.md with its configuration. Old ids
// come from a system of the same layout that has the worker ids 0 to 31.
func TestPageOfTakingOverWorksAsWritten(t *testing.T) {
	page, config := pageText(t, "taking-over.md"), block(t, "taking-over.md", "yaml\n")
	t.Chdir(t.TempDir())
	write(t, "snowfence.yaml", config)
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	p, _, _ := inTest(t)
	p.environ = append(p.environ, "HOME="+filepath.Join(t.TempDir(), "home"))
	run := func(line string) string {
		t.Helper()
		stdout, _ := p.must(t, exitOK, strings.Fields(line)[1:]...)
		return stdout
	}
	next := func() snowfence.Parts {
		t.Helper()
		id, err := snowfence.Parse(strings.TrimSpace(run("snowfence next --config snowfence.yaml")))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := twitter.Layout.Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	commands := 0
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		line, indented := strings.CutPrefix(lines.Text(), "    ")
		if !indented || !strings.HasPrefix(line, "snowfence ") {
			continue
		}
		commands++
		said := run(line)
		switch {
		case strings.Contains(line, "merge-check"):
			if !strings.Contains(said, "none: no id can ever be issued twice") {
				t.Errorf("%s: %s", line, said)
			}
		case strings.Contains(line, " import "):
			if !strings.Contains(said, "32 worker ids; 32 written") {
				t.Errorf("%s: %s", line, said)
			}
		}
		if commands > 1 {
			for range 3 {
				if parts := next(); parts.Datacenter == 0 {
					t.Errorf("after %q an id has a worker id of the old system: %+v", line, parts)
				}
			}
		}
	}
	if commands != 7 {
		t.Errorf("the page has %d commands, want 7", commands)
	}
	// With the division taken out, the old worker ids are claimed too, above the floor.
	open := strings.Replace(config, "workers: 32-1023", "workers: 0-31", 1)
	write(t, "snowfence.yaml", open)
	if parts := next(); parts.Datacenter != 0 {
		t.Errorf("%+v", parts)
	}
}
