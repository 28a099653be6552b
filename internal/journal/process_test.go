//go:build linux || darwin

package journal_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/filestore"
)

// The test binary is also the program whose processes the tests run: with this
// in its environment it issues ids instead of testing.
const (
	issueIn = "JOURNAL_TEST_ISSUE_IN" // the folder with the store and the journal
	away    = "JOURNAL_TEST_AWAY"     // the store does not answer
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(issueIn); dir != "" {
		if err := issue(dir, os.Getenv(away) != ""); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// issue writes ids to standard output until it is killed, each in a line of its
// own, after a line with their term and whether it was resumed.
func issue(dir string, away bool) error {
	ctx := context.Background()
	s, err := filestore.Open(ctx, filestore.Config{Dir: filepath.Join(dir, "store")})
	if err != nil {
		return err
	}
	j, err := journal.Open(journal.Config{Dir: filepath.Join(dir, "journal")})
	if err != nil {
		return err
	}
	var used store.Store = s
	if away {
		used = faultstore.New(s, faultstore.Always(faultstore.Fault{Before: true}), nil)
	}
	h, err := fence.Open(ctx, fence.Config{
		Store: used, Window: time.Hour, Worker: new(int64), Journal: j, ClaimWait: time.Second,
		Process: fence.Process{Host: "here", PID: os.Getpid()},
	})
	if err != nil {
		return err
	}
	status := h.Status()
	out := bufio.NewWriter(os.Stdout) // it keeps its first error for Flush
	_, _ = fmt.Fprintln(out, status.Term, status.Journal.Resumed)
	ids := make([]snowfence.ID, 500)
	for {
		if err := h.Fill(ctx, ids); err != nil {
			return err
		}
		for _, id := range ids {
			_, _ = fmt.Fprintln(out, int64(id))
		}
		if err := out.Flush(); err != nil {
			return err
		}
	}
}

// run runs a process until it has issued some ids, and kills it. A page half written when it was killed
// is left out.
func run(t *testing.T, dir string, storeAway bool, most int) (first string, ids []int64) {
	t.Helper()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), issueIn+"="+dir)
	if storeAway {
		c.Env = append(c.Env, away+"=1")
	}
	var trouble strings.Builder
	c.Stderr = &trouble
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	watchdog := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
	defer watchdog.Stop()
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		if first == "" {
			first = lines.Text()
			continue
		}
		id, err := strconv.ParseInt(lines.Text(), 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		if ids = append(ids, id); len(ids) == most {
			if err := c.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_ = c.Wait() // it was killed
	if len(ids) < most {
		t.Fatalf("%d ids after %q: %s", len(ids), first, trouble.String())
	}
	return first, ids[:len(ids)-1] // the last line may be cut short
}

func TestKilledProcessGoesOnWithItsTermThoughTheStoreIsAway(t *testing.T) {
	dir := t.TempDir()
	seen := map[int64]bool{}
	last := int64(0)
	for round := range 6 {
		first, ids := run(t, dir, round > 0, 20_000*(1+round%3))
		if want := fmt.Sprint("1 ", round > 0); first != want {
			t.Errorf("round %d: term and resumed are %s, not %s", round, first, want)
		}
		for _, id := range ids {
			if seen[id] || id <= last {
				t.Fatalf("round %d: %d after %d", round, id, last)
			}
			seen[id], last = true, id
		}
	}
	// Without the journal the pinned worker id rests for the hour.
	if err := os.Rename(filepath.Join(dir, "journal"), filepath.Join(dir, "elsewhere")); err != nil {
		t.Fatal(err)
	}
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), issueIn+"="+dir)
	if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), "is held by") && !strings.Contains(string(out), "held by pid") {
		t.Errorf("without its journal: %s, %v", out, err)
	}
}

func TestNetworkFileSystemIsRefusedUntouched(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "journal")
	at := func(path string) (disk.System, error) {
		if path != dir {
			t.Errorf("looked at %s", path)
		}
		return disk.System{Name: "NFS", Network: true}, nil
	}
	if _, err := journal.OpenAt(journal.Config{Dir: dir}, at); !errors.Is(err, journal.ErrNetwork) || !strings.Contains(err.Error(), "NFS") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder was made: %v", err)
	}
}

func TestJournalIsOfOneProcessAtATime(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "journal")
	first, err := journal.Open(journal.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	_, err = journal.Open(journal.Config{Dir: dir})
	var used *journal.InUseError
	if !errors.As(err, &used) || used.Owner != fmt.Sprintf("pid %d", os.Getpid()) || used.Path != dir {
		t.Errorf("the error is %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	if err := first.Keep(nil); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("after it was closed: %v", err)
	}
	second, err := journal.Open(journal.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := second.Take(); err != nil {
		t.Fatal(err)
	}
	if _, err := second.Take(); !errors.Is(err, journal.ErrTaken) {
		t.Errorf("a second holder: %v", err)
	}
	if err := errors.Join(second.Close(), second.Close()); err != nil {
		t.Error(err)
	}
}
