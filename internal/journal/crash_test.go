package journal

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/stored"
)

// found is the page that a new process takes, "" for nothing. A refused page counts as nothing; every
// other error is one.
func found(m *machine) (string, error) {
	j, p, err := open(m)
	if err != nil {
		return "", err
	}
	defer p.Kill()
	page, err := j.Take()
	if err != nil && !errors.Is(err, stored.ErrJournalRefused) {
		return "", err
	}
	return string(page), nil
}

// life is a process's use of a journal: it takes the page, and keeps page after page. It returns the
// page that was kept last and the one that it was about to keep when something failed.
func life(j *Journal, pages ...string) (kept, next string) {
	if _, err := j.Take(); err != nil {
		return "", ""
	}
	for _, page := range pages {
		if j.Keep([]byte(page)) != nil {
			return kept, page
		}
		kept = page
	}
	return kept, ""
}

var fourPages = []string{"page one", "page two, which is longer", "page three", "page 4"}

// crashes kills a process at each step of its life, with and without a loss of
// power, and returns an error if a page is found that must not be.
func crashes(m *machine, rounds int) (seen map[string]int, err error) {
	seen = map[string]int{}
	random := rand.New(rand.NewPCG(1, 2))
	for kill := 1; ; kill++ {
		base := m.clone()
		j, p, err := open(base)
		if err != nil {
			return seen, err
		}
		p.killAt = kill
		kept, next := life(j, fourPages...)
		ended := p.Dead()
		p.Kill()
		for round := range rounds {
			after, how := base.clone(), "killed"
			if round > 0 {
				after.losePower(random)
				how = "killed and power lost"
			}
			got, err := found(after)
			if err != nil {
				return seen, fmt.Errorf("%s at step %d: %w", how, kill, err)
			}
			// Nothing is always safe. A page that is older than the last one that
			// was kept never is.
			if got != "" && got != kept && got != next {
				return seen, fmt.Errorf("%s at step %d (%s): found %q, kept %q, was to keep %q", how, kill, p.trace[len(p.trace)-1], got, kept, next)
			}
			if round == 0 && got == "" && kept != "" && p.trace[len(p.trace)-1] != "write" {
				return seen, fmt.Errorf("killed at step %d (%s): found nothing, kept %q", kill, p.trace[len(p.trace)-1], kept)
			}
			seen[got]++
			if again, err := found(after); err != nil || again != "" {
				return seen, fmt.Errorf("%s at step %d: found %q once more, %w", how, kill, again, err)
			}
		}
		if !ended {
			return seen, nil
		}
	}
}

func TestKillOrPowerLossAtAnyStepNeverLeavesAnOlderPage(t *testing.T) {
	seen, err := crashes(newMachine(), 40)
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range append(slices.Clone(fourPages), "") {
		if seen[page] == 0 {
			t.Errorf("%q was never found: %v", page, seen)
		}
	}
}

// TestMutantsFsyncThatDoesNothingIsCaught shows that the test above would notice
// a journal that takes a failed or missing fsync for a good one.
func TestMutantsFsyncThatDoesNothingIsCaught(t *testing.T) {
	m := newMachine()
	m.lies.deaf = 4
	if _, err := crashes(m, 40); err == nil {
		t.Error("no older page was found")
	} else {
		t.Log(err)
	}
}

// taken returns a machine with a page that was kept by a process that died.
func taken(t *testing.T) *machine {
	t.Helper()
	m := newMachine()
	j, p := start(t, m)
	if kept, next := life(j, fourPages...); kept != fourPages[3] || next != "" {
		t.Fatalf("kept %q", kept)
	}
	p.Kill()
	return m
}

func TestPageIsTakenOnceWhereverTheTakerDies(t *testing.T) {
	base := taken(t)
	random := rand.New(rand.NewPCG(3, 4))
	for kill := 1; ; kill++ {
		m := base.clone()
		j, p := start(t, m)
		p.killAt = kill
		page, err := j.Take()
		ended := p.Dead()
		p.Kill()
		if err == nil && string(page) != fourPages[3] {
			t.Fatalf("killed at step %d: took %q", kill, page)
		}
		for round := range 20 {
			after := m.clone()
			if round > 0 {
				after.losePower(random)
			}
			got, failed := found(after)
			if failed != nil || got != "" && got != fourPages[3] {
				t.Fatalf("killed at step %d: found %q, %v", kill, got, failed)
			}
			if err == nil && got != "" {
				t.Fatalf("killed at step %d: %q was taken, and is found again", kill, got)
			}
		}
		if !ended {
			return
		}
	}
}

func TestFailureAtAnyStepEndsTheUseAndWhatIsDiscardedIsGone(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	for fail := 1; ; fail++ {
		m := taken(t)
		j, p := start(t, m)
		p.failAt = fail
		_, took := j.Take()
		var kept error
		for _, page := range fourPages {
			if kept = j.Keep([]byte(page)); kept != nil {
				break
			}
		}
		if len(p.trace) < fail {
			return
		}
		if took == nil && (kept == nil || !errors.Is(kept, ErrFailed) || !errors.Is(kept, errDisk)) {
			t.Fatalf("step %d (%s) failed: keep returned %v", fail, p.trace[fail-1], kept)
		}
		if errors.Is(took, stored.ErrJournalRefused) {
			p.Kill()
			continue // its page can't be distinguished from a copy, and is gone
		}
		if err := j.Keep([]byte("more")); !errors.Is(err, ErrFailed) {
			t.Fatalf("step %d (%s) failed, and a later page: %v", fail, p.trace[fail-1], err)
		}
		if err := j.Discard(); err != nil {
			t.Fatalf("discard: %v", err)
		}
		p.Kill()
		for range 10 {
			after := m.clone()
			after.losePower(random)
			if got, err := found(after); err != nil || got != "" {
				t.Fatalf("step %d (%s) failed: found %q after it was discarded, %v", fail, p.trace[fail-1], got, err)
			}
		}
	}
}

func TestDiscardThatFailsSaysSo(t *testing.T) {
	for fail := 1; ; fail++ {
		m := newMachine()
		j, p := living(t, m, fourPages...)
		begun := len(p.trace)
		p.failAt = begun + fail
		err := j.Discard()
		if len(p.trace) < p.failAt {
			if err != nil {
				t.Fatal(err)
			}
			return
		}
		if !errors.Is(err, errDisk) {
			t.Errorf("step %d (%s) failed: %v", fail, p.trace[p.failAt-1], err)
		}
		if err := j.Discard(); err != nil {
			t.Errorf("the second time: %v", err)
		}
	}
}

// copies are the ways in which files come to be where they were not written, as
// far as the machine of these tests knows them: the content of one file as it
// was earlier is put where it is now, whatever number the file gets.
func copies(t *testing.T, m *machine) error {
	t.Helper()
	for _, names := range [][]string{{oddName}, {evenName}, {oddName, evenName}} {
		for earlier := range fourPages {
			for _, anew := range []bool{false, true} {
				after := m.clone()
				j, p, err := open(after)
				if err != nil {
					return err
				}
				if _, err := j.Take(); err != nil {
					return err
				}
				kept := map[string][]byte{}
				for i, page := range fourPages {
					if err := j.Keep([]byte(page)); err != nil {
						return err
					}
					if i == earlier {
						for _, name := range names {
							kept[name] = after.read(t, name)
						}
					}
				}
				p.Kill()
				for name, content := range kept {
					after.put(t, name, content, anew)
				}
				got, err := found(after)
				if err != nil {
					return err
				}
				if got != "" && got != fourPages[3] {
					return fmt.Errorf("%v as of page %d, with new files %v: found %q", names, earlier, anew, got)
				}
			}
		}
	}
	return nil
}

func TestEarlierContentOfAFileIsNeverTaken(t *testing.T) {
	if err := copies(t, newMachine()); err != nil {
		t.Error(err)
	}
}

func TestFileSystemThatTellsWholeSecondsIsRefused(t *testing.T) {
	m := newMachine()
	m.lies.stamp = changedAt(func(at time.Time) time.Time { return at.Truncate(time.Second) })
	j, p := start(t, m)
	if _, err := j.Take(); err != nil {
		t.Fatal(err)
	}
	if err := j.Keep([]byte("page")); !errors.Is(err, ErrUnsupported) || !errors.Is(err, ErrFailed) {
		t.Errorf("kept: %v", err)
	}
	if err := j.Discard(); err != nil {
		t.Error(err)
	}
	p.Kill()
	if page, err := found(m); page != "" || err != nil {
		t.Errorf("found %q, %v", page, err)
	}
}

func TestMutantsCopiedFileIsCaught(t *testing.T) {
	m := newMachine()
	m.lies.stamp = changedAt(func(time.Time) time.Time { return time.Unix(0, 1) })
	if err := copies(t, m); err == nil {
		t.Error("no copy was taken by a journal that does not look at when files changed")
	} else {
		t.Log(err)
	}
}
