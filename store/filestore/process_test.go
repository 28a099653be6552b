//go:build linux || darwin

package filestore

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"

	"snowfence.example/snowfence/store"
)

// The test binary is also the program whose processes the tests run: with this
// in its environment it counts instead of testing.
const (
	countIn   = "FILESTORE_TEST_COUNT_IN" // the store's folder
	countAs   = "FILESTORE_TEST_COUNT_AS" // the counter's index
	tally     = "tally"                   // the register that all count in
	counters  = 4
	countLast = 40 // how far each counts
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(countIn); dir != "" {
		if err := count(dir, os.Getenv(countAs)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if dir := os.Getenv(stopIn); dir != "" {
		if err := stopInSwap(dir, os.Getenv(stopAt)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// count counts on in its own part of the tally up to countLast, and writes each
// number to standard output once the store has acknowledged it.
func count(dir, name string) error {
	index, err := strconv.Atoi(name)
	if err != nil {
		return err
	}
	ctx := context.Background()
	s, err := Open(ctx, Config{Dir: dir})
	if err != nil {
		return err
	}
	for {
		e, err := s.Get(ctx, tally)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return err
		}
		parts, err := parts(e.Value)
		if err != nil {
			return err
		}
		if parts[index] == countLast {
			return s.Close()
		}
		parts[index]++
		value := strings.Trim(fmt.Sprint(parts), "[]")
		switch _, err = s.Swap(ctx, tally, e.Version, []byte(value)); {
		case err == nil:
			if _, err := fmt.Fprintln(os.Stdout, parts[index]); err != nil {
				return err
			}
		case !errors.Is(err, store.ErrConflict):
			return err
		}
	}
}

// parts returns the numbers of a tally, one for each counter.
func parts(value []byte) ([]int, error) {
	parts := make([]int, counters)
	for i, field := range strings.Fields(string(value)) {
		var err error
		if parts[i], err = strconv.Atoi(field); err != nil {
			return nil, err
		}
	}
	return parts, nil
}

// TestProcessesLoseNoSwapThoughOneIsKilled lets processes count in one register
// at once. One of them is killed again and again, each time while it may be at
// any step of a swap, and started anew.
func TestProcessesLoseNoSwapThoughOneIsKilled(t *testing.T) {
	dir := t.TempDir()
	acknowledged := make([][]int, counters)
	kills := 0
	var all sync.WaitGroup
	for i := range counters {
		all.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for {
				// The first counter is killed after some acknowledgements.
				patience := 0
				if i == 0 {
					patience = 1 + random.IntN(3)
				}
				numbers, killed, err := counter(t, dir, i, patience)
				acknowledged[i] = append(acknowledged[i], numbers...)
				if err != nil {
					t.Errorf("counter %d: %v", i, err)
				}
				if !killed || err != nil {
					return
				}
				kills++
			}
		})
	}
	all.Wait()

	s := open(t, dir)
	e, err := s.Get(t.Context(), tally)
	if err != nil {
		t.Fatal(err)
	}
	total, err := parts(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	for i, numbers := range acknowledged {
		if total[i] != countLast {
			t.Errorf("counter %d reached %d of %d", i, total[i], countLast)
		}
		for n := 1; n < len(numbers); n++ {
			if numbers[n] <= numbers[n-1] {
				t.Errorf("counter %d: %d was acknowledged after %d: a swap was lost", i, numbers[n], numbers[n-1])
			}
		}
		// Each kill may hide the acknowledgement of one swap, or keep one that
		// was made from being written out.
		missing := countLast - len(numbers)
		if i > 0 && missing != 0 || missing > kills {
			t.Errorf("counter %d: %d acknowledgements for %d swaps and %d kills", i, len(numbers), countLast, kills)
		}
	}
	if kills == 0 {
		t.Error("no process was killed")
	}
}

// counter runs a counting process to its end, or kills it after it has been
// seen to count patience times, if that is not 0. It returns the numbers that
// the process wrote.
func counter(t *testing.T, dir string, index, patience int) (numbers []int, killed bool, err error) {
	command := exec.CommandContext(t.Context(), os.Args[0])
	command.Env = append(os.Environ(), countIn+"="+dir, fmt.Sprintf("%s=%d", countAs, index))
	var complaint strings.Builder
	command.Stderr = &complaint
	output, err := command.StdoutPipe()
	if err != nil {
		return nil, false, err
	}
	if err := command.Start(); err != nil {
		return nil, false, err
	}
	lines := bufio.NewReader(output)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !errors.Is(err, io.EOF) {
				return numbers, killed, err
			}
			break
		}
		n, err := strconv.Atoi(strings.TrimSpace(line))
		if err != nil {
			return numbers, killed, fmt.Errorf("line %q: %w", line, err)
		}
		numbers = append(numbers, n)
		if len(numbers) == patience {
			// SIGKILL: by now the process is at some step of its next swap.
			if err := command.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return numbers, killed, err
			}
			killed = true
		}
	}
	if err := command.Wait(); err != nil && !killed {
		return numbers, false, fmt.Errorf("%w: %s", err, complaint.String())
	}
	return numbers, killed && numbers[len(numbers)-1] != countLast, nil
}

func TestProcessesThatCreateAStoreAtOnceShareIt(t *testing.T) {
	for range 5 {
		dir := t.TempDir() + "/deep/below"
		var all sync.WaitGroup
		for i := range counters {
			all.Go(func() {
				s, err := Open(t.Context(), Config{Dir: dir})
				if err != nil {
					t.Errorf("open: %v", err)
					return
				}
				if _, err := s.Swap(t.Context(), fmt.Sprint(i), "", nil); err != nil {
					t.Errorf("swap: %v", err)
				}
				if err := s.Close(); err != nil {
					t.Errorf("close: %v", err)
				}
			})
		}
		all.Wait()
		found := 0
		for _, err := range open(t, dir).List(t.Context(), "") {
			if err != nil {
				t.Fatal(err)
			}
			found++
		}
		if found != counters {
			t.Errorf("%d registers, want %d", found, counters)
		}
	}
}
