package main

import (
	"encoding/json"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// answer is the part of merge-check's JSON that tests look at.
type answer struct {
	Verdict string `json:"verdict"`
	Sides   []struct {
		Name         string `json:"name"`
		IDs          uint64 `json:"ids"`
		ClashingRows uint64 `json:"clashing_rows"`
	} `json:"sides"`
	Data struct {
		Clashing uint64 `json:"clashing_ids"`
		Renumber uint64 `json:"rows_to_renumber"`
		First    []struct {
			ID string `json:"id"`
		} `json:"first"`
	} `json:"data"`
	Forecasts []struct {
		Outcome   string `json:"outcome"`
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

// TestMergesAreCheckedOnRealEngines compares two namespaces of each engine, and two
// tables of each database.
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
			if d.Verdict != "possible" || d.Forecasts[0].Outcome != "possible" {
				t.Errorf("%+v", d)
			}
			// Worker number 9 of us is kept back, so one that only has 9 can't clash with it
			// any more; what was before its floor may have.
			d = merged(t, p, exitOK, us, "other=layout:twitter#9/since=2026-02-01")
			if d.Verdict != "none" || d.Forecasts[0].Outcome != "never" {
				t.Errorf("%+v", d)
			}
			d = merged(t, p, exitUnsafe, us, "other=layout:twitter#9/since=2025-02-01")
			if d.Verdict != "possible" || d.Forecasts[0].FromNowOn != "" {
				t.Errorf("%+v", d)
			}
			if name == "postgres" || name == "mysql" {
				checkColumns(t, p, strings.TrimSuffix(at, "?durable=true"))
			}
		})
	}
}

// checkColumns compares two tables of a database.
func checkColumns(t *testing.T, p program, at string) {
	t.Helper()
	execute(t, at, "CREATE TABLE players_eu (id bigint)", "CREATE TABLE players_us (id bigint)",
		"INSERT INTO players_eu VALUES (1), (2), (3), (9000000000000000000)", "INSERT INTO players_us VALUES (3), (4), (2)")
	d := merged(t, p, exitFailure, "eu="+at+"#table=players_eu,column=id", "us="+at+"#query=select id from players_us where id > 2")
	if d.Data.Clashing != 1 || d.Data.First[0].ID != "3" || d.Sides[1].IDs != 2 {
		t.Errorf("%+v", d)
	}
}

// TestInterruptOfAMergeCheckIsNoVerdict has a signal come while it waits for input:
// 1 would mean a clash.
func TestInterruptOfAMergeCheckIsNoVerdict(t *testing.T) {
	file := written(t, "7\n")
	for _, args := range [][]string{
		{"eu=layout:twitter", "us=-"}, // compared with nothing
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
