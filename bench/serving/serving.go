// Package serving has the common parts of the measurements. It runs the servers that are measured, such as the daemon as it is
// built.
package serving

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// Free is the address of any port that is free.
const Free = "127.0.0.1:0"

// Process is a server that is ready.
type Process struct {
	Addresses map[string]string // by the scheme of the URLs that its log shows

	command *exec.Cmd
}

// Start starts a server with further variables, and waits until it writes a line that contains ready.
func Start(ctx context.Context, ready string, environ []string, program string, arguments ...string) (*Process, error) {
	//nolint:gosec // It runs the programs that its user names.
	p := &Process{Addresses: map[string]string{}, command: exec.CommandContext(ctx, program, arguments...)}
	p.command.Env = append(os.Environ(), environ...)
	out, err := p.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.command.Stderr = p.command.Stdout // one pipe for both
	if err := p.command.Start(); err != nil {
		return nil, err
	}
	var written strings.Builder
	for lines := bufio.NewScanner(out); lines.Scan(); {
		written.WriteString(lines.Text() + "\n")
		if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
			scheme, address, _ := strings.Cut(url, "://")
			p.Addresses[scheme] = address
		}
		if strings.Contains(lines.Text(), ready) {
			go func() {
				for lines.Scan() { // or the server would wait for its reader
				}
			}()
			return p, nil
		}
	}
	return nil, fmt.Errorf("%s ended before it was ready: %w: %s", program, cmp.Or(p.command.Wait(), io.EOF), &written)
}

// Daemon starts a daemon that has no fronts but HTTP's and RESP's, with further variables and arguments.
func Daemon(ctx context.Context, program string, environ []string, arguments ...string) (*Process, error) {
	return Start(ctx, "snowfence: ready", environ, program, append([]string{"serve", "--resp", Free, "--grpc", "", "--thrift", ""}, arguments...)...)
}

// URL is the URL of the server's HTTP front.
func (p *Process) URL() string { return "http://" + p.Addresses["http"] }

// Stop kills the server.
func (p *Process) Stop() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}

// CPU returns the time that the server has spent on processors.
func (p *Process) CPU() (time.Duration, error) {
	const tick = 10 * time.Millisecond // of /proc, wherever Go runs on Linux
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.command.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name, in parentheses, may contain spaces. Behind it come eleven other fields, see proc(5).
	_, rest, _ := strings.Cut(string(stat), ") ")
	var other string
	var user, system int64
	_, err = fmt.Sscan(rest, &other, &other, &other, &other, &other, &other, &other, &other, &other, &other, &other, &user, &system)
	return time.Duration(user+system) * tick, err
}

// Exit prints the errors after the name of the program and ends it with 1, if there are any.
func Exit(name string, errs ...error) {
	if err := errors.Join(errs...); err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
