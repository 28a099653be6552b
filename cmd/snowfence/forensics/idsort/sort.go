package idsort

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"sort"

	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
	"snowfence.example/snowfence/internal/text"
)

// Item is an id and its position, as [Sorted.Stand] takes it.
type Item = source.Item

// Input is a source to read. Open is called when the inputs before it have been read.
type Input struct {
	Open func(ctx context.Context) (source.Source, error)
}

// The limits of [Config.Memory], in bytes.
const (
	// DefaultMemory is used for zero.
	DefaultMemory = 1 << 30
	// LeastMemory is the need of the program itself, and a little more.
	LeastMemory = 64 << 20
	// OwnHeap is the part of [Heap] that a sort leaves to the rest of the program.
	OwnHeap = 20 << 20
	mapped  = 24 << 20 // the program's file, which does not count as Go's memory
)

// Heap is Go's part of a process's memory, for [debug.SetMemoryLimit], in bytes.
func Heap(memory int64) int64 { return memory - mapped }

// Config sets how ids are sorted.
type Config struct {
	// Memory bounds the whole process in bytes, to at least LeastMemory. Zero means DefaultMemory.
	Memory int64
	// Temp is the folder for pages that do not fit. Empty means the system's.
	Temp string
	// See is called with all items of an input, counted from 0, in the order of
	// reading, and at least once an input, by one goroutine at a time. Nil means no call.
	See func(input int, items []Item)
	// Progress is kept up to date. Nil means no progress is kept.
	Progress *Progress
	// Sizes replace the sizes that follow from Memory, for tests. Zero means none.
	Sizes Sizes

	create func(dir string) (scratch, error) // of the file for pages
}

// Sizes set how large the parts of a sort are.
type Sizes struct {
	Chunk   int   // items that are sorted at a time while ids are read
	Page    int   // items of a page
	Workers int   // goroutines that sort chunks
	Room    int64 // bytes of pages that are kept in memory
	Piece   int   // items that are handed out at a time, at most
}

const (
	itemBytes = 16
	// mostChunk is the most items of a chunk: more would not fit the processor's memory.
	mostChunk = 1 << 18
)

// sizesOf divides the memory: half to the pages that are kept, three eighths to the items
// that are gathered or sorted and their spare room, and the rest to sources and Go itself.
func sizesOf(memory int64, processors int) Sizes {
	memory -= mapped + OwnHeap
	s := Sizes{Workers: min(max(processors, 1), 4), Room: memory / 2}
	items := int(memory * 3 / 8 / itemBytes)
	s.Piece = items / 3                             // one is gathered while one is sorted, which takes two rooms
	s.Chunk = min(mostChunk, items/2/(s.Workers+1)) // one is read while each worker sorts one
	s.Page = s.Chunk / 128
	return s
}

// Seen is what was read of an input. Its source is closed, but still knows its name and its places.
type Seen struct {
	source.Source
	IDs      uint64
	Rounding source.Rounding // of its ids
	top      uint64          // its highest position
}

// Sorted is the ids of several inputs in rising order. It is for one goroutine.
type Sorted struct {
	Config
	Inputs []*Seen
	spill  *spill
	chunks int
	piece  []Item // that is gathered
}

// piece is items that are gathered to be handed out.
type piece struct {
	items  []Item
	sorted bool
}

// Sort reads the inputs, one after the other, and sorts their ids. It returns a
// *[FullError] when there is no room, a source's error, or the cause of the context's
// end. The caller closes the result.
func Sort(ctx context.Context, inputs []Input, cfg Config) (*Sorted, error) {
	cfg.Memory = cmp.Or(cfg.Memory, DefaultMemory)
	if cfg.Memory < LeastMemory {
		return nil, fmt.Errorf("memory is %s: must be at least %s", text.Bytes(uint64(max(0, cfg.Memory))), text.Bytes(LeastMemory))
	}
	cfg.Sizes = cmp.Or(cfg.Sizes, sizesOf(cfg.Memory, runtime.GOMAXPROCS(0)))
	cfg.Temp = cmp.Or(cfg.Temp, os.TempDir())
	cfg.Progress = cmp.Or(cfg.Progress, &Progress{})
	if cfg.create == nil {
		cfg.create = createFile
	}
	s := &Sorted{Config: cfg, spill: &spill{Config: cfg, room: cfg.Sizes.Room}}
	if err := s.read(ctx, inputs); err != nil {
		_ = s.Close() // the first error is the one to report
		return nil, err
	}
	debug.FreeOSMemory() // the chunks are garbage now; the pieces need their room
	cfg.Progress.phase.Store(int64(Merging))
	return s, nil
}

// Each hands out all items, ids in rising order as unsigned numbers and equal ids
// in the order of reading, in slices that are valid until emit returns. It ends
// with the error of emit, that of reading, or the cause of the context's end. The next
// slice is gathered while emit runs, which may call Stand and no other method.
func (s *Sorted) Each(ctx context.Context, emit func([]Item) error) error {
	pages := make([]*page, len(s.spill.pages))
	for i := range pages {
		pages[i] = &s.spill.pages[i]
	}
	// Small pieces fit the processor's memory. Much smaller ones would read pages too often.
	most := min(s.Sizes.Piece, max(mostChunk, 8*s.chunks*s.Sizes.Page))
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	// Two rooms for items go round. The loop below takes a piece after it has put the last room
	// back, so a room is free whenever one is needed, and no goroutine waits for it.
	gathered, free := make(chan piece), make(chan []Item, 1)
	free <- nil
	var failed, refused error
	go func() {
		defer close(gathered)
		failed = s.hand(ctx, pages, 0, math.MaxUint64, most, func(sorted bool) error {
			select {
			case gathered <- piece{s.piece, sorted}:
				s.piece = <-free
				return nil
			case <-ctx.Done():
				return context.Cause(ctx)
			}
		})
	}()
	var c chunk
	for p := range gathered { // the next one is gathered meanwhile
		items := p.items
		if c.items = items; !p.sorted {
			items = c.sort()
		}
		s.Progress.merged.Add(int64(len(items)))
		if refused = emit(items); refused != nil {
			stop(refused)
			break
		}
		free <- p.items
	}
	for p := range gathered { // that were on their way
		free <- p.items
	}
	return cmp.Or(refused, failed)
}

// hand gathers the items of pages whose ids are from low to high and passes them on, as one
// piece of most items or as two halves, or it divides them.
func (s *Sorted) hand(ctx context.Context, from []*page, low, high uint64, most int, pass func(sorted bool) error) error {
	outside := func(p *page) bool { return p.last < low || p.first > high }
	pages := from // ids have many leading bits in common: such halves share one list
	if slices.ContainsFunc(from, outside) {
		pages = slices.DeleteFunc(slices.Clone(from), outside)
	}
	within, rising, last := 0, true, low
	for _, p := range pages {
		if p.first >= low && p.last <= high {
			within += int(p.items)
		}
		rising = rising && last <= max(p.first, low)
		last = min(p.last, high)
	}
	if rising { // so are the pages of a single id: they need no sorting
		for _, p := range pages {
			if _, err := s.gather(ctx, []*page{p}, low, high, math.MaxInt); err != nil {
				return err
			}
			if err := pass(true); err != nil {
				return err
			}
		}
		return nil
	}
	fits := within <= most
	if fits {
		var err error
		if fits, err = s.gather(ctx, pages, low, high, most); err != nil {
			return err
		}
	}
	if fits {
		return pass(false)
	}
	middle := low + (high-low)/2
	cut := 0 // pages that both halves would read
	for _, p := range pages {
		if p.first <= middle && p.last > middle {
			cut++
		}
	}
	if s.spill.file != nil && cut*s.Sizes.Page > 3*s.Sizes.Piece {
		return s.divide(ctx, pages, low, high, most, pass)
	}
	if err := s.hand(ctx, pages, low, middle, most, pass); err != nil {
		return err
	}
	return s.hand(ctx, pages, middle+1, high, most, pass)
}

// parts is into how many parts a range of ids is divided.
const parts = 64

// divide reads pages once, puts their items aside again by parts of the range, and hands out
// the parts. So the work grows with the logarithm of ids by memory, where halves would
// read each page ever more often.
func (s *Sorted) divide(ctx context.Context, from []*page, low, high uint64, most int, pass func(sorted bool) error) error {
	first, last := high, low
	for _, p := range from {
		first, last = min(first, max(p.first, low)), max(last, min(p.last, high))
	}
	width, size := (last-first)/parts+1, max(1, s.Sizes.Piece/parts)
	s.piece = slices.Grow(s.piece[:0], parts*size)
	room := s.piece[:parts*size]
	var pages [parts][]*page
	var items [parts][]Item
	var spare []Item
	flush := func(n uint64) error {
		c, before := chunk{items[n], spare}, len(s.spill.pages)
		err := s.spill.add(c.sort(), 0)
		for _, p := range s.spill.pages[before:] {
			pages[n] = append(pages[n], &p)
		}
		s.spill.pages, items[n], spare = s.spill.pages[:before], items[n][:0], c.spare
		return err
	}
	for n := range items {
		items[n] = room[n*size : n*size : (n+1)*size]
	}
	var in []Item
	for _, p := range from {
		var err error
		if in, err = s.spill.get(p, low, high, in[:0]); err != nil || ctx.Err() != nil {
			return cmp.Or(err, context.Cause(ctx))
		}
		for _, x := range in {
			n := (uint64(x.ID) - first) / width
			if items[n] = append(items[n], x); len(items[n]) == size {
				if err := flush(n); err != nil {
					return err
				}
			}
		}
	}
	for n := range uint64(parts) {
		if err := flush(n); err != nil {
			return err
		}
	}
	for n := range uint64(parts) {
		if start := first + n*width; len(pages[n]) > 0 {
			if err := s.hand(ctx, pages[n], start, start+min(width-1, last-start), most, pass); err != nil {
				return err
			}
		}
	}
	return nil
}

// gather reads the items of pages whose ids are from low to high; false if they are too many.
func (s *Sorted) gather(ctx context.Context, pages []*page, low, high uint64, most int) (fits bool, err error) {
	s.piece = s.piece[:0]
	if len(pages) > 1 {
		s.piece = slices.Grow(s.piece, min(most+s.Sizes.Page, int(s.Progress.ids.Load()))) // once for all pieces in that room
	}
	for _, p := range pages {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		if s.piece, err = s.spill.get(p, low, high, s.piece); err != nil {
			return false, err
		}
		if len(s.piece) > most {
			return false, nil
		}
	}
	return true, nil
}

// Stand turns a position into the input, counted from 0, and the place in it that
// [source.Source.Place] takes. It may be called once everything has been read.
func (s *Sorted) Stand(at uint64) (input int, in uint64) {
	input = sort.Search(len(s.Inputs), func(i int) bool { return s.Inputs[i].top >= at })
	if input > 0 {
		at -= s.Inputs[input-1].top
	}
	return input, at
}

// Spilled is how many bytes were put aside on the disk.
func (s *Sorted) Spilled() uint64 { return s.spill.written }

// Close drops all pages that were put aside.
func (s *Sorted) Close() error {
	if s.spill.file == nil {
		return nil
	}
	return s.spill.file.Close()
}
