package main

import (
	"encoding/json"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// answer is the part of merge-check's JSON that tests look at.
type answer struct {
	Verdict string `json:"verdict"`
	Sides   []struct {
		Name         string `json:"name"`
		IDs          uint64 `json:"ids"`
		ClashingRows uint64 `json:"clashing_rows"`
		Issuers      []struct {
			Quarantined []int64 `json:"quarantined"`
		} `json:"issuers"`
	} `json:"sides"`
	Data struct {
		Clashing uint64 `json:"clashing_ids"`
		Renumber uint64 `json:"rows_to_renumber"`
		First    []struct {
			ID string `json:"id"`
		} `json:"first"`
	} `json:"data"`
	Strays []struct {
		Own     bool   `json:"own"`
		Open    uint64 `json:"ids_still_to_issue"`
		Advice  string `json:"advice"`
		Workers []struct {
			First string `json:"first"`
		} `json:"workers"`
	} `json:"strays"`
	Forecasts []struct {
		Never     bool   `json:"never"`
		FromNowOn string `json:"possible_from"`
	} `json:"forecasts"`
}

// merged runs merge-check and reads its answer, which must show no password.
func merged(t *testing.T, p program, want int, args ...string) (d answer) {
	t.Helper()
	stdout, stderr := p.must(t, want, append(append([]string{"merge-check"}, args...), "-o", "json")...)
	if err := json.Unmarshal([]byte(stdout), &d); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(stdout+stderr, testkit.SQLPassword) {
		t.Errorf("a password is shown: %s%s", stdout, stderr)
	}
	return d
}

// lateReader is a clock that stands still until ids are read, and is an hour ahead
// from then on.
type lateReader struct {
	snowfence.Clock
	begun time.Time
	input io.Reader
	late  *atomic.Bool
}

func (c lateReader) Wall() time.Time {
	if c.late.Load() {
		return c.begun.Add(time.Hour)
	}
	return c.begun
}

func (c lateReader) Read(b []byte) (int, error) {
	c.late.Store(true)
	return c.input.Read(b)
}

// TestIDsThatAreIssuedWhileTheyAreReadAreNoStrays: the registers were read before,
// and the namespace went on.
func TestIDsThatAreIssuedWhileTheyAreReadAreNoStrays(t *testing.T) {
	t.Parallel()
	store := "file:" + filepath.Join(t.TempDir(), "ids")
	begun := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for minutes, want := range map[int64]int{30: exitOK, 59: exitOK, 61: exitUnsafe} {
		p, _, _ := inTest(t)
		p.must(t, exitOK, "workers", "import", "list", "--workers", "3", "--layout", "default", "--store", store, "--stopped-at", "2026-01-02T03:04:05Z", "--yes")
		l := snowfence.DefaultLayout()
		id, err := l.Compose(snowfence.Parts{Tick: l.TickAt(begun.Add(time.Duration(minutes) * time.Minute)), Worker: 3})
		if err != nil {
			t.Fatal(err)
		}
		clock := lateReader{p.clock, begun, strings.NewReader(id.String() + "\n"), new(atomic.Bool)}
		p.clock, p.stdin = clock, clock
		merged(t, p, want, "eu=-#encoding=decimal", "eu=namespace:"+store, "us=layout:twitter#9/until=2011-01-01")
	}
}

// TestMergesAreCheckedOnRealEngines holds two namespaces of each engine against
// each other, and what stands in databases against the namespaces.
func TestMergesAreCheckedOnRealEngines(t *testing.T) {
	t.Parallel()
	for _, name := range testkit.EngineNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at, _ := emptyStore(t, name, 500*time.Millisecond)
			p, _, _ := inTest(t)
			// Worker ids 0 to 7 of eu are fenced; of us, none is.
			p.must(t, exitOK, "workers", "import", "list", "--workers", "0-7", "--layout", "twitter", "--namespace", "eu", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--store", at)
			p.must(t, exitOK, "workers", "import", "list", "--workers", "9", "--layout", "twitter", "--namespace", "us", "--stopped-at", "2026-01-02T03:04:05Z", "--yes", "--store", at)
			p.must(t, exitOK, "workers", "quarantine", "9", "--namespace", "us", "--store", at)
			eu, us := "eu=namespace:"+at+"#eu", "us=namespace:"+at+"#us"
			d := merged(t, p, exitUnsafe, eu, us)
			if d.Verdict != "possible" || d.Forecasts[0].Never || len(d.Sides[1].Issuers[0].Quarantined) != 1 {
				t.Errorf("%+v", d)
			}
			// Worker number 9 of us is kept back, so one that only has 9 can't clash with it
			// any more; what was before its floor may have.
			d = merged(t, p, exitOK, us, "other=layout:twitter#9/since=2026-02-01")
			if d.Verdict != "none" || !d.Forecasts[0].Never {
				t.Errorf("%+v", d)
			}
			d = merged(t, p, exitUnsafe, us, "other=layout:twitter#9/since=2025-02-01")
			if d.Verdict != "possible" || d.Forecasts[0].FromNowOn != "" {
				t.Errorf("%+v", d)
			}
			if name == "postgres" || name == "mysql" {
				checkColumns(t, p, strings.TrimSuffix(at, "?durable=true"), eu)
			}
		})
	}
}

// checkColumns compares two tables of a database, and holds one against a
// namespace in the same.
func checkColumns(t *testing.T, p program, at, namespace string) {
	t.Helper()
	execute(t, at, "CREATE TABLE players_eu (id bigint)", "CREATE TABLE players_us (id bigint)",
		"INSERT INTO players_eu VALUES (1), (2), (3), (9000000000000000000)", "INSERT INTO players_us VALUES (3), (4), (2)")
	d := merged(t, p, exitFailure, "eu="+at+"#table=players_eu,column=id", "us="+at+"#query=select id from players_us where id > 2", namespace)
	if d.Data.Clashing != 1 || d.Data.First[0].ID != "3" || d.Sides[1].IDs != 2 {
		t.Errorf("%+v", d)
	}
	// The large one is of 2078, of a worker id that was never claimed.
	if len(d.Strays) != 2 || !d.Strays[0].Own || d.Strays[0].Open != 1 || d.Strays[0].Workers[0].First != "9000000000000000000" || d.Strays[0].Advice == "" {
		t.Errorf("%+v", d.Strays)
	}
}

// TestInterruptOfAMergeCheckIsNoVerdict has a signal come while it waits for input:
// 1 would mean a clash.
func TestInterruptOfAMergeCheckIsNoVerdict(t *testing.T) {
	file := written(t, "7\n")
	for _, args := range [][]string{
		{"eu=layout:twitter", "us=-"}, // only held against an issuer
		{"eu=" + file, "us=-"},        // sorted and compared
	} {
		code, stdout, stderr := interrupted(t, syscall.SIGTERM, append([]string{"merge-check"}, args...)...)
		if code != 143 || stdout != "" || stderr != "snowfence: interrupted; whether ids clash is not known\n" {
			t.Errorf("%v: exit code %d: %q, %q", args, code, stdout, stderr)
		}
	}
}

// TestVerdictThatCannotBeWrittenIsNone has a full disk take the answer: 1 would mean
// that ids clash.
func TestVerdictThatCannotBeWrittenIsNone(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		p, _, stderr := inTest(t)
		p.stdout = broken{syscall.ENOSPC}
		if code := p.run(t.Context(), "merge-check", "layout:twitter#1", "layout:twitter#2", "-o", form); code != exitUnavailable || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%s: exit code %d: %s", form, code, stderr)
		}
	}
}
