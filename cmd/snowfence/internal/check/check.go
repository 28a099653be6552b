package check

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// Input is a source that is to be read.
type Input struct {
	// Open opens it. It is called when the inputs before it have been read.
	Open func(ctx context.Context) (idsource.Source, error)
	// Size is how many bytes there are, 0 where nobody knows. If it is known of all
	// inputs, a check says early that a disk will be full.
	Size int64
}

// The limits of [Config.Memory].
const (
	// DefaultMemory is used for zero.
	DefaultMemory = 1 << 30
	// LeastMemory is what the program itself needs, and a little more.
	LeastMemory = 64 << 20
	// ownMemory is what of it is left for the program, and mapped what of that is
	// its own file, which does not count as Go's memory.
	ownMemory = 44 << 20
	mapped    = 24 << 20
)

// Heap is what of so much memory for the whole process is Go's, for
// [debug.SetMemoryLimit].
func Heap(memory int64) int64 { return memory - mapped }

// Config says how ids are checked.
type Config struct {
	// Memory bounds in bytes what the whole process uses. Zero means
	// DefaultMemory; anything else must be at least LeastMemory.
	Memory int64
	// Temp is the folder for what does not fit. Empty means the system's.
	Temp string
	// Layout is that of the ids. Nil means that it is guessed among the presets.
	Layout *snowfence.Layout
	// Preset is the name of Layout, or empty.
	Preset string
	// Limit is how many duplicates and ranges are named. Zero means none.
	Limit int
	// Now is the present time, for what is plausible.
	Now time.Time
	// Progress is kept up to date. Nil means that nobody looks.
	Progress *Progress

	disk  disk // nil: Temp
	sizes sizes
}

// sizes are how large everything is. The tests have small ones.
type sizes struct {
	chunk     int   // items that are sorted at a time
	pageItems int   // of a page
	workers   int   // that sort, and that merge
	room      int64 // bytes of pages that are kept in memory
	fan       int   // runs that are merged at a time
}

// batch is how many items are asked of a source at a time.
const batch = 1 << 13

// sizesOf divides memory: five eighths to what is being sorted, a quarter to what
// is kept, and the rest to the sources, indices and whatever Go needs for itself.
// After the reading, what was being sorted is there for the merge.
func sizesOf(memory int64, processors int) sizes {
	memory -= ownMemory
	s := sizes{workers: min(max(processors, 1), 4), pageItems: 1 << 14}
	// One piece is read while each worker sorts one, with as much to spare.
	s.chunk = int(memory * 5 / 8 / int64(2*s.workers+1) / itemBytes)
	s.pageItems = max(blockItems, min(s.pageItems, s.chunk/64))
	s.room = memory / 4
	s.fan = max(2, int(memory/2/int64(s.workers)/int64(pageBytes(s.pageItems)+8*blockItems*itemBytes)))
	return s
}

const itemBytes = 16

// pageBytes is the size of a page at most.
func pageBytes(items int) int { return (items/blockItems+1)*maxBlock + slack }

// Run reads the inputs, one after the other, and reports what was found. It
// returns a *[FullError] when there is no room for what has to be put aside, and
// else the error of the source that could not be read. Nothing is left behind.
func Run(ctx context.Context, inputs []Input, cfg Config) (Report, error) {
	c, err := newChecker(inputs, cfg)
	if err != nil {
		return Report{}, err
	}
	report, err := c.run(ctx)
	if closed := c.shelf.close(); err == nil && closed != nil {
		err = fmt.Errorf("drop what was put aside: %w", closed)
	}
	return report, err
}

// newChecker fills in what the config leaves open.
func newChecker(inputs []Input, cfg Config) (*checker, error) {
	if cfg.Memory == 0 {
		cfg.Memory = DefaultMemory
	}
	if cfg.Memory < LeastMemory {
		return nil, fmt.Errorf("memory is %s: must be at least %s", Bytes(uint64(max(0, cfg.Memory))), Bytes(LeastMemory))
	}
	if cfg.sizes.chunk == 0 {
		cfg.sizes = sizesOf(cfg.Memory, runtime.GOMAXPROCS(0))
	}
	if cfg.Temp == "" {
		cfg.Temp = os.TempDir()
	}
	if cfg.disk == nil {
		cfg.disk = folder{cfg.Temp}
	}
	if cfg.Progress == nil {
		cfg.Progress = &Progress{}
	}
	return &checker{
		Config: cfg, inputs: inputs,
		shelf: &shelf{disk: cfg.disk, dir: cfg.Temp, expect: cfg.Progress.part, room: cfg.sizes.room},
	}, nil
}

// checker is one run of a check.
type checker struct {
	Config
	inputs   []Input
	shelf    *shelf
	observer *observer
	guess    guess // of the layout, if it was not named
	names    []string
	places   []func(uint64) string
	invalid  []uint64
	first    []error // invalid of each source
	runs     []run
}

func (c *checker) run(ctx context.Context) (Report, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if err := c.readAll(ctx, stop); err != nil {
		return Report{}, err
	}
	c.doubt()
	// What was being sorted is garbage now; the merge needs its room.
	debug.FreeOSMemory()
	c.Progress.phase.Store(int64(Merging))
	if err := c.reduce(ctx); err != nil {
		return Report{}, err
	}
	t, err := c.compare(ctx, stop)
	if err != nil {
		return Report{}, err
	}
	return c.report(t), nil
}

// chunk is items that are sorted together.
type chunk struct {
	number int
	items  []item
}

// readAll reads the inputs while others sort what was read.
func (c *checker) readAll(ctx context.Context, stop context.CancelCauseFunc) error {
	full := make(chan chunk)
	free := make(chan []item, c.sizes.workers+1)
	for range c.sizes.workers + 1 {
		free <- nil // made when it is needed
	}
	var mu sync.Mutex
	var sorting sync.WaitGroup
	for range c.sizes.workers {
		sorting.Go(func() {
			w := shelving{checker: c}
			for k := range full {
				r, err := w.shelve(ctx, k)
				if err != nil {
					stop(err)
					for range full {
						// Nobody must wait for a worker that gave up.
					}
					return
				}
				free <- k.items[:0]
				mu.Lock()
				c.runs = append(c.runs, r)
				mu.Unlock()
			}
		})
	}
	err := c.read(ctx, full, free)
	close(full)
	sorting.Wait()
	if cause := context.Cause(ctx); cause != nil {
		return cause // of a worker, or of the caller
	}
	return err
}

// read fills chunks.
func (c *checker) read(ctx context.Context, full chan<- chunk, free <-chan []item) error {
	var size int64
	for _, in := range c.inputs {
		if in.Size <= 0 {
			size = 0
			break
		}
		size += in.Size
	}
	c.Progress.size.Store(size)
	p := &piece{checker: c, full: full, free: free}
	c.observer = &observer{}
	for _, in := range c.inputs {
		if err := c.readOne(ctx, in, p); err != nil {
			return err
		}
	}
	return p.send(ctx)
}

// piece is the chunk that is being filled.
type piece struct {
	*checker
	full   chan<- chunk
	free   <-chan []item
	items  []item
	number int
	top    uint64 // the highest position
}

// next returns room for items.
func (p *piece) next(ctx context.Context) ([]item, error) {
	if p.items != nil && len(p.items) == p.sizes.chunk {
		if err := p.send(ctx); err != nil {
			return nil, err
		}
	}
	if p.items == nil {
		select {
		case p.items = <-p.free:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
		if p.items == nil {
			p.items = make([]item, 0, p.sizes.chunk)
		}
	}
	n := len(p.items)
	return p.items[n:min(n+batch, p.sizes.chunk)], nil
}

// send hands the chunk on.
func (p *piece) send(ctx context.Context) error {
	if len(p.items) == 0 {
		return nil
	}
	select {
	case p.full <- chunk{p.number, p.items}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	p.number++
	p.items = nil
	return nil
}

// readOne reads one input.
func (c *checker) readOne(ctx context.Context, in Input, p *piece) (err error) {
	src, err := in.Open(ctx)
	if err != nil {
		return err
	}
	defer func() {
		if closed := src.Close(); err == nil && closed != nil {
			err = fmt.Errorf("close %s: %w", src.Name(), closed)
		}
	}()
	c.names = append(c.names, src.Name())
	c.places = append(c.places, src.Place)
	done := c.Progress.bytes.Load()
	var w *witness
	for {
		items, err := p.next(ctx)
		if err != nil {
			return err
		}
		n, err := src.Read(ctx, items)
		items = items[:n]
		if w == nil {
			c.settle(items)
			w = c.observer.begin(p.top)
		}
		c.observer.see(w, items)
		p.items = p.items[:len(p.items)+n]
		p.top = w.top
		c.Progress.ids.Add(int64(n))
		c.Progress.bytes.Store(done + src.Progress().Done)
		if err != nil {
			n, first := src.Skipped()
			c.invalid, c.first = append(c.invalid, n), append(c.first, first)
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// settle settles the layout, with the first ids that there are.
func (c *checker) settle(items []item) {
	if c.observer.fields != nil || len(items) == 0 {
		return
	}
	if c.Layout != nil {
		c.observer.fields = ready(*c.Layout, c.Now)
		return
	}
	if len(c.observer.sources) > 0 && c.observer.settled {
		return
	}
	c.observer.settled = true
	var sample []snowfence.ID
	step := max(1, len(items)/samples)
	for i := 0; i < len(items) && len(sample) < samples; i += step {
		sample = append(sample, items[i].ID)
	}
	if g, ok := guessLayout(sample, c.Now); ok {
		c.guess = g
		c.observer.fields = ready(g.preset.Layout, c.Now)
	}
}

// shelving sorts chunks and puts them on the shelf.
type shelving struct {
	*checker
	spare []item
	data  []byte
}

// shelve makes a run of a chunk.
func (w *shelving) shelve(ctx context.Context, k chunk) (run, error) {
	if !rising(k.items) {
		if w.spare == nil {
			w.spare = make([]item, w.sizes.chunk)
		}
		order(k.items, w.spare[:len(k.items)])
	}
	b := binder{shelf: w.shelf, pageItems: w.sizes.pageItems, data: w.data}
	if err := b.add(ctx, k.items); err != nil {
		return run{}, err
	}
	pages, err := b.end()
	w.data = b.data
	return run{k.number, pages}, err
}

// rising reports whether no id is lower than the one before.
func rising(items []item) bool {
	for i := 1; i < len(items); i++ {
		if key(items[i]) < key(items[i-1]) {
			return false
		}
	}
	return true
}
