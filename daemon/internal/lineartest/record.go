package lineartest

import (
	"context"
	crand "crypto/rand"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/storetest"
)

// again is how long a goroutine waits before it tries a store again that failed.
const again = 5 * time.Millisecond

// recorder makes a history. It is safe for concurrent use.
type recorder struct {
	Harness

	clock  snowfence.Clock // gives the instants of calls and returns
	prefix string          // of every key: registers are never deleted

	mu      sync.Mutex
	made    history
	begun   int             // swaps
	turns   []chan struct{} // closed one by one, as the swaps go on
	between int             // swaps from one turn to the next
}

// record lets the clients work, disturbs them, and reads and swaps every key
// once more at the end: whatever took effect before is seen by then.
func (h Harness) record(ctx context.Context) (history, error) {
	ctx, cancel := context.WithTimeout(ctx, h.Timeout)
	defer cancel()
	r := &recorder{
		Harness: h, clock: snowfence.SystemClock(), prefix: "lineartest-" + strings.ToLower(crand.Text()) + "/",
		between: max(1, clients*goroutines*swaps/(len(h.Disturbances)+1)),
	}
	for range h.Disturbances {
		r.turns = append(r.turns, make(chan struct{}))
	}
	var opened []store.Store
	defer func() {
		for _, s := range opened {
			_ = s.Close() // whatever it returns comes too late to matter
		}
	}()
	for i := range clients + 1 {
		s, err := h.Open(ctx)
		if err != nil {
			return history{}, fmt.Errorf("open: %w", err)
		}
		// The last one is for the end, without faults.
		if h.Rates != (faultstore.Rates{}) && i < clients {
			s = storetest.Decorate(s, h.Seed<<8+uint64(i), h.Rates)
		}
		opened = append(opened, s)
	}

	jobs := []func(context.Context) error{r.disturb}
	for i := range clients * goroutines {
		jobs = append(jobs, func(ctx context.Context) error {
			w := worker{r: r, s: opened[i/goroutines], draw: rand.New(rand.NewPCG(h.Seed, uint64(i))), known: make(map[string][]store.Version)}
			return w.work(ctx)
		})
	}
	if err := together(ctx, jobs); err != nil {
		return r.made, err
	}
	last := worker{r: r, s: opened[clients]}
	for k := range keys {
		if err := last.finish(ctx, r.key(k)); err != nil {
			return r.made, err
		}
	}
	return r.made, nil
}

// together runs jobs at once until all have returned, ends them all when one of
// them fails, and returns that one's error.
func together(ctx context.Context, jobs []func(context.Context) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	failed := make(chan error, len(jobs))
	var running sync.WaitGroup
	for _, job := range jobs {
		running.Go(func() {
			if err := job(ctx); err != nil {
				failed <- err
				cancel()
			}
		})
	}
	running.Wait()
	close(failed)
	return <-failed
}

// key is the name of a register.
func (r *recorder) key(k int) string { return r.prefix + strconv.Itoa(k) }

// disturb makes the disturbances happen when their turn comes.
func (r *recorder) disturb(ctx context.Context) error {
	for i, d := range r.Disturbances {
		select {
		case <-r.turns[i]:
		case <-ctx.Done():
			return fmt.Errorf("disturbance %s: the clients do not go on: %w", d.Name, ctx.Err())
		}
		if err := d.Do(ctx); err != nil {
			return fmt.Errorf("disturbance %s: %w", d.Name, err)
		}
	}
	return nil
}

// note writes to the history.
func (r *recorder) note(write func(*history)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	write(&r.made)
}

// begin numbers a swap, and calls the disturbance whose turn it is.
func (r *recorder) begin() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.begun++
	if r.begun%r.between == 0 && r.begun/r.between <= len(r.turns) {
		close(r.turns[r.begun/r.between-1])
	}
	return r.begun
}

// swap makes a swap and notes its result.
func (r *recorder) swap(ctx context.Context, s store.Store, key string, guard store.Version) swap {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	made := swap{id: r.begin(), key: key, guard: guard, outcome: unknown}
	made.call = r.clock.Monotonic()
	version, err := s.Swap(ctx, key, guard, []byte(strconv.Itoa(made.id)))
	made.end = r.clock.Monotonic()
	switch {
	case err == nil:
		made.outcome, made.version = acknowledged, version
	case errors.Is(err, store.ErrConflict):
		made.outcome = conflict
	}
	r.note(func(h *history) { h.swaps = append(h.swaps, made) })
	return made
}

// get reads a key and notes the result. It tries until the store answers.
func (r *recorder) get(ctx context.Context, s store.Store, key string) (store.Version, error) {
	for {
		attempt, cancel := context.WithTimeout(ctx, callTimeout)
		e, err := s.Get(attempt, key)
		cancel()
		switch {
		case errors.Is(err, store.ErrNotFound):
			return "", nil
		case err == nil:
			seen := read{key: key, value: string(e.Value), version: e.Version, end: r.clock.Monotonic()}
			r.note(func(h *history) { h.reads = append(h.reads, seen) })
			return e.Version, nil
		}
		if r.pause(ctx) != nil {
			return "", fmt.Errorf("the store does not answer any more: %w", err)
		}
	}
}

// pause lets a moment pass.
func (r *recorder) pause(ctx context.Context) error {
	passed, stop := r.clock.After(again)
	defer stop()
	select {
	case <-passed:
	case <-ctx.Done():
	}
	return ctx.Err()
}

// worker is one goroutine's part.
type worker struct {
	r     *recorder
	s     store.Store
	draw  *rand.Rand
	known map[string][]store.Version // every version of a key that it came across
}

// work makes swaps, most of them under the version just read, so that they
// race, and some under an old one, so that a store that compares carelessly is
// caught.
func (w *worker) work(ctx context.Context) error {
	for range swaps {
		key := w.r.key(w.draw.IntN(keys))
		version, err := w.r.get(ctx, w.s, key)
		if err != nil {
			return err
		}
		w.known[key] = append(w.known[key], version)
		guard := version
		if w.draw.IntN(4) == 0 {
			guard = w.known[key][w.draw.IntN(len(w.known[key]))]
		}
		made := w.r.swap(ctx, w.s, key, guard)
		switch made.outcome {
		case acknowledged:
			w.known[key] = append(w.known[key], made.version)
		case unknown:
			// An outage must not use the swaps up: the next one comes when the store answers again.
			if err := w.r.pause(ctx); err != nil {
				return fmt.Errorf("the run takes too long: %w", err)
			}
		}
	}
	return nil
}

// finish reads and swaps a key until that is acknowledged.
func (w *worker) finish(ctx context.Context, key string) error {
	for {
		version, err := w.r.get(ctx, w.s, key)
		if err != nil {
			return err
		}
		if made := w.r.swap(ctx, w.s, key, version); made.outcome == acknowledged {
			_, err := w.r.get(ctx, w.s, key)
			return err
		}
		if err := w.r.pause(ctx); err != nil {
			return fmt.Errorf("swap %q at the end: %w", key, err)
		}
	}
}
