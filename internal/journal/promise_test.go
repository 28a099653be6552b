package journal

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

// Whoever finds another lock in the folder than its own leaves the files alone:
// they are of the process that has locked that one.
func TestOwnerWhoseLockIsGoneTouchesNothing(t *testing.T) {
	for name, test := range map[string]struct {
		pages []string // kept before it lost the lock
		do    func(*Journal) error
	}{
		"keeps its first page":                        {nil, func(j *Journal) error { return j.Keep([]byte("page")) }},
		"keeps a later page":                          {fourPages, func(j *Journal) error { return j.Keep([]byte("page")) }},
		"discards nothing":                            {nil, (*Journal).Discard},
		"discards the page that it thinks is its own": {fourPages, (*Journal).Discard},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMachine()
			first, _ := living(t, m, test.pages...)
			m.remove(t, lockName)
			_, p := living(t, m, "the second's")
			if err := test.do(first); !errors.Is(err, ErrReplaced) {
				t.Errorf("it returned %v", err)
			}
			p.Kill()
			if got, err := found(m); err != nil || got != "the second's" {
				t.Errorf("found %q, %v", got, err)
			}
		})
	}
}

// A page that went into a file which is no longer in the folder is not kept, and the file in its place is somebody else's.
func TestFileThatWasReplacedEndsTheUse(t *testing.T) {
	for _, name := range []string{oddName, evenName} {
		for _, keeps := range []bool{true, false} {
			m := newMachine()
			j, _ := living(t, m, fourPages...)
			copied := m.read(t, name)
			m.put(t, name, copied, true)
			if keeps {
				if err := j.Keep([]byte("page five")); !errors.Is(err, ErrReplaced) || !errors.Is(err, ErrFailed) {
					t.Errorf("%s was replaced, and keep returned %v", name, err)
				}
			}
			for range 2 {
				if err := j.Discard(); !errors.Is(err, ErrReplaced) || !bytes.Equal(m.read(t, name), copied) {
					t.Errorf("%s was replaced, and discard returned %v", name, err)
				}
			}
		}
	}
}

// Who ends must not wait for a disk for ever. Once it answers, the next process has
// the journal.
func TestCloseDoesNotWaitForADiskThatHangs(t *testing.T) {
	m := newMachine()
	j, p := living(t, m, fourPages...)
	hanging, goOn, kept := make(chan struct{}), make(chan struct{}), make(chan error)
	p.between = func() {
		p.between = nil
		close(hanging)
		<-goOn
	}
	go func() { kept <- j.Keep([]byte("page five")) }()
	<-hanging
	j.patience = time.Millisecond
	if err := j.Close(); err == nil || !strings.Contains(err.Error(), "/simulated: the disk did not answer for 1ms") {
		t.Errorf("the error is %v", err)
	}
	close(goOn)
	if err := <-kept; err != nil {
		t.Error(err)
	}
	j.patience = time.Hour
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	if page, err := found(m); err != nil || page != "page five" {
		t.Errorf("found %q, %v", page, err)
	}
}
