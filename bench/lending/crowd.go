package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/bench/serving"
)

// crowd is many borrowers of one daemon, whose store is etcd. No borrower keeps a connection.
type crowd struct {
	borrowers      int
	within, steady time.Duration // of the claims, and of the measurement after them

	client    http.Client
	daemon    *serving.Process
	idle      int    // descriptors that the daemon has open without a client
	url, etcd string // of the daemon and its successor, and of etcd
	workers   sync.Map
	leases    atomic.Int64
	leaving   atomic.Bool
	all       sync.WaitGroup

	mu      sync.Mutex                   // guards the rest
	took    [release + 1][]time.Duration // the exchanges of this phase that were granted
	refused map[string]int               // the others, by their problem
	lost    []error                      // why borrowers have no lease any more
}

// run starts etcd and a daemon, and has the crowd come, stay and leave.
func (c *crowd) run(ctx context.Context, program string) (missed []string, err error) {
	const layout = "ms41-worker14-seq8" // 16,384 worker ids
	c.client.Transport = &http.Transport{DisableKeepAlives: true}
	folder, err := os.MkdirTemp("", "snowfence-bench-crowd-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	address, stop, err := serving.StartEtcd(ctx, folder)
	if err != nil {
		return nil, err
	}
	defer stop()
	c.etcd = "http://" + address
	serve := func(at string) (err error) {
		c.daemon, err = serving.Daemon(ctx, program, lendAll(), "--store", "etcd://"+address+"/crowd", "--layout", layout, "--data", folder, "--http", at)
		if err == nil {
			c.url = c.daemon.URL()
			c.idle, err = c.daemon.Descriptors()
		}
		return err
	}
	if err := serve(serving.Free); err != nil {
		return nil, err
	}
	defer func() { c.daemon.Stop() }()
	fmt.Printf("\n%d borrowers that claim within %s, with the layout %s\n\n", c.borrowers, c.within, layout)
	borrowing, cancel := context.WithCancel(ctx)
	err = c.phases(borrowing, func() error {
		c.daemon.Stop()
		return serve(strings.TrimPrefix(c.url, "http://"))
	})
	cancel()
	c.all.Wait()
	if err == nil && len(c.lost) > 0 {
		missed = []string{fmt.Sprintf("%d of %d borrowers lost their leases, such as: %v", len(c.lost), c.borrowers, c.lost[0])}
	}
	return missed, err
}

// phases measures one phase after another, up to the first that fails. Replace ends the daemon and starts another.
func (c *crowd) phases(ctx context.Context, replace func() error) (err error) {
	const header = "%-20s %7s %7s %9s %8s %18s %18s %7s %7s %13s %8s %6s\n"
	fmt.Printf(header, "", "", "", "requests", "not", "claim, ms", "extension, ms", "daemon", "daemon", "connections", "requests", "etcd")
	fmt.Printf(header, "", "seconds", "leases", "a second", "granted", "median      99 %", "median      99 %", "cores", "RSS MB", "median   most", "at etcd", "cores")
	const patience = 3 * time.Minute
	measure := func(name string, most time.Duration, done func() bool) {
		if err == nil {
			err = c.phase(ctx, name, most, done)
		}
	}
	measure("no lease", 5*time.Second, nil)
	for i := range c.borrowers {
		c.all.Go(func() {
			_ = wait(ctx, c.within*time.Duration(i)/time.Duration(c.borrowers))
			if err := c.borrow(ctx, i+1); err != nil {
				c.mu.Lock()
				defer c.mu.Unlock()
				c.lost = append(c.lost, err)
			}
		})
	}
	for _, percent := range []int{10, 50, 90, 100} {
		n := c.borrowers * percent / 100
		measure(fmt.Sprintf("claims up to %d", n), patience, func() bool { return c.leases.Load() >= int64(n) })
	}
	measure("extensions alone", c.steady, nil)
	if err == nil {
		err = replace() // no daemon keeps a lease: each goes on at the next daemon
	}
	measure("another daemon", c.steady/2, nil)
	c.leaving.Store(true)
	measure("releases", patience, func() bool { return c.leases.Load() == 0 })
	return err
}

// phase measures for that time, or until it is done, and prints a line.
func (c *crowd) phase(ctx context.Context, name string, most time.Duration, done func() bool) error {
	before, err := c.usage(ctx)
	if err != nil {
		return err
	}
	c.drain()
	begun, connections := time.Now(), []int{}
	for len(connections) == 0 || time.Since(begun) < most && (done == nil || !done()) {
		n, err := c.daemon.Descriptors()
		if err := errors.Join(err, wait(ctx, 20*time.Millisecond)); err != nil {
			return err
		}
		connections = append(connections, n-c.idle)
	}
	took, refused := c.drain()
	seconds := time.Since(begun).Seconds()
	after, err := c.usage(ctx)
	if err != nil {
		return err
	}
	slices.Sort(connections)
	requests, not := len(took[claim])+len(took[extend])+len(took[release]), 0
	for _, n := range refused {
		not += n
	}
	fmt.Printf("%-20s %7.1f %7d %9.1f %8d %18s %18s %7.2f %7.0f %6d %6d %8.1f %6.2f\n",
		name, seconds, c.leases.Load(), float64(requests+not)/seconds, not, spread(took[claim]), spread(took[extend]),
		(after.daemonCPU-before.daemonCPU)/seconds, after.daemonRSS/1e6, connections[len(connections)/2], connections[len(connections)-1],
		(after.etcdRequests-before.etcdRequests)/seconds, (after.etcdCPU-before.etcdCPU)/seconds)
	if not > 0 {
		fmt.Printf("    not granted: %v\n", refused)
	}
	if done != nil && !done() {
		return fmt.Errorf("%s: %d leases after %s", name, c.leases.Load(), most)
	}
	return nil
}

// usage is the servers' use so far.
type usage struct{ daemonCPU, daemonRSS, etcdCPU, etcdRequests float64 }

func (c *crowd) usage(ctx context.Context) (usage, error) {
	const cpu, rss = "process_cpu_seconds_total", "process_resident_memory_bytes"
	daemon, err := serving.Metrics(ctx, &c.client, c.url)
	etcd, wrong := serving.Metrics(ctx, &c.client, c.etcd)
	return usage{daemon[cpu], daemon[rss], etcd[cpu], etcd["grpc_server_handled_total"]}, errors.Join(err, wrong)
}

// drain returns the exchanges since the last call.
func (c *crowd) drain() (took [release + 1][]time.Duration, refused map[string]int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	took, refused = c.took, c.refused
	c.took, c.refused = [release + 1][]time.Duration{}, map[string]int{}
	return took, refused
}

// spread is the median and the 99th percentile in milliseconds.
func spread(took []time.Duration) string {
	if len(took) == 0 {
		return ""
	}
	slices.Sort(took)
	ms := func(d time.Duration) float64 { return d.Seconds() * 1000 }
	return fmt.Sprintf("%.1f %9.1f", ms(took[len(took)/2]), ms(took[len(took)*99/100]))
}
