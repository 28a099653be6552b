package idsort

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"

	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/internal/text"
)

// Item is an id and its position, as [Sorted.Stand] takes it.
type Item = idsource.Item

// Input is a source to read.
type Input struct {
	// Open opens it. It is called when the inputs before it have been read.
	Open func(ctx context.Context) (idsource.Source, error)
	// Size is its size in bytes, or 0 if it is not known. If it is known of all
	// inputs, a sort says early that a disk will be full.
	Size int64
}

// The limits of [Config.Memory], in bytes.
const (
	// DefaultMemory is used for zero.
	DefaultMemory = 1 << 30
	// LeastMemory is what the program itself needs, and a little more.
	LeastMemory = 64 << 20
	// ownMemory is the program's share, and mapped the part of that for its own
	// file, which does not count as Go's memory.
	ownMemory = 44 << 20
	mapped    = 24 << 20
)

// Heap is Go's part of a process's memory, for [debug.SetMemoryLimit], in bytes.
func Heap(memory int64) int64 { return memory - mapped }

// OwnHeap is the part of [Heap] that a sort leaves to the rest of the program.
const OwnHeap = ownMemory - mapped

// Config says how ids are sorted.
type Config struct {
	// Memory bounds the whole process in bytes, to at least LeastMemory. Zero means DefaultMemory.
	Memory int64
	// Temp is the folder for what does not fit. Empty means the system's.
	Temp string
	// See is called with all items of an input, counted from 0, in the order of
	// reading, and at least once an input. Nil means no call.
	See func(input int, items []Item)
	// Progress is kept up to date. Nil means no progress is kept.
	Progress *Progress
	// Sizes replace those that follow from Memory, for tests. Zero means none.
	Sizes Sizes

	disk disk // nil: Temp
}

// Sizes say how large the parts of a sort are.
type Sizes struct {
	Chunk   int   // items that are sorted at a time
	Page    int   // items of a page
	Workers int   // goroutines that sort
	Room    int64 // bytes of pages that are kept in memory
	Fan     int   // runs that are merged at a time
}

const itemBytes = 16

// mostChunk is the most items that are sorted at a time: more would not fit the processor's memory.
const mostChunk = 1 << 18

// sizesOf divides the memory: half to the pages that are kept, three eighths to what is
// being sorted and later merged, and the rest to sources and Go itself.
func sizesOf(memory int64, processors int) Sizes {
	memory -= ownMemory
	s := Sizes{Workers: min(max(processors, 1), 4), Room: memory / 2}
	// One chunk is read while each worker sorts one, and each has a spare.
	s.Chunk = min(mostChunk, int(memory*3/8/int64(2*(s.Workers+1))/itemBytes))
	s.Page = s.Chunk / 128
	// Each run has a page, and twice that is needed to sort what is gathered.
	s.Fan = int(memory * 3 / 8 / int64(3*s.Page*itemBytes))
	return s
}

// Sorted is the ids of several inputs in rising order. It is for one goroutine.
type Sorted struct {
	Config
	tops    []uint64 // the highest position of each input
	runs    []*run   // in the order of positions
	shelf   *shelf   // of the runs
	spilled uint64   // bytes, by shelves before
}

// Sort reads the inputs, one after the other, and sorts their ids. It returns a
// *[FullError] when there is no room, a source's error, or the cause of the context's
// end. The caller closes what it returns.
func Sort(ctx context.Context, inputs []Input, cfg Config) (*Sorted, error) {
	cfg.Memory = cmp.Or(cfg.Memory, DefaultMemory)
	if cfg.Memory < LeastMemory {
		return nil, fmt.Errorf("memory is %s: must be at least %s", text.Bytes(uint64(max(0, cfg.Memory))), text.Bytes(LeastMemory))
	}
	cfg.Sizes = cmp.Or(cfg.Sizes, sizesOf(cfg.Memory, runtime.GOMAXPROCS(0)))
	cfg.Temp = cmp.Or(cfg.Temp, os.TempDir())
	cfg.Progress = cmp.Or(cfg.Progress, &Progress{})
	if cfg.disk == nil {
		cfg.disk = folder{cfg.Temp}
	}
	s := &Sorted{Config: cfg}
	s.shelf = s.newShelf(cfg.Sizes.Room)
	err := s.readAll(ctx, inputs)
	if err == nil {
		// What was being sorted is garbage now; the merge needs its room.
		debug.FreeOSMemory()
		cfg.Progress.phase.Store(int64(Merging))
		err = s.reduce(ctx)
	}
	if err != nil {
		_ = s.Close() // the first error is the one to report
		return nil, err
	}
	return s, nil
}

// reduce merges runs to fewer, as long as they are more than can be merged at a
// time. Neighbours are merged, so that runs stay in the order of positions.
func (s *Sorted) reduce(ctx context.Context) error {
	for len(s.runs) > s.Sizes.Fan {
		before, runs := s.shelf, s.runs
		s.spilled += before.written
		s.shelf, s.runs = s.newShelf(0), nil
		var err error
		for len(runs) > 0 && err == nil {
			n := min(s.Sizes.Fan, len(runs))
			fewer := &run{}
			err = merge(ctx, runs[:n], s.Sizes.Page, func(items []Item) error { return fewer.add(s.shelf, items, s.Sizes.Page) })
			s.runs, runs = append(s.runs, fewer), runs[n:]
		}
		if err := cmp.Or(err, before.close()); err != nil {
			return err
		}
	}
	return nil
}

// Each hands out all items, ids in rising order as unsigned numbers and equal ids
// in the order of reading, in slices that are valid until emit returns. It ends
// with the error of emit, that of reading, or the cause of the context's end.
func (s *Sorted) Each(ctx context.Context, emit func([]Item) error) error {
	return merge(ctx, s.runs, s.Sizes.Page, func(items []Item) error {
		s.Progress.merged.Add(int64(len(items)))
		return emit(items)
	})
}

// Stand turns a position into the input, counted from 0, and the place in it that
// [idsource.Source.Place] takes. It may be called once everything has been read.
func (s *Sorted) Stand(at uint64) (input int, in uint64) {
	input = sort.Search(len(s.tops), func(i int) bool { return s.tops[i] >= at })
	if input > 0 {
		at -= s.tops[input-1]
	}
	return input, at
}

// Spilled is how many bytes were put aside on the disk.
func (s *Sorted) Spilled() uint64 { return s.spilled + s.shelf.written }

// Close drops what was put aside.
func (s *Sorted) Close() error { return s.shelf.close() }
