package check

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// now is the present in these tests.
var now = time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)

// list is a source in memory.
type list struct {
	name  string
	items []item
	read  int
	fail  error // at the end, instead of it
	cause func(read int)
}

// numbered makes a source of ids, one a line.
func numbered(name string, ids []uint64) *list {
	l := &list{name: name}
	for i, id := range ids {
		l.items = append(l.items, item{ID: snowfence.ID(id), At: uint64(i) + 1})
	}
	return l
}

func (l *list) Name() string { return l.name }

func (l *list) Read(ctx context.Context, items []item) (int, error) {
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

func (*list) Place(at uint64) string        { return fmt.Sprintf("line %d", at) }
func (l *list) Progress() idsource.Progress { return idsource.Progress{Done: int64(l.read)} }
func (*list) Skipped() (uint64, error)      { return 0, nil }
func (*list) Close() error                  { return nil }

// inputs opens lists.
func inputs(lists ...*list) []Input {
	var all []Input
	for _, l := range lists {
		all = append(all, Input{Open: func(context.Context) (idsource.Source, error) {
			l.read = 0
			return l, nil
		}})
	}
	return all
}

// tiny are sizes with which everything happens that does with a billion ids:
// runs are put aside, and merged several times over.
var tiny = sizes{chunk: 300, pageItems: blockItems, workers: 2, room: 2000, fan: 3}

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

// expected is what a map finds.
func expected(lists []*list) (distinct, repeated uint64, within map[string]uint64, between map[string]uint64, named []Duplicate) {
	type where struct {
		list int
		at   uint64
	}
	places := map[uint64][]where{}
	for i, l := range lists {
		for _, x := range l.items {
			places[key(x)] = append(places[key(x)], where{i, x.At})
		}
	}
	within, between = map[string]uint64{}, map[string]uint64{}
	var ids []uint64
	for id, all := range places {
		distinct++
		if len(all) == 1 {
			continue
		}
		repeated++
		ids = append(ids, id)
		counts := make([]uint64, len(lists))
		for _, w := range all {
			counts[w.list]++
		}
		for i, n := range counts {
			within[lists[i].name] += max(n, 1) - 1
			for k, m := range counts[:i] {
				if n > 0 && m > 0 {
					between[lists[k].name+" "+lists[i].name]++
				}
			}
		}
	}
	slices.Sort(ids)
	for _, id := range ids {
		d := Duplicate{ID: text(id), Count: uint64(len(places[id]))}
		for _, w := range places[id] {
			if len(d.Places) < maxPlaces {
				d.Places = append(d.Places, Place{lists[w.list].name, w.at, fmt.Sprintf("line %d", w.at)})
			}
		}
		named = append(named, d)
	}
	return distinct, repeated, within, between, named
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

func TestEveryDuplicateIsFoundAsAMapFindsIt(t *testing.T) {
	for name, shape := range shapes {
		t.Run(name, func(t *testing.T) {
			for seed := range uint64(6) {
				r := rand.New(rand.NewPCG(seed, 1))
				var lists []*list
				for i := range 1 + r.IntN(3) {
					l := numbered(fmt.Sprint("source", i), shape(r, 1+r.IntN(9000)))
					gap := uint64(0)
					for k := range l.items { // lines without an id
						gap += r.Uint64N(20) / 19 * r.Uint64N(1<<r.Uint64N(40))
						l.items[k].At += gap
					}
					lists = append(lists, l)
				}
				if seed%3 == 0 {
					lists = append(lists, numbered("nothing", nil), numbered("one", []uint64{7}))
				}
				compareWithMap(t, fmt.Sprint("seed ", seed), Config{sizes: tiny, Limit: 1 << 20}, lists)
			}
		})
	}
}

func compareWithMap(t *testing.T, about string, cfg Config, lists []*list) {
	t.Helper()
	report := runCheck(t, cfg, lists...)
	distinct, repeated, within, between, named := expected(lists)
	if report.Distinct != distinct || report.Repeated != repeated || report.Duplicates != report.IDs-distinct {
		t.Fatalf("%s: %d distinct, %d repeated, want %d, %d", about, report.Distinct, report.Repeated, distinct, repeated)
	}
	for i, s := range report.Sources {
		if s.Name != lists[i].name || s.IDs != uint64(len(lists[i].items)) || s.Within != within[s.Name] {
			t.Fatalf("%s: %+v, want %d ids and %d within", about, s, len(lists[i].items), within[s.Name])
		}
	}
	for _, p := range report.Between {
		if between[p.A+" "+p.B] != p.Common {
			t.Fatalf("%s: %+v, want %d", about, p, between[p.A+" "+p.B])
		}
		delete(between, p.A+" "+p.B)
	}
	if len(between) > 0 {
		t.Fatalf("%s: not found: %v", about, between)
	}
	if len(report.Named) != len(named) {
		t.Fatalf("%s: %d are named, want %d", about, len(report.Named), len(named))
	}
	for i, d := range report.Named {
		// Of very many places any may be kept; all that are kept are right.
		if d.Count > maxPlaces {
			continue
		}
		if fmt.Sprint(d) != fmt.Sprint(named[i]) {
			t.Fatalf("%s: %+v, want %+v", about, d, named[i])
		}
	}
	sum, ranges := uint64(0), uint64(0)
	for _, c := range report.Causes {
		sum += c.Duplicates
	}
	for _, r := range report.Ranges {
		ranges += r.Count
	}
	// Of very many ranges the shortest are only counted.
	all := report.RangeCount == uint64(len(report.Ranges))
	if sum != report.Duplicates || !all && cfg.Limit >= int(report.RangeCount) || all && ranges != repeated || !all && len(report.Ranges) < maxRanges {
		t.Fatalf("%s: causes of %d of %d duplicates, ranges of %d of %d ids", about, sum, report.Duplicates, ranges, repeated)
	}
}

// TestReportDoesNotShowHowTheWorkWasDivided compares reports of one worker with
// those of several, each of which had a range of the ids.
func TestReportDoesNotShowHowTheWorkWasDivided(t *testing.T) {
	for name, shape := range shapes {
		var want string
		for _, workers := range []int{1, 2, 3, 7} {
			r := rand.New(rand.NewPCG(1, 2))
			cfg := Config{sizes: tiny, Limit: 1 << 20}
			cfg.sizes.workers = workers
			report := runCheck(t, cfg, numbered("a", shape(r, 7000)), numbered("b", shape(r, 5000)), numbered("a", shape(r, 3000)))
			got := fmt.Sprint(report.RangeCount, report.Ranges, report.Between)
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s, %d workers: %.300s…, want %.300s…", name, workers, got, want)
			}
		}
	}
}

func TestPairsOfManySourcesAreBounded(t *testing.T) {
	var lists []*list
	for i := range 300 {
		lists = append(lists, numbered(fmt.Sprint("source", i), []uint64{7, 8}))
	}
	report := runCheck(t, Config{sizes: tiny, Limit: 1}, lists...)
	if len(report.Between) != maxBetween || !report.Partial || report.Duplicates != 598 {
		t.Errorf("%d pairs, partial: %v; %d duplicates", len(report.Between), report.Partial, report.Duplicates)
	}
	if report = runCheck(t, Config{sizes: tiny, Limit: 1}, lists[:100]...); len(report.Between) != 100*99/2 || report.Partial || report.Between[0].Common != 2 {
		t.Errorf("%d pairs, partial: %v", len(report.Between), report.Partial)
	}
}

func TestLargerPiecesFindTheSame(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	ids := fill(400_000, func(int) uint64 { return r.Uint64N(1<<24) << 30 })
	compareWithMap(t, "", Config{Memory: LeastMemory, Limit: 1 << 20, sizes: sizes{chunk: 60_000, pageItems: 4096, workers: 2, room: 1 << 20, fan: 100}}, []*list{numbered("a", ids)})
}

func TestOneDuplicateAmongManyIsNamedWithItsLines(t *testing.T) {
	ids := fill(100_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 })
	ids[99_000] = ids[123]
	report := runCheck(t, Config{sizes: tiny, Limit: 5}, numbered("stream", ids))
	want := fmt.Sprintf("[{%s 2 [{stream 124 line 124} {stream 99001 line 99001}]}]", text(ids[123]))
	if got := fmt.Sprint(report.Named); got != want || report.Duplicates != 1 {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestWhatFitsIsNotPutAside(t *testing.T) {
	ids := fill(10_000, func(i int) uint64 { return uint64(i) << 22 })
	if r := runCheck(t, Config{}, numbered("a", ids)); r.Spilled != 0 {
		t.Errorf("%d bytes were put aside", r.Spilled)
	}
	if r := runCheck(t, Config{sizes: tiny}, numbered("a", ids)); r.Spilled == 0 {
		t.Error("nothing was put aside")
	}
}

func TestInterruptLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	l := numbered("a", fill(50_000, func(i int) uint64 { return uint64(i) * 0x9e3779b97f4a7c15 }))
	l.cause = func(read int) {
		if read > 30_000 {
			stop()
		}
	}
	if _, err := Run(ctx, inputs(l), Config{Temp: dir, Now: now, sizes: tiny}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestFileHasNoNameWhileItIsUsed(t *testing.T) {
	dir := t.TempDir()
	f, err := folder{dir}.create()
	if err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("has a name: %v", left)
	}
	if _, err := f.WriteAt([]byte("x"), 10); err != nil {
		t.Error(err)
	}
	if err := f.Close(); err != nil {
		t.Error(err)
	}
	if _, err := (folder{dir + "/none"}).create(); err == nil {
		t.Error("a folder that is missing is no error")
	}
}

func TestSourceThatFailsEndsTheCheck(t *testing.T) {
	broken := errors.New("broken")
	l := numbered("a", []uint64{1, 2, 3})
	l.fail = broken
	if _, err := Run(t.Context(), inputs(l), Config{Now: now}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	in := []Input{{Open: func(context.Context) (idsource.Source, error) { return nil, broken }}}
	if _, err := Run(t.Context(), in, Config{Now: now}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

func TestMemoryHasALeast(t *testing.T) {
	_, err := Run(t.Context(), nil, Config{Memory: LeastMemory - 1})
	if err == nil || !strings.Contains(err.Error(), "at least 64.0 MiB") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatIsAllocatedFitsTheMemory(t *testing.T) {
	for _, memory := range []int64{LeastMemory, 256 << 20, DefaultMemory, 8 << 30} {
		for _, processors := range []int{1, 2, 4, 64} {
			s := sizesOf(memory, processors)
			reading := int64(s.chunk)*itemBytes*int64(2*s.workers+1) + s.room
			merging := int64(s.fan)*int64(s.workers)*int64(pageBytes(s.pageItems)+blockItems*itemBytes) + s.room
			if reading+ownMemory > memory || merging+ownMemory > memory || s.fan < 8 || s.chunk < 1<<14 {
				t.Errorf("%s on %d: %+v: %d and %d", Bytes(uint64(memory)), processors, s, reading, merging)
			}
		}
	}
}

// BenchmarkRun reads ten million ids of text in no order.
func BenchmarkRun(b *testing.B) {
	const n = 10_000_000
	var text []byte
	for i := range uint64(n) {
		k := i * 0x9e3779b1 % n
		text = strconv.AppendUint(text, k<<22|1<<58, 10)
		text = append(text, '\n')
	}
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		in := []Input{{Open: func(ctx context.Context) (idsource.Source, error) {
			return idsource.Open(ctx, "-", idsource.Options{Stdin: bytes.NewReader(text)})
		}}}
		if r, err := Run(b.Context(), in, Config{Temp: b.TempDir(), Now: now}); err != nil || r.IDs != n {
			b.Fatal(r.IDs, err)
		}
	}
}
