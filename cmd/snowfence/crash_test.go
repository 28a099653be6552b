package main

import (
	"context"
	"encoding/binary"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

var (
	crashRounds = flag.Int("crash.rounds", 4, "rounds of kill -9 and restart in the crash test")
	crashIDs    = flag.Int("crash.ids", 1_000_000, "ids that the crash test collects at the least, of all its processes together")
)

// Four processes on one file store are killed and started again at random
// moments, one of them with its clock an hour further back each time.
func TestCrashesAndClocksSetBackNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	const processes = 4
	data := t.TempDir()
	var subjects [processes]*subject
	quota := int64(max(10_000, *crashIDs/processes / *crashRounds + 1))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var group, callers sync.WaitGroup
	for p := range processes {
		s := newSubject(t, p, "--data", data)
		callers.Go(func() { s.mint(ctx, 10_000, 0) })
		group.Go(func() {
			random := rand.New(rand.NewPCG(uint64(p), 1))
			for round := range *crashRounds {
				if p == processes-1 {
					s.setClock(-time.Duration(round) * time.Hour)
				}
				want := s.minted.Load() + quota
				d := s.start()
				if !s.await(want, testkit.Hang) {
					t.Errorf("process %d, round %d: %d ids, want %d:\n%s", p, round, s.minted.Load(), want, s.log())
					return
				}
				pause(ctx, between(random, 0, 100*time.Millisecond))
				d.Kill()
			}
		})
		subjects[p] = s
	}
	group.Wait()
	stop()
	callers.Wait()
	if t.Failed() {
		return
	}
	ids := make([][]snowfence.ID, processes)
	for p, s := range subjects {
		ids[p] = s.ids
	}
	for p, list := range ids {
		t.Logf("process %d: %d ids in %d rounds", p, len(list), *crashRounds)
		if len(list) < *crashIDs/processes {
			t.Errorf("process %d made only %d ids", p, len(list))
		}
	}
	if out, found := duplicates(t, ids); found {
		t.Errorf("duplicates:\n%s", out)
	} else {
		t.Log(strings.TrimSpace(out))
	}
	// The program that found none does find one: an id of the first process is planted among the last
	// one's.
	planted := ids[0][len(ids[0])/2]
	ids[3] = append(ids[3], planted)
	out, found := duplicates(t, ids)
	if !found || !strings.HasPrefix(out, planted.String()+":") || !strings.Contains(out, ", 1 duplicates") {
		t.Errorf("the planted id %s is not the found one:\n%s", planted, out)
	} else {
		t.Log("planted:", strings.TrimSpace(out))
	}
}

// duplicates runs the program of that name on a file for each list, and reports its findings.
func duplicates(t *testing.T, lists [][]snowfence.ID) (out string, found bool) {
	t.Helper()
	dir := t.TempDir()
	var files []string
	for i, ids := range lists {
		content := make([]byte, 0, 8*len(ids))
		for _, id := range ids {
			content = binary.BigEndian.AppendUint64(content, uint64(id))
		}
		files = append(files, filepath.Join(dir, fmt.Sprintf("%d.ids", i)))
		if err := os.WriteFile(files[i], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	program := testkit.Build(t, "snowfence.example/snowfence/internal/testkit/duplicates", "")
	content, err := exec.Command(program, files...).CombinedOutput()
	var ended *exec.ExitError
	if err != nil && (!errors.As(err, &ended) || ended.ExitCode() != 1) {
		t.Fatalf("%v\n%s", err, content)
	}
	return string(content), err != nil
}
