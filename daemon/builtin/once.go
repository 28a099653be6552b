package builtin

import (
	"cmp"
	"context"
	"time"

	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/store"
)

// most is how many ids are asked for at a time.
const most = 1000

// closing is how long the end may take.
const closing = 2 * time.Second

// Mint returns n new ids of a generator, without a daemon. What is left of a segment is given
// back. It returns the errors of [Config.Configure], and those of the generator.
func (c Config) Mint(ctx context.Context, generator string, n int) ([]string, error) {
	open, err := c.Configure(generator)
	if err != nil {
		return nil, err
	}
	g := c.Settings.Generators[generator]
	var on store.Store
	if OnStore(g.Kind) {
		if on, err = openstore.OpenFor(ctx, c.Settings.StoresOf(g)[0], c.Settings.StoreMustExist); err != nil {
			return nil, err
		}
		defer func() { _ = on.Close() }() // the numbers are reserved
	}
	m, err := open(ctx, kind.Spec{Generator: generator, Store: on, Namespace: g.Namespace})
	if err != nil {
		return nil, err
	}
	var batch kind.Batch
	most := min(most, cmp.Or(kind.CapsOf(m).Most, most))
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
