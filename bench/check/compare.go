package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
)

// lines counts the lines written to it.
type lines struct{ n uint64 }

func (l *lines) Write(p []byte) (int, error) {
	l.n += uint64(bytes.Count(p, []byte("\n")))
	return len(p), nil
}

// compare lets the program and sort find out whether the ids of a file are distinct.
func (b *bench) compare(ctx context.Context, s series) error {
	name := "rising"
	if s.shuffled {
		name = "shuffled"
	}
	path := filepath.Join(b.temp, name+".txt")
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	_, err = s.write(f, 0)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	fmt.Printf("\n# %d ids, %s\n\n", b.ids, name)
	var ours, theirs []cost
	for round := range rounds {
		c, r, err := b.check(ctx, nil, 0, path)
		if err != nil {
			return err
		}
		if r.IDs != b.ids || r.Distinct != b.ids {
			return fmt.Errorf("the program found %d ids, %d distinct", r.IDs, r.Distinct)
		}
		ours = append(ours, c)
		fmt.Printf("round %d  snowfence check  %s\n", round+1, c)
		var found lines
		//nolint:gosec // It runs the programs that its user names.
		sort := exec.CommandContext(ctx, "sort", "-u", "-S", memory+"M", "--parallel=2", "-T", b.temp, path)
		sort.Env, sort.Stdout = append(os.Environ(), "LC_ALL=C"), &found
		c, err = measure(sort, nil, 0)
		if err != nil {
			return err
		}
		if found.n != b.ids {
			return fmt.Errorf("sort found %d distinct ids", found.n)
		}
		theirs = append(theirs, c)
		fmt.Printf("round %d  sort -u          %s\n", round+1, c)
	}
	a, z := median(ours), median(theirs)
	fmt.Printf("median   snowfence check  %s  %6.1f M ids a second\n", a, float64(b.ids)/a.wall.Seconds()/1e6)
	fmt.Printf("median   sort -u          %s  %6.1f M ids a second\n", z, float64(b.ids)/z.wall.Seconds()/1e6)
	fmt.Printf("%s: snowfence check is %.1f times as fast as sort -u, and takes the processors for %.1f times less\n",
		name, z.wall.Seconds()/a.wall.Seconds(), z.cpu.Seconds()/a.cpu.Seconds())
	return os.Remove(path)
}

// median returns the costs of the middle, each by itself.
func median(costs []cost) cost {
	middle := func(by func(a, b cost) int) cost { return slices.SortedFunc(slices.Values(costs), by)[len(costs)/2] }
	return cost{
		wall: middle(func(a, b cost) int { return cmp.Compare(a.wall, b.wall) }).wall,
		cpu:  middle(func(a, b cost) int { return cmp.Compare(a.cpu, b.cpu) }).cpu,
		peak: middle(func(a, b cost) int { return cmp.Compare(a.peak, b.peak) }).peak,
	}
}
