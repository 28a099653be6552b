package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
)

// stream streams ids with planted duplicates into the program, and checks that it
// finds them all, names them, and keeps to its memory.
func (b *bench) stream(ctx context.Context, s series) error {
	var planted []duplicate
	feed := func(w io.Writer) (err error) {
		planted, err = s.write(w, b.planted)
		return err
	}
	c, r, err := b.check(ctx, feed, 1, "--format", "text", "--limit", strconv.FormatUint(b.planted+1, 10), "-")
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
