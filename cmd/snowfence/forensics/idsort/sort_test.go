package idsort

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// list is a source in memory.
type list struct {
	source.Source
	items []Item
	read  int
	fail  error // at the end, instead of it
}

func (l *list) Read(ctx context.Context, items []Item) (int, error) {
	n := copy(items, l.items[l.read:])
	l.read += n
	if n == 0 || ctx.Err() != nil {
		return 0, cmp.Or(context.Cause(ctx), l.fail, io.EOF)
	}
	return n, nil
}

func (*list) Close() error { return nil }

// fullFile is on a disk that has no room.
type fullFile struct{ scratch }

func (fullFile) WriteAt([]byte, int64) (int, error) {
	return 0, &os.PathError{Op: "write", Path: "scratch", Err: syscall.ENOSPC}
}

// listed makes an input of n ids, one a line.
func listed(n int, id func(i int) uint64) Input {
	l := &list{}
	for i := range n {
		l.items = append(l.items, Item{ID: snowfence.ID(id(i)), At: uint64(i) + 1})
	}
	return l.input()
}

func (l *list) input() Input {
	return Input{Open: func(context.Context) (source.Source, error) { return l, nil }}
}

// tiny are sizes with which everything happens that does with a billion ids.
var tiny = Sizes{Chunk: 300, Page: 100, Workers: 2, Room: 20_000, Piece: 600}

func spreadID(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }

// TestEveryItemComesInOrderWithItsPlace sorts ids of every shape, with lines between
// that hold none, and compares with a sort in memory.
func TestEveryItemComesInOrderWithItsPlace(t *testing.T) {
	for name, id := range map[string]func(r *rand.Rand, i int) uint64{
		"few different":             func(r *rand.Rand, _ int) uint64 { return r.Uint64N(50) },
		"all the same":              func(*rand.Rand, int) uint64 { return 7 },
		"two":                       func(_ *rand.Rand, i int) uint64 { return uint64(i % 2) },
		"of 64 bits":                func(r *rand.Rand, _ int) uint64 { return ^uint64(0) - r.Uint64N(3)<<r.IntN(62) },
		"spread":                    func(r *rand.Rand, _ int) uint64 { return r.Uint64() },
		"in order":                  func(_ *rand.Rand, i int) uint64 { return uint64(i) << 20 },
		"in order with equal ones":  func(_ *rand.Rand, i int) uint64 { return uint64(i / 3 * 5) },
		"backwards":                 func(_ *rand.Rand, i int) uint64 { return 1<<62 - uint64(i/2) },
		"nearly in order":           func(r *rand.Rand, i int) uint64 { return uint64(i*3) + r.Uint64N(50)/49*r.Uint64N(20) },
		"with outliers":             func(r *rand.Rand, i int) uint64 { return uint64(i) + r.Uint64N(60)/59<<r.IntN(64) },
		"two logs after each other": func(_ *rand.Rand, i int) uint64 { return uint64(i % 4000) },
		"two logs at once":          func(_ *rand.Rand, i int) uint64 { return uint64(i/2) + uint64(i%2)*1000 },
	} {
		for seed, cfg := range []Config{{Sizes: tiny}, {Sizes: tiny}, {Sizes: Sizes{Chunk: 4000, Page: 64, Workers: 1, Room: 1 << 12, Piece: 256}}, {}} {
			r := rand.New(rand.NewPCG(uint64(seed), 1))
			var inputs []Input
			var want, got []string
			var all []Item
			for input := range 1 + r.IntN(3) {
				in := listed(r.IntN(6000), func(i int) uint64 { return id(r, i) })
				opened, _ := in.Open(t.Context())
				gap, items := uint64(0), opened.(*list).items
				for k := range items {
					gap += r.Uint64N(20) / 19 * r.Uint64N(1<<r.Uint64N(40))
					items[k].At += gap
					all = append(all, Item{ID: items[k].ID, At: uint64(input)<<60 | items[k].At})
				}
				inputs = append(inputs, in)
			}
			slices.SortStableFunc(all, func(a, b Item) int { return cmp.Compare(uint64(a.ID), uint64(b.ID)) })
			for _, x := range all {
				want = append(want, fmt.Sprint(uint64(x.ID), x.At>>60, x.At&(1<<60-1)))
			}
			seen, last := 0, uint64(0)
			cfg.Temp = t.TempDir()
			cfg.See = func(_ int, items []Item) {
				for _, x := range items {
					if x.At <= last {
						t.Errorf("position %d is seen after %d", x.At, last)
					}
					last = x.At
				}
				seen += len(items)
			}
			s, err := Sort(t.Context(), inputs, cfg)
			if err != nil {
				t.Fatal(err)
			}
			err = s.Each(t.Context(), func(items []Item) error {
				for _, x := range items {
					input, at := s.Stand(x.At)
					got = append(got, fmt.Sprint(uint64(x.ID), input, at))
				}
				return nil
			})
			if err := cmp.Or(err, s.Close()); err != nil || seen != len(want) || !slices.Equal(got, want) {
				t.Fatalf("%s, %d: %d of %d were seen, and come in another order: %v", name, seed, seen, len(want), err)
			}
			if left, err := os.ReadDir(cfg.Temp); err != nil || len(left) > 0 {
				t.Errorf("%s: left behind: %v (%v)", name, left, err)
			}
		}
	}
}

func TestIDsThatFitAreNotPutAside(t *testing.T) {
	for sizes, want := range map[Sizes]bool{{}: false, tiny: true} {
		s, err := Sort(t.Context(), []Input{listed(10_000, spreadID)}, Config{Temp: t.TempDir(), Sizes: sizes})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil || (s.Spilled() > 0) != want {
			t.Errorf("%+v: %d bytes were put aside: %v", sizes, s.Spilled(), err)
		}
	}
}

// TestPieceThatIsHandedOutFitsTheMemory has ids that differ in few bits.
func TestPieceThatIsHandedOutFitsTheMemory(t *testing.T) {
	for name, id := range map[string]func(i int) uint64{
		"equal":                 func(int) uint64 { return 7 },
		"two":                   func(i int) uint64 { return uint64(i % 2) },
		"of the same high bits": func(i int) uint64 { return 1<<62 | uint64(i)*0x9e3779b1%5000 },
		"spread":                spreadID,
	} {
		s, err := Sort(t.Context(), []Input{listed(50_000, id)}, Config{Temp: t.TempDir(), Sizes: tiny})
		if err != nil {
			t.Fatal(err)
		}
		n, most := 0, tiny.Piece
		err = s.Each(t.Context(), func(items []Item) error {
			n += len(items)
			if len(items) > most || cap(items) > 2*most {
				t.Errorf("%s: %d items come at a time, with room for %d", name, len(items), cap(items))
			}
			return nil
		})
		if err := cmp.Or(err, s.Close()); err != nil || n != 50_000 {
			t.Errorf("%s: %d items came: %v", name, n, err)
		}
	}
}

func TestSizesFitTheMemory(t *testing.T) {
	for _, memory := range []int64{LeastMemory, 256 << 20, DefaultMemory, 8 << 30} {
		for _, processors := range []int{1, 2, 4, 64} {
			s := sizesOf(memory, processors)
			reading := int64(2*s.Chunk*itemBytes)*int64(s.Workers+1) + s.Room
			merging := int64(3*(s.Piece+s.Page)*itemBytes) + s.Room
			if own := int64(mapped + OwnHeap); reading+own > memory || merging+own > memory || s.Piece < s.Chunk || s.Chunk < 1<<14 {
				t.Errorf("%s on %d: %+v: %d and %d", text.Bytes(uint64(memory)), processors, s, reading, merging)
			}
		}
	}
	if _, err := Sort(t.Context(), nil, Config{Memory: LeastMemory - 1}); err == nil || !strings.Contains(err.Error(), "at least 64.0 MiB") {
		t.Errorf("error is %v", err)
	}
}

func TestFullDiskNamesItsFolder(t *testing.T) {
	dir := t.TempDir()
	full := func(dir string) (scratch, error) {
		f, err := createFile(dir)
		return fullFile{f}, err
	}
	_, err := Sort(t.Context(), []Input{listed(50_000, spreadID)}, Config{Temp: dir, Sizes: tiny, create: full})
	if fault, ok := errors.AsType[*FullError](err); !ok || fault.Dir != dir || !strings.Contains(err.Error(), "--temp DIR names another folder") {
		t.Errorf("error is %v", err)
	}
	if _, err := Sort(t.Context(), []Input{listed(50_000, spreadID)}, Config{Temp: dir + "/none", Sizes: tiny}); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a folder that is missing: %v", err)
	}
}

// TestSortEndsWithTheFirstErrorAndLeavesNothingBehind ends in every part of a sort.
func TestSortEndsWithTheFirstErrorAndLeavesNothingBehind(t *testing.T) {
	wrong, dir := errors.New("wrong"), t.TempDir()
	for part := range 7 {
		ctx, stop := context.WithCancelCause(t.Context())
		in := listed(50_000, spreadID)
		opened, _ := in.Open(ctx)
		cfg := Config{Temp: dir, Sizes: tiny}
		switch part {
		case 0:
			in.Open = func(context.Context) (source.Source, error) { return nil, wrong }
		case 1:
			opened.(*list).fail = wrong
		case 2:
			seen := 0
			cfg.See = func(_ int, items []Item) {
				if seen += len(items); seen > 30_000 {
					stop(wrong)
				}
			}
		}
		var file failingFile
		cfg.create = func(dir string) (scratch, error) {
			f, err := createFile(dir)
			file.scratch = f
			return &file, err
		}
		s, err := Sort(ctx, []Input{in}, cfg)
		pieces := 0
		if err == nil {
			err = cmp.Or(s.Each(ctx, func([]Item) error {
				switch pieces++; {
				case part == 3, part == 4 && pieces == 3:
					return wrong
				case part == 5:
					stop(wrong)
				case part == 6:
					file.fail.Store(&wrong)
				}
				return nil
			}), s.Close())
		}
		stop(nil)
		if most := []int{0, 0, 0, 1, 3, 3, 3}[part]; !errors.Is(err, wrong) || pieces > most {
			t.Errorf("part %d: error is %v, after %d pieces", part, err, pieces)
		}
		if left, _ := os.ReadDir(dir); len(left) > 0 {
			t.Errorf("part %d: left behind: %v", part, left)
		}
	}
}

// failingFile fails to read once fail is set.
type failingFile struct {
	scratch
	fail atomic.Pointer[error]
}

func (f *failingFile) ReadAt(p []byte, at int64) (int, error) {
	if err := f.fail.Load(); err != nil {
		return 0, *err
	}
	return f.scratch.ReadAt(p, at)
}

// FuzzReadPage holds that no bytes end the program, and that a page comes back as it was.
func FuzzReadPage(f *testing.F) {
	f.Add(appendPage(nil, []Item{{ID: 1, At: 1}, {ID: 5, At: 9}}), 2)
	f.Add([]byte{128, 8, 0x88}, 1)
	f.Fuzz(func(t *testing.T, data []byte, n int) {
		items := make([]Item, min(max(n, 0), 1000))
		if readPage(data, items) != nil {
			return
		}
		again, back := appendPage(nil, items), make([]Item, len(items))
		if err := readPage(again, back); err != nil || len(again) > len(data) || !slices.Equal(back, items) {
			t.Fatalf("%x: %v comes back as %v, %v", data, items, back, err)
		}
	})
}
