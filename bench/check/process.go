package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// cost is a process's time and memory.
type cost struct {
	wall time.Duration
	cpu  time.Duration // of all processors
	peak uint64        // bytes of memory, the most at a time
}

func (c cost) String() string {
	return fmt.Sprintf("%7.1f s  %7.1f s of processors  peak %5d MiB", c.wall.Seconds(), c.cpu.Seconds(), c.peak>>20)
}

// measure runs a command to its end. The error of one that ended with another exit code than wanted has
// its output.
func measure(cmd *exec.Cmd, feed func(io.Writer) error, code int) (cost, error) {
	var stdin io.WriteCloser
	if feed != nil {
		var err error
		if stdin, err = cmd.StdinPipe(); err != nil {
			return cost{}, err
		}
	}
	cmd.Stderr = os.Stderr
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return cost{}, err
	}
	var fed error
	if feed != nil {
		fed = errors.Join(feed(stdin), stdin.Close())
	}
	err := cmd.Wait()
	c := cost{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c.peak = uint64(usage.Maxrss) << 10 // Linux counts in KiB
	}
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		return c, err
	}
	if got := cmd.ProcessState.ExitCode(); got != code {
		return c, errors.Join(fmt.Errorf("%s: exit code %d, want %d", cmd.Path, got, code), fed)
	}
	return c, fed
}

// report is the used part of the program's output.
type report struct {
	IDs        uint64 `json:"ids"`
	Distinct   uint64 `json:"distinct"`
	Duplicates uint64 `json:"duplicates"`
	Spilled    uint64 `json:"spilled"`
	Named      []struct {
		ID     string `json:"id"`
		Places []struct {
			At uint64 `json:"at"`
		} `json:"places"`
	} `json:"named"`
}

// check runs the program.
func (b *bench) check(ctx context.Context, feed func(io.Writer) error, code int, args ...string) (cost, report, error) {
	args = append([]string{"check", "--memory", memory + "MiB", "--temp", b.temp, "-o", "json", "--layout", "default"}, args...)
	//nolint:gosec // It runs the programs that its user names.
	cmd := exec.CommandContext(ctx, b.program, args...)
	var out bytes.Buffer
	cmd.Stdout = &out
	c, err := measure(cmd, feed, code)
	var r report
	if err == nil {
		err = json.Unmarshal(out.Bytes(), &r)
	}
	return c, r, err
}
