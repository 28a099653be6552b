package main

import (
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
	const processes, batch = 4, 10_000
	data, ids := t.TempDir(), make([][]snowfence.ID, processes)
	quota := max(10_000, *crashIDs/processes / *crashRounds + 1)
	var group sync.WaitGroup
	for p := range processes {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(p), 1))
			s := newSubject(t, p, "--data", data)
			for round := range *crashRounds {
				if p == processes-1 {
					s.setClock(-time.Duration(round) * time.Hour)
				}
				d := s.start()
				d.WaitReady()
				started := len(ids[p])
				err := mintUntilKilled(t, d, r, quota, batch, &ids[p])
				if made := len(ids[p]) - started; made < quota {
					t.Errorf("process %d, round %d: %d ids, want %d: %v\n%s", p, round, made, quota, err, d.Log())
					return
				}
			}
		})
	}
	group.Wait()
	if t.Failed() {
		return
	}
	files := writeIDs(t, ids)
	for p, list := range ids {
		t.Logf("process %d: %d ids in %d rounds", p, len(list), *crashRounds)
		if len(list) < *crashIDs/processes {
			t.Errorf("process %d made only %d ids", p, len(list))
		}
	}
	if out, found := duplicates(t, files); found {
		t.Errorf("duplicates:\n%s", out)
	} else {
		t.Log(strings.TrimSpace(out))
	}
	// The program that found none does find one: an id of the first process is
	// planted among those of the last.
	planted := ids[0][len(ids[0])/2]
	ids[3] = append(ids[3], planted)
	out, found := duplicates(t, writeIDs(t, ids))
	if !found || !strings.HasPrefix(out, planted.String()+":") || !strings.Contains(out, ", 1 duplicates") {
		t.Errorf("the planted id %s is not what is found:\n%s", planted, out)
	} else {
		t.Log("planted:", strings.TrimSpace(out))
	}
}

// mintUntilKilled takes ids from a daemon, kills it at a random moment once
// there are enough, and returns the error that ended the last request.
func mintUntilKilled(t *testing.T, d *testkit.Daemon, r *rand.Rand, quota, batch int, ids *[]snowfence.ID) error {
	client := testkit.Client()
	defer client.CloseIdleConnections()
	enough := make(chan struct{})
	killed := make(chan struct{})
	moment := time.Duration(r.Int64N(int64(100 * time.Millisecond)))
	go func() {
		defer close(killed)
		<-enough
		time.AfterFunc(moment, d.Kill)
		d.WaitEnded()
	}()
	var err error
	for made, open := 0, true; err == nil; {
		before := len(*ids)
		*ids, err = testkit.Mint(t.Context(), client, d.URL, "default", 1+r.IntN(batch), *ids)
		if made += len(*ids) - before; open && (made >= quota || err != nil) {
			close(enough)
			open = false
		}
	}
	<-killed
	return err
}

// writeIDs writes a file for each list and returns their paths.
func writeIDs(t *testing.T, lists [][]snowfence.ID) []string {
	t.Helper()
	var files []string
	dir := t.TempDir()
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
	return files
}

// duplicates runs the program of that name and reports what it says.
func duplicates(t *testing.T, files []string) (out string, found bool) {
	t.Helper()
	program := testkit.Build(t, "snowfence.example/snowfence/internal/testkit/duplicates", "")
	content, err := exec.Command(program, files...).CombinedOutput()
	var ended *exec.ExitError
	if errors.As(err, &ended) && ended.ExitCode() == 1 {
		return string(content), true
	}
	if err != nil {
		t.Fatalf("%v\n%s", err, content)
	}
	return string(content), false
}
