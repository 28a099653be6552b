package check

import (
	"context"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// now is the present in these tests.
var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// list is a source in memory.
type list struct {
	source.Source
	name  string
	items []idsort.Item
	read  int
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

func (l *list) Read(_ context.Context, items []idsort.Item) (int, error) {
	n := copy(items, l.items[l.read:])
	if l.read += n; n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func (*list) Place(at uint64) string { return fmt.Sprintf("line %d", at) }
func (*list) Close() error           { return nil }

// tiny are sizes with which everything happens that does with a billion ids:
// runs are put aside, and merged several times over.
var tiny = idsort.Config{Sizes: idsort.Sizes{Chunk: 2000, Page: 200, Workers: 2, Room: 4000, Piece: 1600}}

// runCheck checks lists.
func runCheck(t *testing.T, cfg Config, lists ...*list) Report {
	t.Helper()
	cfg.Now = now
	cfg.Sort.Temp = t.TempDir()
	var inputs []idsort.Input
	for _, l := range lists {
		l.read = 0
		inputs = append(inputs, idsort.Input{Open: func(context.Context) (source.Source, error) { return l, nil }})
	}
	r, err := Run(t.Context(), inputs, cfg)
	if err != nil {
		t.Fatal(err)
	}
	left, err := os.ReadDir(cfg.Sort.Temp)
	if err != nil || len(left) > 0 {
		t.Fatalf("left behind: %v (%v)", left, err)
	}
	return r
}

func fill(n int, id func(i int) uint64) []uint64 {
	ids := make([]uint64, n)
	for i := range ids {
		ids[i] = id(i)
	}
	return ids
}
