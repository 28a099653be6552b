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
)

const (
	memory = "1024"     // MiB for the program, and for sort
	limit  = 2048 << 20 // bytes that the program may really use
	rounds = 3          // interleaved; their median counts
)

// bench is what is measured.
type bench struct {
	program string // path
	temp    string // folder for ids and for what is put aside
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

// run builds what it needs, measures, and removes everything.
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
