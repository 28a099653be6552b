// Command check measures `snowfence check`.
//
//	GOWORK=off go run ./check                                  # 100,000,000 ids beside sort -u
//	GOWORK=off go run ./check -ids 1000000000 -planted 1       # a billion, streamed
//
// Without -planted it writes ids to a file, in rising order and shuffled, and lets
// the program and `sort -u` find whether all are distinct: in turns, because on a
// shared machine only ratios of one run mean anything. sort has the same memory
// and both processors. It prints every round, and the medians with their ratio.
//
// With -planted it streams ids into the program and ends with an error unless
// exactly the planted duplicates are found and named with both of their lines, in
// at most 2 GiB of memory as the operating system counts it. Nothing of the ids
// is written anywhere but by the program.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
)

const (
	memory = "1024"     // MiB for the program, and for sort
	limit  = 2048 << 20 // bytes that the program may really use
	rounds = 3          // interleaved; their median counts
)

// bench is one measurement.
type bench struct {
	program string // path
	temp    string // folder for ids and for spilled ones
	ids     uint64
	planted uint64
}

func main() {
	var b bench
	flag.Uint64Var(&b.ids, "ids", 100_000_000, "ids")
	flag.Uint64Var(&b.planted, "planted", 0, "duplicates among them, which must be found; zero compares with sort -u")
	flag.Parse()
	var err error
	if b.ids < 1 || b.planted > b.ids/3 {
		err = fmt.Errorf("-ids is %d and -planted is %d: must be at least 1, and at most a third of that", b.ids, b.planted)
	} else {
		err = b.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// run builds its programs, measures, and removes everything.
func (b *bench) run(ctx context.Context) (err error) {
	b.temp, err = os.MkdirTemp("", "snowfence-bench-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.temp)) }()
	b.program = filepath.Join(b.temp, "snowfence")
	//nolint:gosec // It runs the programs that its user names.
	build := exec.CommandContext(ctx, "go", "build", "-o", b.program, ".")
	build.Dir, build.Env = filepath.Join("..", "cmd", "snowfence"), append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	fmt.Printf("%s %s/%s, %d processors, %s MiB of memory\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), memory)
	if b.planted > 0 {
		return b.stream(ctx, newSeries(b.ids-b.planted, true))
	}
	return errors.Join(b.compare(ctx, newSeries(b.ids, true)), b.compare(ctx, newSeries(b.ids, false)))
}

// stream streams ids with planted duplicates into the program, and checks that it
// finds them all, names them, and keeps to its memory.
func (b *bench) stream(ctx context.Context, s series) error {
	var planted []duplicate
	feed := func(w io.Writer) (err error) {
		planted, err = s.write(w, b.planted)
		return err
	}
	c, r, err := b.check(ctx, feed, 1, "--limit", strconv.FormatUint(b.planted+1, 10), "-")
	if err != nil {
		return err
	}
	fmt.Printf("%d ids streamed, %d of them planted\n%s, %.1f M ids a second, %d MiB put aside\n",
		b.ids, b.planted, c, float64(b.ids)/c.wall.Seconds()/1e6, r.Spilled>>20)
	if r.IDs != b.ids || r.Duplicates != b.planted || uint64(len(r.Named)) != b.planted {
		return fmt.Errorf("the program found %d ids, %d duplicates, and named %d", r.IDs, r.Duplicates, len(r.Named))
	}
	found := map[string]duplicate{}
	for _, d := range r.Named {
		if len(d.Places) == 2 {
			found[d.ID] = duplicate{first: d.Places[0].At, second: d.Places[1].At}
		}
	}
	for _, d := range planted {
		id := strconv.FormatUint(d.id, 10)
		if got := found[id]; got.first != d.first || got.second != d.second {
			return fmt.Errorf("id %s stands at %d and %d, and the program says %d and %d", id, d.first, d.second, got.first, got.second)
		}
		if b.planted <= 10 {
			fmt.Printf("found: %s at %d and %d\n", id, d.first, d.second)
		}
	}
	if c.peak > limit {
		return fmt.Errorf("it used %d MiB of memory, more than %d", c.peak>>20, limit>>20)
	}
	return nil
}
