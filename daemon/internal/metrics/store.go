package metrics

import (
	"context"
	"errors"
	"iter"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/store"
)

// Requests to the store.
const (
	operationGet  = "get"
	operationSwap = "swap"
	operationList = "list"
)

// Results of a request to the store. A conflict and a missing key are answers;
// only the last is a failure of the store.
const (
	resultOK       = "ok"
	resultNotFound = "not-found"
	resultConflict = "conflict"
	resultError    = "error"
)

// Stopwatch times the requests to stores. It is safe for concurrent use.
type Stopwatch struct {
	now      func() time.Duration // monotonic
	duration *prometheus.HistogramVec

	mu   sync.Mutex // guards sums
	sums map[string]view.Requests
}

// NewStopwatch returns a stopwatch that goes by a monotonic clock.
func NewStopwatch(now func() time.Duration, registry prometheus.Registerer) (*Stopwatch, error) {
	w := &Stopwatch{now: now, sums: map[string]view.Requests{}, duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name:    "snowfence_store_request_duration_seconds",
		Help:    "How long requests to the store took, by its name in stores (none for the store of the configuration), operation (get, swap, list) and result (ok, not-found, conflict, error).",
		Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
	}, []string{"store", "operation", "result"})}
	return w, registry.Register(w.duration)
}

// Sums returns how many requests to each store there were, by its name.
func (w *Stopwatch) Sums() map[string]view.Requests {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.sums)
}

// Timed is a store whose requests are timed. It is safe for concurrent use.
type Timed struct {
	store.Store
	name  string
	watch *Stopwatch
}

// Time returns s with its requests timed under a name, which may be empty.
func (w *Stopwatch) Time(name string, s store.Store) *Timed {
	// A series that begins with its first error hides that error from rate().
	for _, operation := range []string{operationGet, operationSwap, operationList} {
		w.duration.WithLabelValues(name, operation, resultError)
	}
	return &Timed{s, name, w}
}

// Unwrap returns the store that is timed.
func (t *Timed) Unwrap() store.Store { return t.Store }

// Get reads a register.
func (t *Timed) Get(ctx context.Context, key string) (store.Entry, error) {
	began := t.watch.now()
	entry, err := t.Store.Get(ctx, key)
	t.observe(operationGet, began, err)
	return entry, err
}

// Swap writes a register.
func (t *Timed) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	began := t.watch.now()
	version, err := t.Store.Swap(ctx, key, prev, value)
	t.observe(operationSwap, began, err)
	return version, err
}

// List reads the registers below a prefix. Its time is the time of the whole sequence, with the
// reader's work in between.
func (t *Timed) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		began := t.watch.now()
		var failed error
		defer func() { t.observe(operationList, began, failed) }()
		for entry, err := range t.Store.List(ctx, prefix) {
			failed = err
			if !yield(entry, err) {
				return
			}
		}
	}
}

func (t *Timed) observe(operation string, began time.Duration, err error) {
	took, result := t.watch.now()-began, resultOK
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNotFound):
		result = resultNotFound
	case errors.Is(err, store.ErrConflict):
		result = resultConflict
	default:
		result = resultError
	}
	w := t.watch
	w.duration.WithLabelValues(t.name, operation, result).Observe(took.Seconds())
	w.mu.Lock()
	defer w.mu.Unlock()
	sum := w.sums[t.name]
	if result == resultError {
		sum.Failed++
	} else if operation != operationList { // which takes as long as its reader, so its time shows nothing
		sum.Answered++
		sum.Took += took
	}
	w.sums[t.name] = sum
}
