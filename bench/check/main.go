package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// bench is what is measured.
type bench struct {
	program string // path
	temp    string // folder for ids and for what is put aside
	memory  string // --memory and sort's -S, in MiB
	ids     uint64
	planted uint64
	rounds  int
	orders  []string
	format  string
	limit   uint64 // of memory, in bytes
}

func main() {
	var b bench
	flag.Uint64Var(&b.ids, "ids", 100_000_000, "ids")
	flag.Uint64Var(&b.planted, "planted", 0, "duplicates among them, which must be found; zero compares with sort -u")
	flag.IntVar(&b.rounds, "rounds", 3, "interleaved rounds whose median counts")
	flag.StringVar(&b.format, "format", "text", "of what is streamed: text or binary")
	orders := flag.String("orders", "", "orders of the ids, separated by commas: shuffled, rising (default: both, and shuffled alone when streamed)")
	memory := flag.Int("memory", 1024, "MiB of memory for the program, and for sort")
	limit := flag.Uint64("limit", 2048, "MiB that the program may really use")
	flag.StringVar(&b.program, "program", "", "the program (default: it is built)")
	flag.StringVar(&b.temp, "temp", os.TempDir(), "folder for ids and for what does not fit the memory")
	flag.Parse()
	b.memory, b.limit = fmt.Sprint(*memory), *limit<<20
	switch {
	case *orders != "":
		b.orders = strings.Split(*orders, ",")
	case b.planted > 0:
		b.orders = []string{"shuffled"}
	default:
		b.orders = []string{"shuffled", "rising"}
	}
	err := b.validate()
	if err == nil {
		err = b.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "check:", err)
		os.Exit(1)
	}
}

// validate returns an error that names the flag that can't be used.
func (b *bench) validate() error {
	switch {
	case b.ids < 1:
		return fmt.Errorf("-ids is %d: must be at least 1", b.ids)
	case b.planted > b.ids/3:
		return fmt.Errorf("-planted is %d: must be at most a third of the ids, %d", b.planted, b.ids/3)
	case b.rounds < 1:
		return fmt.Errorf("-rounds is %d: must be at least 1", b.rounds)
	case b.format != "text" && b.format != "binary":
		return fmt.Errorf("-format is %q: must be text or binary", b.format)
	}
	for _, order := range b.orders {
		if order != "shuffled" && order != "rising" {
			return fmt.Errorf("-orders has %q: must be of shuffled and rising", order)
		}
	}
	return nil
}

// run builds what it needs, measures, and removes everything.
func (b *bench) run(ctx context.Context) (err error) {
	b.temp, err = os.MkdirTemp(b.temp, "snowfence-bench-check-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(b.temp)) }()
	if b.program == "" {
		b.program = filepath.Join(b.temp, "snowfence")
		//nolint:gosec // It runs what whoever measures names.
		build := exec.CommandContext(ctx, "go", "build", "-o", b.program, ".")
		build.Dir, build.Env = filepath.Join("..", "cmd", "snowfence"), append(os.Environ(), "GOWORK=")
		if out, err := build.CombinedOutput(); err != nil {
			return fmt.Errorf("build the program: %w\n%s", err, out)
		}
	}
	fmt.Printf("%s %s/%s, %d processors, %s MiB of memory\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0), b.memory)
	for _, order := range b.orders {
		s := newSeries(b.ids-b.planted, order == "shuffled")
		if b.planted > 0 {
			err = b.stream(ctx, s)
		} else {
			err = b.compare(ctx, s)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", order, err)
		}
	}
	return nil
}
