// Command check measures `snowfence check`.
//
//	GOWORK=off go run ./check                                  # 100,000,000 ids beside sort -u
//	GOWORK=off go run ./check -ids 1000000000 -planted 1       # a billion, streamed
//
// Without -planted it writes ids to a file, shuffled and then in rising order. The program and `sort -u`
// find whether all are distinct, in turns, with the same memory and both processors.
//
// With -planted it streams ids into the program, and the first ones again at the end. It fails unless
// exactly these are named with both of their lines, in at most 2 GiB of memory.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/bits"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/bench/contest"
	"snowfence.example/snowfence/bench/serving"
)

const (
	memory = "1024" // MiB for the program, and for sort
	limit  = 2048   // MiB that the program may really use
	rounds = 3      // their median counts
)

func main() {
	n := flag.Uint64("ids", 100_000_000, "ids")
	planted := flag.Uint64("planted", 0, "duplicates among them, which must be found; zero compares with sort -u")
	flag.Parse()
	temp, err := os.MkdirTemp("", "snowfence-bench-check-")
	if err == nil {
		err = errors.Join(measure(context.Background(), temp, *n, *planted), os.RemoveAll(temp))
	}
	serving.Exit("check", err)
}

// measure builds the program in a folder, and measures it there.
func measure(ctx context.Context, temp string, n, planted uint64) error {
	if n < 1 || planted > n/3 {
		return fmt.Errorf("-ids is %d and -planted is %d: must be at least 1, and at most a third of that", n, planted)
	}
	program := filepath.Join(temp, "snowfence")
	build := exec.CommandContext(ctx, "go", "build", "-o", program, ".") //nolint:gosec // a folder of its own
	build.Dir, build.Env = filepath.Join("..", "cmd", "snowfence"), append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	ours := []string{program, "check", "--memory", memory + "MiB", "--temp", temp, "-o", "json", "--layout", "default"}
	if planted > 0 {
		return stream(ctx, ours, n-planted, planted)
	}
	file := filepath.Join(temp, "ids.txt")
	theirs := []string{"sort", "-u", "-S", memory + "M", "--parallel=2", "-T", temp, file}
	return errors.Join(compare(ctx, append(ours, file), theirs, n, true), compare(ctx, append(ours, file), theirs, n, false))
}

// write writes n distinct ids of the default layout, as three workers issue them in some years, and then
// the first ones again.
func write(w io.Writer, n, again uint64, shuffled bool) error {
	l, width := snowfence.DefaultLayout(), bits.Len64(n)
	tick, worker, mask := l.Shift(snowfence.Time), l.Shift(snowfence.Worker), uint64(1)<<width-1
	b := bufio.NewWriterSize(w, 1<<20)
	var first []uint64
	for k := range mask + 1 {
		if shuffled { // each step can be undone within the mask, so no two numbers become one
			k = k * 0x9e3779b97f4a7c15 & mask
			k ^= k >> (width/2 + 1)
			k = k * 0xbf58476d1ce4e5b9 & mask
		}
		if k >= n {
			continue
		}
		id := k/3<<tick | k%3*300<<worker | k*0x9e3779b9>>16&15
		if uint64(len(first)) < again {
			first = append(first, id)
		}
		if _, err := fmt.Fprintln(b, id); err != nil {
			return err
		}
	}
	for _, id := range first {
		if _, err := fmt.Fprintln(b, id); err != nil {
			return err
		}
	}
	return b.Flush()
}

// The figures of a process: its time, that of all processors, and the most memory at a time.
const (
	wall = "s"
	cpu  = "s of processors"
	peak = "MiB at the peak"
)

// run runs a command that ends with an exit code.
func run(ctx context.Context, args []string, feed io.Reader, out io.Writer, code int) (c contest.Sample, err error) {
	cmd := exec.CommandContext(ctx, args[0], args[1:]...) //nolint:gosec // programs that its user names
	cmd.Env, cmd.Stdin, cmd.Stdout, cmd.Stderr = append(os.Environ(), "LC_ALL=C"), feed, out, os.Stderr
	began := time.Now()
	if err = cmd.Run(); cmd.ProcessState.ExitCode() != code {
		return c, fmt.Errorf("%s: exit code %d, want %d: %w", args[0], cmd.ProcessState.ExitCode(), code, err)
	}
	c = contest.Sample{wall: time.Since(began).Seconds(), cpu: (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		c[peak] = float64(usage.Maxrss) / 1024 // Linux counts in KiB
	}
	return c, nil
}

// report is the used part of the program's output.
type report struct {
	IDs, Distinct, Duplicates, Spilled uint64
	Named                              []struct {
		Places []struct{ At uint64 }
	}
}

// check runs the program.
func check(ctx context.Context, args []string, feed io.Reader, code int) (c contest.Sample, r report, err error) {
	var out bytes.Buffer
	if c, err = run(ctx, args, feed, &out, code); err == nil {
		err = json.Unmarshal(out.Bytes(), &r)
	}
	return c, r, err
}

// stream streams ids with planted duplicates into the program, and checks its answer.
func stream(ctx context.Context, ours []string, n, planted uint64) error {
	feed, w := io.Pipe()
	go func() { _ = w.CloseWithError(write(w, n, planted, true)) }() // it never fails
	c, r, err := check(ctx, append(ours, "--limit", fmt.Sprint(planted+1), "-"), feed, 1)
	if err != nil {
		return err
	}
	fmt.Printf("%d ids streamed, %d of them planted\n%v, %d MiB put aside\n", n+planted, planted, c, r.Spilled>>20)
	if r.IDs != n+planted || r.Duplicates != planted || uint64(len(r.Named)) != planted || c[peak] > limit {
		return fmt.Errorf("it found %d ids, %d duplicates, named %d, and used %.0f MiB", r.IDs, r.Duplicates, len(r.Named), c[peak])
	}
	for _, d := range r.Named {
		if len(d.Places) != 2 || d.Places[0].At > planted || d.Places[1].At != n+d.Places[0].At {
			return fmt.Errorf("an id stands elsewhere: %v", d.Places)
		}
	}
	return nil
}

// compare lets the program and sort find out whether the ids of a file, the last argument of both, are distinct.
func compare(ctx context.Context, ours, theirs []string, n uint64, shuffled bool) error {
	f, err := os.Create(ours[len(ours)-1])
	if err != nil {
		return err
	}
	if err := errors.Join(write(f, n, 0, shuffled), f.Close()); err != nil {
		return err
	}
	const own, peer = "snowfence check", "sort -u"
	_, err = contest.Contest{
		Title: fmt.Sprintf("%d ids, shuffled: %t", n, shuffled), Rounds: rounds,
		Contenders: []contest.Contender{{Name: own, Run: func(ctx context.Context) (contest.Sample, error) {
			c, r, err := check(ctx, ours, nil, 0)
			if err == nil && (r.IDs != n || r.Distinct != n) {
				err = fmt.Errorf("it found %d ids, %d distinct", r.IDs, r.Distinct)
			}
			return c, err
		}}, {Name: peer, Run: func(ctx context.Context) (contest.Sample, error) { return run(ctx, theirs, nil, nil, 0) }}},
		Goals: []contest.Goal{{Figure: wall, Name: peer, Peer: own}},
	}.Run(ctx)
	return err
}
