package kinds

import (
	"context"
	"errors"
	"slices"
	"time"

	"snowfence.example/snowfence/kind"
	"snowfence.example/snowfence/store"
)

// Once is a generator that mints without a daemon.
type Once struct {
	Kind      string // one of [Names]
	Settings  map[string]string
	Generator string
	Namespace string
	Store     store.Store
}

// most is how many ids are asked for at a time.
const most = 1000

// closing is how long the end may take.
const closing = 2 * time.Second

// Mint returns n new ids. What is left of a segment is given back. An error that
// [WrongSetting] explains is returned for a setting that can't be used.
func (o Once) Mint(ctx context.Context, c Config, n int) ([]string, error) {
	all := All(c)
	i := slices.IndexFunc(all, func(k kind.Kind) bool { return k.Name() == o.Kind })
	open, err := all[i].Configure(o.Settings)
	if err != nil {
		return nil, err
	}
	m, err := open(ctx, kind.Spec{Generator: o.Generator, Store: o.Store, Namespace: o.Namespace})
	if err != nil {
		return nil, err
	}
	var batch kind.Batch
	for left := n; left > 0 && err == nil; left -= most {
		err = m.Mint(ctx, min(left, most), &batch)
	}
	// Also after an interrupt: giving back is worth a moment.
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
	defer cancel()
	if c, ok := m.(kind.Closer); ok {
		_ = c.Close(ending) // what is not given back is a gap
	}
	if err != nil {
		return nil, err
	}
	texts := make([]string, 0, n)
	for text := range batch.Texts() {
		texts = append(texts, string(text))
	}
	return texts, nil
}

// WrongSetting returns which setting an error is about, and what it must be.
func WrongSetting(err error) (key, limit string, wrong bool) {
	var fault *kind.SettingError
	if !errors.As(err, &fault) {
		return "", "", false
	}
	return fault.Key, fault.Limit, true
}
