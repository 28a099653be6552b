package fence

import (
	"context"
	"fmt"
	"iter"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence/lease"
	"snowfence.example/snowfence/store"
)

// ReadNamespace returns the record of a namespace. An error that is
// [store.ErrNotFound] is returned if the namespace does not exist.
func ReadNamespace(ctx context.Context, s store.Store, namespace string) (lease.Namespace, error) {
	if err := lease.CheckNamespace(namespace); err != nil {
		return lease.Namespace{}, err
	}
	entry, err := s.Get(ctx, lease.NamespaceKey(namespace))
	if err != nil {
		return lease.Namespace{}, fmt.Errorf("read namespace %q: %w", namespace, err)
	}
	return lease.DecodeNamespace(entry.Value)
}

// WorkerRegister is the register of one worker id, as it was listed.
type WorkerRegister struct {
	Worker   int64
	Register lease.Register
	// Standing is how it stands to one who would claim it now.
	Standing lease.Standing
	// Err is why the register can't be decoded; nil if it can.
	Err error
}

// Registers lists the worker ids of a namespace that were ever claimed, in any
// order. It judges them by the time wall and the limit maxRollback, and is for
// display: registers may have changed since. An error ends the sequence.
func Registers(ctx context.Context, s store.Store, namespace string, wall time.Time, maxRollback time.Duration) iter.Seq2[WorkerRegister, error] {
	return func(yield func(WorkerRegister, error) bool) {
		record, err := ReadNamespace(ctx, s, namespace)
		if err != nil {
			yield(WorkerRegister{}, err)
			return
		}
		layout, err := snowfence.ParseLayout(record.Layout)
		if err != nil {
			yield(WorkerRegister{}, fmt.Errorf("read namespace %q: %w", namespace, err))
			return
		}
		for entry, err := range s.List(ctx, lease.RegisterPrefix(namespace)) {
			if err != nil {
				yield(WorkerRegister{}, fmt.Errorf("list registers: %w", err))
				return
			}
			worker, ok := lease.WorkerOf(namespace, layout, entry.Key)
			if !ok {
				continue
			}
			w := WorkerRegister{Worker: worker, Standing: lease.Unreadable}
			if w.Register, w.Err = lease.DecodeRegister(entry.Value); w.Err == nil {
				w.Standing = record.Judge(w.Register, layout, wall, maxRollback)
			}
			if !yield(w, nil) {
				return
			}
		}
	}
}
