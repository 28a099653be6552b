package check

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"

	"snowfence.example/snowfence"
	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// now is the present in these tests.
var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// list is a source in memory.
type list struct {
	name  string
	items []idsort.Item
	read  int
	fail  error // at the end, instead of it
	cause func(read int)

	skipped uint64
}

// numbered makes a source of ids, one a line.
func numbered(name string, ids []uint64) *list {
	l := &list{name: name}
	for i, id := range ids {
		l.items = append(l.items, idsort.Item{ID: snowfence.ID(id), At: uint64(i) + 1})
	}
	return l
}

func (l *list) Name() string { return l.name }

func (l *list) Read(ctx context.Context, items []idsort.Item) (int, error) {
	if l.cause != nil {
		l.cause(l.read)
	}
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	n := copy(items, l.items[l.read:])
	l.read += n
	if n == 0 {
		if l.fail != nil {
			return 0, l.fail
		}
		return 0, io.EOF
	}
	return n, nil
}

func (*list) Place(at uint64) string     { return fmt.Sprintf("line %d", at) }
func (l *list) Done() int64              { return int64(l.read) }
func (*list) Close() error               { return nil }
func (l *list) Skipped() (uint64, error) { return l.skipped, nil }

// inputs opens lists.
func inputs(lists ...*list) []idsort.Input {
	var all []idsort.Input
	for _, l := range lists {
		all = append(all, idsort.Input{Open: func(context.Context) (idsource.Source, error) {
			l.read = 0
			return l, nil
		}})
	}
	return all
}

// tiny are sizes with which everything happens that does with a billion ids:
// runs are put aside, and merged several times over.
var tiny = idsort.Sizes{Chunk: 2000, Page: 200, Workers: 2, Room: 4000, Fan: 4}

// run checks lists.
func runCheck(t *testing.T, cfg Config, lists ...*list) Report {
	t.Helper()
	cfg.Now = now
	if cfg.Temp == "" {
		cfg.Temp = t.TempDir()
	}
	r, err := Run(t.Context(), inputs(lists...), cfg)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(cfg.Temp)
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v (%v)", left, err)
	}
	return r
}

// shapes are orders and distributions of ids.
var shapes = map[string]func(r *rand.Rand, n int) []uint64{
	"few different": func(r *rand.Rand, n int) []uint64 { return fill(n, func(int) uint64 { return r.Uint64N(50) }) },
	"all the same":  func(_ *rand.Rand, n int) []uint64 { return fill(n, func(int) uint64 { return 7 }) },
	"of 64 bits": func(r *rand.Rand, n int) []uint64 {
		return fill(n, func(int) uint64 { return ^uint64(0) - r.Uint64N(3)<<r.IntN(62) })
	},
	"spread":   func(r *rand.Rand, n int) []uint64 { return fill(n, func(int) uint64 { return r.Uint64() }) },
	"in order": func(_ *rand.Rand, n int) []uint64 { return fill(n, func(i int) uint64 { return uint64(i) << 20 }) },
	"in order with equal ones": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return uint64(i / 3 * 5) })
	},
	"backwards": func(_ *rand.Rand, n int) []uint64 { return fill(n, func(i int) uint64 { return uint64(n - i/2) }) },
	"nearly in order": func(r *rand.Rand, n int) []uint64 {
		ids := fill(n, func(i int) uint64 { return uint64(i * 3) })
		for range n / 50 {
			i := r.IntN(max(1, n-5))
			j := min(n-1, i+r.IntN(5))
			ids[i], ids[j] = ids[j], ids[i]
		}
		return ids
	},
	"with outliers": func(r *rand.Rand, n int) []uint64 {
		ids := fill(n, func(i int) uint64 { return uint64(i) })
		for range n / 60 {
			ids[r.IntN(n)] = r.Uint64N(2 * uint64(n))
		}
		return ids
	},
	"two logs after each other": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return uint64(i % (n/2 + 1)) })
	},
	"two logs at once": func(_ *rand.Rand, n int) []uint64 {
		return fill(n, func(i int) uint64 { return uint64(i/2) + uint64(i%2)*1000 })
	},
}

func fill(n int, id func(i int) uint64) []uint64 {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = id(i)
	}
	return ids
}
