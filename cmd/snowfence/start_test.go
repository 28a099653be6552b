//go:build servers

package main

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

// starter starts daemons of one store, each when the one before has ended.
type starter struct {
	t         testing.TB
	arguments []string
	d         *testkit.Daemon
	ids       []snowfence.ID
}

// start starts a daemon with a state directory, and returns how long its first id takes.
func (s *starter) start(data string) time.Duration {
	s.t.Helper()
	begun := time.Now()
	s.d = readyDaemon(s.t, append(slices.Clip(s.arguments), "--data", data)...)
	var err error
	if s.ids, err = testkit.Mint(s.t.Context(), testkit.Client(), s.d.URL, "default", 1, s.ids); err != nil {
		s.t.Fatalf("%v\n%s", err, s.d.Log())
	}
	return time.Since(begun)
}

// TestProgramStartedAgainGoesOnWithItsTermThoughItsLossyStoreIsAway ends a daemon by SIGTERM, and kills the next one when its
// store is stopped or gone. Nothing is configured but the store: the journal, which the daemon keeps by itself beside a lossy
// store, is enough.
func TestProgramStartedAgainGoesOnWithItsTermThoughItsLossyStoreIsAway(t *testing.T) {
	t.Parallel()
	for how, away := range map[string]func(*testkit.Server){"stopped": (*testkit.Server).Pause, "gone": (*testkit.Server).Kill} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			e := testkit.StartEngine(t, "redis")
			s := &starter{t: t, arguments: []string{"--store", e.URL("", 3*time.Second)}}
			here := t.TempDir()
			s.start(here)
			ended(t, s.d)
			awaitLine(t, s.d, "left its worker id to the next process")
			s.start(here)
			awaitLine(t, s.d, "resumed a term from the journal")
			away(e.Server)
			s.d.Kill()
			s.start(here)
			awaitLine(t, s.d, "resumed a term from the journal")
			if err := countertest.Distinct(s.ids); err != nil || len(s.ids) != 3 {
				t.Errorf("the ids are %d, %v", s.ids, err)
			}
		})
	}
}

// TestProgramStartsWhileAStoreIsAway starts a daemon with generators on two stores while one store is down.
// The other's generator serves meanwhile, and the store's generators serve once it is there.
func TestProgramStartsWhileAStoreIsAway(t *testing.T) {
	t.Parallel()
	here, away := testkit.StartEngine(t, "etcd"), testkit.StartEngine(t, "postgres")
	away.Server.Kill()
	d := startDaemon(t, "--config", written(t, fmt.Sprintf(`store: %s
stores: {sql: %q}
generators:
  orders: {}
  chat: {store: sql, namespace: chat}
  tickets: {store: sql, kind: ticket}
`, here.URL("", 0), away.URL("", 0))))
	client := testkit.Client()
	ready := func(path string) bool {
		return ask(t, http.MethodGet, d.URL+path).status == http.StatusOK
	}
	for !ready("/readyz/orders") {
		runtime.Gosched()
	}
	for _, name := range []string{"chat", "tickets"} {
		awaitLine(t, d, `level=WARN msg="the generator can't start yet: it is tried again" generator=`+name)
		if ready("/readyz/" + name) {
			t.Errorf("%s is ready without its store", name)
		}
	}
	if _, err := testkit.Mint(t.Context(), client, d.URL, "orders", 1, nil); err != nil {
		t.Error(err)
	}
	away.Server.Start()
	d.WaitReady()
	for _, name := range []string{"chat", "tickets"} {
		if _, err := testkit.Mint(t.Context(), client, d.URL, name, 1, nil); err != nil {
			t.Error(err)
		}
	}
}

// TestProgramEndsInOrderWhileItsStoreIsAway asks a daemon to end while its server is stopped or gone. It
// exits with 0, and names the worker id that can't be claimed, and until when.
func TestProgramEndsInOrderWhileItsStoreIsAway(t *testing.T) {
	t.Parallel()
	for engine, away := range map[string]func(*testkit.Server){"etcd": (*testkit.Server).Pause, "postgres": (*testkit.Server).Kill} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			e := testkit.StartEngine(t, engine)
			config := written(t, "generators:\n  default: {}\n  users: {kind: segment}\n")
			s := &starter{t: t, arguments: []string{"--config", config, "--store", e.URL("", time.Second)}}
			s.start(t.TempDir())
			away(e.Server)
			ended(t, s.d)
			awaitLine(t, s.d, `level=WARN msg="did not give the worker id back, which can't be claimed until then" generator=default`)
			awaitLine(t, s.d, `level=WARN msg="did not give unused numbers back: the counter skips them" generator=users`)
			awaitLine(t, s.d, "level=INFO msg=ended")
		})
	}
}

// BenchmarkStart measures from the start of the program to its first id, by HTTP: in a new namespace,
// after SIGTERM and after SIGKILL on the same host, and on another host, which has no journal.
func BenchmarkStart(b *testing.B) {
	for _, engine := range []struct {
		name, server string
		durable      bool
	}{
		{"file", "file", true},
		{"etcd", "etcd", true},
		{"postgres-durable", "postgres", true},
		{"postgres", "postgres", false},
		{"redis", "redis", false},
	} {
		b.Run(engine.name, func(b *testing.B) {
			e := testkit.StartEngine(b, engine.server)
			url := e.URL("", 15*time.Second)
			if !engine.durable {
				url = strings.Replace(url, "durable=true", "loss=15s", 1)
			}
			took := map[string][]time.Duration{}
			for round := 0; b.Loop(); round++ {
				s := &starter{t: b, arguments: []string{"--store", url, "--namespace", "round" + string(rune('a'+round%26))}}
				here := b.TempDir()
				took["new"] = append(took["new"], s.start(here))
				ended(s.t, s.d)
				took["again"] = append(took["again"], s.start(here))
				s.d.Kill()
				took["killed"] = append(took["killed"], s.start(here))
				ended(s.t, s.d)
				took["elsewhere"] = append(took["elsewhere"], s.start(b.TempDir()))
				ended(s.t, s.d)
			}
			b.ReportMetric(0, "ns/op")
			for what, times := range took {
				slices.Sort(times)
				b.ReportMetric(times[len(times)/2].Seconds(), "s-"+what)
			}
		})
	}
}

// TestProgramHasItsOwnTimeZones: an image with the program alone has no others, and daily numbers need them.
func TestProgramHasItsOwnTimeZones(t *testing.T) {
	program, err := os.ReadFile(executable(t, ""))
	if err != nil || !bytes.Contains(program, []byte("Asia/Kathmandu")) {
		t.Errorf("Asia/Kathmandu is not in the program: %v", err)
	}
}
