// Package serving runs the servers that are measured: the daemon as it is built, and the etcd that is its store.
package serving

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
)

// Free is the address of any port that is free.
const Free = "127.0.0.1:0"

// Daemon is one that is ready.
type Daemon struct {
	PID        int
	HTTP, RESP string // the URL of the one front, and the address of the other

	command *exec.Cmd
}

// Start starts a daemon with further variables and arguments, and waits until it is ready.
func Start(ctx context.Context, program string, environ []string, arguments ...string) (*Daemon, error) {
	//nolint:gosec // It runs the programs that its user names.
	d := &Daemon{command: exec.CommandContext(ctx, program, append([]string{"serve", "--resp", Free, "--grpc", "", "--thrift", ""}, arguments...)...)}
	d.command.Env = append(os.Environ(), environ...)
	out, err := d.command.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := d.command.Start(); err != nil {
		return nil, err
	}
	d.PID = d.command.Process.Pid
	for lines := bufio.NewScanner(out); lines.Scan(); {
		_, url, _ := strings.Cut(lines.Text(), "listening on ")
		if strings.HasPrefix(url, "http://") {
			d.HTTP = url
		} else if address, ok := strings.CutPrefix(url, "redis://"); ok {
			d.RESP = address
		}
		if strings.HasSuffix(lines.Text(), "snowfence: ready") {
			go func() {
				for lines.Scan() { // or the daemon would wait for its reader
				}
			}()
			return d, nil
		}
	}
	return nil, errors.Join(errors.New("the daemon ended before it was ready"), d.command.Wait())
}

// Stop kills the daemon.
func (d *Daemon) Stop() {
	_ = d.command.Process.Kill()
	_ = d.command.Wait()
}

// Descriptors is how many files and connections the daemon has open.
func (d *Daemon) Descriptors() (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.PID))
	return len(all), err
}

// StartEtcd starts a cluster of one member, which syncs every write. It need not be ready: the daemon waits for it.
func StartEtcd(ctx context.Context, folder string) (address string, stop func(), err error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", Free)
	if err != nil {
		return "", nil, err
	}
	address = l.Addr().String()
	const peers = "http://" + Free // there are none
	//nolint:gosec // The folder is this program's own.
	command := exec.CommandContext(ctx, "etcd", "--name", "one", "--data-dir", filepath.Join(folder, "etcd"), "--log-level", "error",
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "one="+peers)
	stop = func() { _, _ = command.Process.Kill(), command.Wait() }
	return address, stop, errors.Join(l.Close(), command.Start())
}

// Metrics reads those of a server, each by its name and labels as they are written. All of one name are added up, too.
func Metrics(ctx context.Context, client *http.Client, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, err
	}
	text, err := io.ReadAll(response.Body)
	sums := map[string]float64{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		name, _, _ := strings.Cut(fields[0], "{")
		if value, err := strconv.ParseFloat(fields[len(fields)-1], 64); err == nil { // or it is a comment
			sums[name] += value
			if name != fields[0] {
				sums[fields[0]] = value
			}
		}
	}
	return sums, errors.Join(err, response.Body.Close())
}
