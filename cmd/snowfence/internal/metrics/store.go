package metrics

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/prometheus/client_golang/prometheus"

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

// Timed is a store whose requests are timed. It is safe for concurrent use.
type Timed struct {
	store.Store
	now      func() time.Duration // monotonic
	duration *prometheus.HistogramVec
}

// NewTimed returns s with its requests timed on a monotonic clock.
func NewTimed(s store.Store, now func() time.Duration, registry prometheus.Registerer) (*Timed, error) {
	t := &Timed{
		Store: s,
		now:   now,
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "snowfence_store_request_duration_seconds",
			Help:    "How long requests to the store took, by operation (get, swap, list) and result (ok, not-found, conflict, error).",
			Buckets: []float64{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
		}, []string{"operation", "result"}),
	}
	// A series that begins with its first error hides that error from rate().
	for _, operation := range []string{operationGet, operationSwap, operationList} {
		t.duration.WithLabelValues(operation, resultError)
	}
	return t, registry.Register(t.duration)
}

// Unwrap returns the store that is timed.
func (t *Timed) Unwrap() store.Store { return t.Store }

// Get reads a register.
func (t *Timed) Get(ctx context.Context, key string) (store.Entry, error) {
	began := t.now()
	entry, err := t.Store.Get(ctx, key)
	t.observe(operationGet, began, err)
	return entry, err
}

// Swap writes a register.
func (t *Timed) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	began := t.now()
	version, err := t.Store.Swap(ctx, key, prev, value)
	t.observe(operationSwap, began, err)
	return version, err
}

// List reads the registers below a prefix. Its time is that of the whole
// sequence, with what its reader does in between.
func (t *Timed) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		began := t.now()
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
	result := resultOK
	switch {
	case err == nil:
	case errors.Is(err, store.ErrNotFound):
		result = resultNotFound
	case errors.Is(err, store.ErrConflict):
		result = resultConflict
	default:
		result = resultError
	}
	t.duration.WithLabelValues(operation, result).Observe((t.now() - began).Seconds())
}
