//go:build linux || darwin

package filestore

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/internal/disk"
	"snowfence.example/snowfence/store"
)

// The test binary is also a process that stops itself in the midst of a swap.
const (
	stopIn     = "FILESTORE_TEST_STOP_IN" // the store's folder
	stopAt     = "FILESTORE_TEST_STOP_AT" // the change of the folder before which it stops
	conflicted = "conflict"               // its value if its swap comes too late
)

// stopping is a folder whose user stops itself, as if by SIGSTOP from outside, before the
// nth change.
type stopping struct {
	disk.Folder
	left int
}

func (s *stopping) change() error {
	if s.left--; s.left != 0 {
		return nil
	}
	// The kernel may stop another thread first, and this one would go on for a while.
	resumed := make(chan os.Signal, 1)
	signal.Notify(resumed, syscall.SIGCONT)
	defer signal.Stop(resumed)
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		return err
	}
	<-resumed
	return nil
}

func (s *stopping) Create(path string) (disk.File, error) {
	if err := s.change(); err != nil {
		return nil, err
	}
	return s.Folder.Create(path)
}

func (s *stopping) Rename(from, to string) error {
	return errors.Join(s.change(), s.Folder.Rename(from, to))
}

func (s *stopping) Sync(path string) error {
	return errors.Join(s.change(), s.Folder.Sync(path))
}

func (s *stopping) Remove(path string) error {
	return errors.Join(s.change(), s.Folder.Remove(path))
}

// stopInSwap swaps a register, and stops itself on the way.
func stopInSwap(dir, at string) error {
	n, err := strconv.Atoi(at)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		return err
	}
	e, err := s.Get(ctx, "key")
	if err != nil {
		return err
	}
	s.disk = &stopping{s.disk, n}
	if _, err = s.Swap(ctx, "key", e.Version, []byte("stopped")); errors.Is(err, store.ErrConflict) {
		_, err = fmt.Fprintln(os.Stdout, conflicted)
	}
	return errors.Join(err, s.Close())
}

// TestStoppedWriterHoldsNobodyUp stops a process before each of its changes in a swap. Others
// read and swap meanwhile, and none of their swaps is lost when it goes on.
func TestStoppedWriterHoldsNobodyUp(t *testing.T) {
	made := 0
	for at, name := range []string{"create", "rename", "sync", "remove"} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s := open(t, dir)
			swap(t, s, "key", "", "before")
			command := exec.CommandContext(t.Context(), os.Args[0])
			command.Env = append(os.Environ(), stopIn+"="+dir, fmt.Sprintf("%s=%d", stopAt, at+1))
			var output, complaint strings.Builder
			command.Stdout, command.Stderr = &output, &complaint
			if err := command.Start(); err != nil {
				t.Fatal(err)
			}
			var status syscall.WaitStatus
			if _, err := syscall.Wait4(command.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
				t.Fatalf("not stopped: %v, %v, %s", status, err, complaint.String())
			}
			e, err := s.Get(t.Context(), "key")
			if err != nil {
				t.Fatal(err)
			}
			version := swap(t, s, "key", e.Version, "meanwhile")
			version = swap(t, s, "key", version, "after")
			if err := command.Process.Signal(syscall.SIGCONT); err != nil {
				t.Fatal(err)
			}
			if err := command.Wait(); err != nil {
				t.Fatalf("%v: %s", err, complaint.String())
			}
			conflict := strings.TrimSpace(output.String()) == conflicted
			if conflict != (string(e.Value) == "before") {
				t.Errorf("it ends with a conflict: %t, though %q was there", conflict, e.Value)
			}
			if !conflict {
				made++
			}
			if now, err := s.Get(t.Context(), "key"); err != nil || now.Version != version {
				t.Errorf("%q, %v", now.Value, err)
			}
			names, err := os.ReadDir(filepath.Join(dir, filepath.FromSlash(registerPath("key"))))
			if err != nil || len(names) != 2 {
				t.Errorf("left behind: %v, %v", names, err)
			}
		})
	}
	if made != 2 {
		t.Errorf("%d swaps are made, want the ones stopped after the rename", made)
	}
}
