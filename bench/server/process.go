package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server on a processor of its own.
type process struct {
	command   *exec.Cmd
	name      string
	folder    string            // its working directory
	addresses map[string]string // by the scheme of the URLs that it says it listens on
	ended     chan struct{}     // closed when it has ended
}

// startTimeout is how long a server may take to be ready.
const startTimeout = 30 * time.Second

// start starts a server, and waits until it writes a line that contains ready.
func (b bench) start(ctx context.Context, ready, program string, arguments ...string) (*process, error) {
	folder, err := os.MkdirTemp("", "snowfence-bench-server-")
	if err != nil {
		return nil, err
	}
	p := &process{name: filepath.Base(program), folder: folder, addresses: map[string]string{}, ended: make(chan struct{})}
	//nolint:gosec // It runs the programs that its user names.
	p.command = exec.CommandContext(ctx, "taskset", append([]string{"-c", b.core, program}, arguments...)...)
	p.command.Dir, p.command.Env = folder, append(os.Environ(), "SNOWFENCE_LIMITS_BATCH="+strconv.Itoa(block))
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	p.command.Stderr = p.command.Stdout // one pipe for both
	if err := p.command.Start(); err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", p.name, err), os.RemoveAll(folder))
	}
	up := make(chan string, 1)
	go p.read(out, ready, up)
	select {
	case problem := <-up:
		if problem == "" {
			return p, nil
		}
		err = fmt.Errorf("%s ended before it was ready: %s", p.name, problem)
	case <-time.After(startTimeout):
		err = fmt.Errorf("%s is not ready after %s", p.name, startTimeout)
	}
	p.stop()
	return nil, err
}

// read follows the server's output to its end, and sends once: nothing when it is ready, or else
// all that it wrote.
func (p *process) read(out io.Reader, ready string, up chan<- string) {
	var written strings.Builder
	waiting := true
	for lines := bufio.NewScanner(out); lines.Scan(); {
		line := lines.Text()
		if !waiting {
			continue
		}
		written.WriteString(line + "\n")
		if _, url, ok := strings.Cut(line, "listening on "); ok {
			scheme, address, _ := strings.Cut(url, "://")
			p.addresses[scheme] = address
		}
		if strings.Contains(line, ready) {
			waiting = false
			up <- ""
		}
	}
	_ = p.command.Wait() // its output shows how it ended
	if waiting {
		up <- written.String()
	}
	close(p.ended)
}

// stop ends the server, and removes its folder.
func (p *process) stop() {
	_ = p.command.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.ended:
	case <-time.After(startTimeout):
		_ = p.command.Process.Kill()
		<-p.ended
	}
	_ = os.RemoveAll(p.folder)
}

// cpu returns the time that the server has spent on its processor.
func (p *process) cpu() (time.Duration, error) {
	const tick = 10 * time.Millisecond // of /proc, wherever Go runs on Linux
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain spaces. Fields are numbered from 1, as in proc(5).
	_, rest, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(rest)
	const utime, stime, third = 14, 15, 3
	if len(fields) <= stime-third {
		return 0, fmt.Errorf("/proc/%d/stat has %d fields", p.command.Process.Pid, len(fields))
	}
	user, err := strconv.ParseInt(fields[utime-third], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(fields[stime-third], 10, 64)
	return time.Duration(user+system) * tick, err
}

// load is a load generator's result.
type load struct {
	requests float64
	took     time.Duration
	tail     time.Duration // 99.9 % of the requests took no longer; 0 if it does not say
}

// under returns a server's needs under a load. Each request gives some ids, or 1.
func (p *process) under(ids float64, run func() (load, error)) (sample, error) {
	before, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	l, err := run()
	if err != nil {
		return sample{}, err
	}
	after, err := p.cpu()
	if err != nil {
		return sample{}, err
	}
	n := l.requests * ids
	return sample{rate: n / l.took.Seconds(), cpu: seconds((after - before).Seconds() / n), tail: l.tail}, nil
}
