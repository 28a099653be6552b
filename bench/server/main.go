// Command server measures the daemon beside redis-server and beside bare servers, in interleaved
// rounds, because on a shared machine only ratios of one run mean anything.
//
//	make bench-server                                          # all parts
//	cd bench && GOWORK=off go build -o ../.bin/bench-server ./server
//	taskset -c 1 ../.bin/bench-server -only resp,http          # from a folder with ../.bin/snowfence
//
// Every server is pinned to one processor, and this program with the load to another one, by
// taskset. Servers that are compared run at the same time, and the load goes to one of them
// after the other. The bare servers are this program again, with -echo: they answer the same bytes
// from memory, on the same libraries. It prints the medians, and the goals with their results.
//
// The layout of the ids is [layout], whose capacity is no limit. The parts are:
//
//	resp     INCR and ID.NEXT by redis-benchmark, beside redis-server
//	http     beside a bare net/http handler
//	thrift   beside a bare server of the library of Apache Thrift
//	grpc     beside a bare server of grpc-go, and one stream
//	client   package client, through one server
//	prefetch the same with ids fetched ahead, beside an atomic add; the load should have two processors
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"snowfence.example/snowfence/bench/contest"
	"snowfence.example/snowfence/bench/serving"
)

// bench is the setup of all parts.
type bench struct {
	program string        // path of the daemon's
	core    string        // the processor that servers are pinned to
	rounds  int           // interleaved, of each contest
	each    time.Duration // of one run
}

// part is some contests, with the servers that they need.
type part struct {
	name string
	run  func(bench, context.Context) error
}

func parts() []part {
	return []part{
		{"resp", bench.resp},
		{"http", bench.http},
		{"thrift", bench.thrift},
		{"grpc", bench.grpc},
		{"client", bench.client},
		{"prefetch", bench.prefetch},
	}
}

func main() {
	var names []string
	for _, p := range parts() {
		names = append(names, p.name)
	}
	b := bench{}
	flag.StringVar(&b.program, "program", "../.bin/snowfence", "path of the program that is measured")
	flag.StringVar(&b.core, "core", "0", "processor that servers are pinned to")
	flag.IntVar(&b.rounds, "rounds", 5, "interleaved rounds whose median counts")
	flag.DurationVar(&b.each, "each", 4*time.Second, "time of one run")
	only := flag.String("only", strings.Join(names, ","), "parts to run, separated by commas")
	echo := flag.String("echo", "", "serve as the bare server of a part, until a signal")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if *echo != "" {
		err = serve(ctx, *echo)
	} else {
		err = b.run(ctx, strings.Split(*only, ","))
	}
	serving.Exit("server", err)
}

// The figures of a run. A server's time is that for each request, or for each id where a request has
// many. A tail is the time that 99.9 % of the requests need at most.
const (
	rate = "a second"
	cpu  = "µs of the server"
	tail = "ms p99.9"
)

// measure runs a contest. A missed goal is printed, and no error.
func (b bench) measure(ctx context.Context, c contest.Contest) error {
	c.Rounds = b.rounds
	_, err := c.Run(ctx)
	return err
}

// run runs the parts of these names, in the order of the table.
func (b bench) run(ctx context.Context, names []string) error {
	for _, name := range names {
		if !slices.ContainsFunc(parts(), func(p part) bool { return p.name == name }) {
			return fmt.Errorf("-only has %q: no part has this name", name)
		}
	}
	fmt.Printf("%s %s/%s, servers on processor %s, the load on %d others\n",
		runtime.Version(), runtime.GOOS, runtime.GOARCH, b.core, runtime.GOMAXPROCS(0))
	for _, p := range parts() {
		if !slices.Contains(names, p.name) {
			continue
		}
		if err := p.run(b, ctx); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	return nil
}
