package main

import (
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

// startEtcd starts a cluster of one member, which syncs every write. It need not be ready: the daemon waits for it.
func startEtcd(ctx context.Context, folder string) (command *exec.Cmd, address string, err error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", free)
	if err != nil {
		return nil, "", err
	}
	address = l.Addr().String()
	const peers = "http://" + free // there are none
	//nolint:gosec // The folder is this program's own.
	command = exec.CommandContext(ctx, "etcd", "--name", "one", "--data-dir", filepath.Join(folder, "etcd"), "--log-level", "error",
		"--listen-client-urls", "http://"+address, "--advertise-client-urls", "http://"+address,
		"--listen-peer-urls", peers, "--initial-advertise-peer-urls", peers, "--initial-cluster", "one="+peers)
	return command, address, errors.Join(l.Close(), command.Start())
}

// usage is what the servers have used so far.
type usage struct{ daemonCPU, daemonRSS, etcdCPU, etcdRequests float64 }

func (c *crowd) usage(ctx context.Context) (usage, error) {
	const cpu, rss = "process_cpu_seconds_total", "process_resident_memory_bytes"
	daemon, err := c.metrics(ctx, c.url)
	etcd, wrong := c.metrics(ctx, c.etcd)
	return usage{daemon[cpu], daemon[rss], etcd[cpu], etcd["grpc_server_handled_total"]}, errors.Join(err, wrong)
}

// metrics reads those of a server. All of one name are added up.
func (c *crowd) metrics(ctx context.Context, url string) (map[string]float64, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/metrics", http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := c.client.Do(request)
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
		}
	}
	return sums, errors.Join(err, response.Body.Close())
}

// descriptors is how many files and connections the daemon has open.
func (d *daemon) descriptors() (int, error) {
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.command.Process.Pid))
	return len(all), err
}
