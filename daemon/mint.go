package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/store"
)

// Minting configures [Mint]. Its Config has the settings, the clock and the process.
type Minting struct {
	builtin.Config

	// Opening, if it is set, is called before a store is opened, which may take long. It returns a
	// function to be called afterwards.
	Opening func() (done func())

	// Left, if it is set, is called with an error of giving back or closing. The ids are good then.
	Left func(error)
}

// A call asks a minter for at most atOnce ids. It asks a holder of a worker id for at most mostAtOnce,
// and at most as many as the worker can mint in a quarter of the time that the call may wait. The end
// may take as long as closing.
const (
	atOnce     = 1000
	mostAtOnce = 1 << 16
	closing    = 2 * time.Second
)

// Mint opens a generator without a daemon, mints n ids and gives the rest back: the worker id, or the
// rest of a segment. A generator of kind opaque shows new ids of the generator behind it. It returns
// all n ids or an error. It returns a *config.Error for settings that can't be used, and the errors of
// the store and the generator.
func Mint(ctx context.Context, m Minting, generator string, n int) (*kind.Batch, error) {
	if m.Settings.Generators[generator].Kind == builtin.KindOpaque {
		return m.opaque(ctx, generator, n)
	}
	minter, end, err := m.open(ctx, generator)
	if err != nil {
		return nil, err
	}
	defer end()
	most := atOnce
	switch caps := kind.CapsOf(minter); {
	case caps.Most > 0:
		most = min(most, caps.Most)
	case caps.Lease != nil:
		s := caps.Lease()
		most = int(min(max(s.Layout.RatePerWorker()*s.Policy.MaxWait.Seconds()/4, 1), mostAtOnce))
	}
	var batch kind.Batch
	for left := n; left > 0; left = n - batch.Len() {
		err := minter.Mint(ctx, min(left, most), &batch)
		for tries := 1; tries < 10 && errors.Is(err, snowfence.ErrSaturated); tries++ {
			err = minter.Mint(ctx, min(left, most), &batch) // this process was not given the processor in time
		}
		if err != nil {
			return nil, err
		}
	}
	return &batch, nil
}

// opaque mints ids of another generator, and shows them.
func (m Minting) opaque(ctx context.Context, generator string, n int) (*kind.Batch, error) {
	o, err := m.OpenOpaque(ctx, generator)
	if err != nil {
		return nil, err
	}
	ids, err := Mint(ctx, m, o.Of(), n)
	if err != nil {
		return nil, err
	}
	var shown kind.Batch
	for id := range ids.Texts() {
		text, err := o.Show(string(id))
		if err == nil {
			err = shown.AppendText([]byte(text))
		}
		if err != nil {
			return nil, err
		}
	}
	return &shown, nil
}

// open opens a generator and its store, and returns a function that closes both. A journal is for
// restarts, so it is off: the worker id is given back.
func (m Minting) open(ctx context.Context, generator string) (kind.Minter, func(), error) {
	g := m.Settings.Generators[generator]
	g.Journal = config.JournalOff
	m.Settings.Generators = maps.Clone(m.Settings.Generators)
	m.Settings.Generators[generator] = g
	opener, err := m.Configure(generator)
	if err != nil {
		return nil, nil, err
	}
	var s store.Store
	closeStore := func() {}
	if builtin.OnStore(g.Kind) {
		done := func() {}
		if m.Opening != nil {
			done = m.Opening()
		}
		s, err = openstore.OpenFor(ctx, m.Settings.StoresOf(g)[0], m.Settings.StoreMustExist)
		if done(); err != nil {
			return nil, nil, err
		}
		closeStore = func() { m.leave("close store: ", s.Close()) }
	}
	minter, err := opener(ctx, kind.Spec{Generator: generator, Store: s, Namespace: g.Namespace})
	if err != nil {
		closeStore()
		return nil, nil, err
	}
	return minter, func() {
		defer closeStore()
		if c, ok := minter.(kind.Closer); ok {
			// Also after an interrupt: giving back is worth a moment.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
			defer cancel()
			m.leave("", c.Close(ctx))
		}
	}, nil
}

// leave passes an error of the end on.
func (m Minting) leave(what string, err error) {
	if err != nil && m.Left != nil {
		m.Left(fmt.Errorf("%s%w", what, err))
	}
}
