package check

import (
	"bytes"
	"context"
	"errors"
	"os"
	"reflect"
	"strconv"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"

	idsource "snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

func TestWhatFitsIsNotPutAside(t *testing.T) {
	ids := fill(10_000, func(i int) uint64 { return uint64(i) << 22 })
	if r := runCheck(t, Config{}, numbered("a", ids)); r.Spilled != 0 {
		t.Errorf("%d bytes were put aside", r.Spilled)
	}
	if r := runCheck(t, Config{Sizes: tiny}, numbered("a", ids)); r.Spilled == 0 {
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
	if _, err := Run(ctx, inputs(l), Config{Temp: dir, Now: now, Sizes: tiny}); !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}

func TestSourceThatFailsEndsTheCheck(t *testing.T) {
	broken := errors.New("broken")
	l := numbered("a", []uint64{1, 2, 3})
	l.fail = broken
	if _, err := Run(t.Context(), inputs(l), Config{Now: now}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
	in := []idsort.Input{{Open: func(context.Context) (idsource.Source, error) { return nil, broken }}}
	if _, err := Run(t.Context(), in, Config{Now: now}); !errors.Is(err, broken) {
		t.Errorf("error is %v", err)
	}
}

// TestWhatIsWatchedFitsTheProgramsShare adds up what the most worker ids take, that
// go back as often as is kept; a slice that grows has twice what it needs.
func TestWhatIsWatchedFitsTheProgramsShare(t *testing.T) {
	watched := maxSightings*reflect.TypeFor[sighting]().Size() + 2*allDescents*reflect.TypeFor[descent]().Size() + maxDirect*8
	if int64(watched) > idsort.OwnHeap {
		t.Errorf("%d bytes are watched, of %d", watched, idsort.OwnHeap)
	}
	o := &observer{fields: ready(issuerOf(t, "sonyflake-v1", 0).layout, now)}
	direct := 0
	for range 100 {
		direct += len(o.begin().direct)
	}
	if direct == 0 || direct > maxDirect {
		t.Errorf("room for %d worker ids is taken", direct)
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
		in := []idsort.Input{{Open: func(ctx context.Context) (idsource.Source, error) {
			return idsource.Open(ctx, "-", idsource.Options{Stdin: bytes.NewReader(text)})
		}}}
		if r, err := Run(b.Context(), in, Config{Temp: b.TempDir(), Now: now}); err != nil || r.IDs != n {
			b.Fatal(r.IDs, err)
		}
	}
}
