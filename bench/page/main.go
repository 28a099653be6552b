// Command page measures the page of a daemon on etcd, where 5,000 of 1,048,576 worker ids are held.
//
// The goals: the first paint comes within a second, an update has less than 200 KB, and the daemon needs less than 256 MiB. A
// hundred open pages take less than 5 % of the daemon's rate, and cost its store no more requests than one page. The rate is for
// the daemon's processor time, because readers on the same machine take processors from it, too.
//
// The holders are in the store alone. Each holds its worker id for an hour, so all requests to the store are the
// daemon's. The ids come from a second generator, whose layout does not limit them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence/bench/serving"
)

const (
	holders    = 5000
	rounds     = 6
	each       = 6 * time.Second // of a turn
	forgetting = 6 * time.Second // after it the daemon reads the namespace before it answers
)

// bench is one daemon under measurement.
type bench struct {
	daemon  *serving.Process
	client  http.Client
	etcd    string          // its URL
	browser context.Context //nolint:containedctx // So chromedp names a browser.
	memory  float64         // the most so far
	missed  []string
}

func main() {
	program := flag.String("program", "../.bin/snowfence", "the program whose daemon is measured")
	flag.Parse()
	b := &bench{}
	err := b.run(context.Background(), *program)
	if err == nil && len(b.missed) > 0 {
		err = errors.New("missed: " + strings.Join(b.missed, ", "))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func (b *bench) run(ctx context.Context, program string) (err error) {
	folder, err := os.MkdirTemp("", "snowfence-bench-page-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	address, stop, err := serving.StartEtcd(ctx, folder)
	if err != nil {
		return err
	}
	defer stop()
	b.etcd = "http://" + address
	p, err := openPool(ctx, address)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, p.store.Close()) }()
	quit, err := b.openBrowser(ctx)
	if err != nil {
		return err
	}
	defer quit()
	environ := []string{"SNOWFENCE_GENERATORS_DEFAULT_LAYOUT=" + layout, "SNOWFENCE_GENERATORS_LOAD_NAMESPACE=load", "SNOWFENCE_GENERATORS_LOAD_LAYOUT=ms39-worker8-seq16"}
	if b.daemon, err = serving.Daemon(ctx, program, environ, "--store", p.store.Name(), "--data", folder, "--http", serving.Free); err != nil {
		return err
	}
	defer b.daemon.Stop()
	if _, _, err = b.get(ctx, "/ui/state", ""); err == nil {
		err = p.hold(ctx) // so the page shows the offset of each holder's clock
	}
	for _, measure := range []func(context.Context) error{b.answers, b.paints, b.turns} {
		if err == nil {
			err = measure(ctx)
		}
	}
	return err
}

// answers measures each answer after a pause of all readers, and beside other readers.
func (b *bench) answers(ctx context.Context) error {
	fmt.Printf("%d of 1,048,576 worker ids are held\n\n%-12s %10s %10s %10s\n", holders, "", "bytes", "cold, ms", "warm, ms")
	for _, path := range []string{"/", "/ui/history", "/ui/state"} {
		time.Sleep(forgetting)
		var took []float64
		size := 0
		for range 21 {
			begun := time.Now()
			var err error
			if size, _, err = b.get(ctx, path, ""); err != nil {
				return err
			}
			took = append(took, time.Since(begun).Seconds()*1000)
			time.Sleep(100 * time.Millisecond)
		}
		fmt.Printf("%-12s %10d %10.1f %10.1f\n", path, size, took[0], serving.Median(took[1:]))
		b.goal(path == "/" || size < 200_000, "an update of %d bytes (%s)", size, path)
	}
	return nil
}

// paints measures how the page appears after a pause of all readers, and a moment after it was open. Other work on the
// machine only adds to a time, so the least one is judged.
func (b *bench) paints(context.Context) error {
	fmt.Printf("\n%-12s %22s %22s %22s\n%-12s %22s %22s %22s\n", "ms", "answered", "first paint", "largest", "", "least   median", "least   median", "least   median")
	for _, pause := range []time.Duration{0, forgetting} {
		var all [3][]float64
		for range 5 {
			time.Sleep(pause)
			times, err := b.paint()
			if err != nil {
				return err
			}
			for i := range all {
				all[i] = append(all[i], times[i])
			}
		}
		fmt.Printf("after %-6s", pause)
		for _, times := range all {
			fmt.Printf(" %13.0f %8.0f", slices.Min(times), serving.Median(times))
		}
		fmt.Println()
		b.goal(slices.Min(all[1]) < 1000, "the first paint takes %.0f ms", slices.Min(all[1]))
	}
	return nil
}

// turns mints with no page, with one and with a hundred, in turns, and judges the pages' cost.
func (b *bench) turns(ctx context.Context) error {
	fmt.Printf("\n%6s %14s %14s %16s %18s %10s\n", "pages", "ids/s", "daemon, cores", "ids/(core·s)", "etcd, requests/s", "updates/s")
	of := map[int][]turn{}
	for range rounds {
		for _, pages := range []int{0, 1, 100} {
			t, err := b.turn(ctx, pages)
			if err != nil {
				return err
			}
			of[pages] = append(of[pages], t)
			fmt.Printf("%6d %14.0f %14.2f %16.0f %18.1f %10.1f\n", pages, t.ids, t.cores, t.ids/t.cores, t.requests, t.updates)
		}
	}
	faster, give := growth(of[0], of[100], func(t turn) float64 { return t.ids })
	cheaper, by := growth(of[0], of[100], func(t turn) float64 { return t.ids / t.cores })
	fmt.Printf("\na hundred pages beside none: %+.1f %% ± %.1f %% ids, %+.1f %% ± %.1f %% for the daemon's processor time\n", faster, give, cheaper, by)
	b.goal(cheaper+by > -5, "a hundred pages beside none: %+.1f %% ± %.1f %% ids for the daemon's processor time", cheaper, by)
	more, by := growth(of[1], of[100], func(t turn) float64 { return t.requests })
	fmt.Printf("a hundred pages beside one: %+.1f %% ± %.1f %% requests to etcd\ndaemon: %.0f MiB\n", more, by, b.memory/(1<<20))
	const part = 5 // percent: a turn may begin or end within a read
	b.goal(more-by < part, "a hundred pages beside one: %+.1f %% ± %.1f %% requests to etcd", more, by)
	b.goal(b.memory < 256<<20, "%.0f MiB of memory", b.memory/(1<<20))
	return nil
}

// growth is the mean change in percent from the turns of one kind to the other's, and its standard error.
func growth(from, to []turn, value func(turn) float64) (mean, by float64) {
	square := 0.0
	for i := range from {
		change := 100 * (value(to[i])/value(from[i]) - 1)
		mean, square = mean+change/rounds, square+change*change/rounds
	}
	return mean, math.Sqrt((square - mean*mean) / (rounds - 1))
}

func (b *bench) goal(met bool, format string, values ...any) {
	if !met {
		b.missed = append(b.missed, fmt.Sprintf(format, values...))
	}
}
