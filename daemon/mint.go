package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
)

// Minting says by what [Mint] mints.
type Minting struct {
	// Settings have the generator and its store.
	Settings Settings

	// Clock is where the time comes from. It must be set.
	Clock snowfence.Clock

	// Process is how registers name this process.
	Process fence.Process

	// Logger gets the log of the generator. Nil means that nothing is logged.
	Logger *slog.Logger

	// Opening is called before a store is opened, which may take long. It returns a function to be called
	// afterwards. Nil means no call.
	Opening func(url string) (done func())

	// Left is called with an error of giving back or closing. The ids are good then. Nil means no call.
	Left func(error)
}

// A call asks a minter for at most atOnce ids, or for what a worker can mint in a quarter of the time that
// the call may wait. The end may take as long as closing.
const (
	atOnce  = 1000
	closing = 2 * time.Second
)

// Mint opens a generator without a daemon, mints n ids and gives back what is left: the worker id, or the rest
// of a segment. A generator of kind opaque shows new ids of the generator behind it. Either all ids are
// returned or none. It returns a *config.Error for settings that can't be used, and the errors of the store
// and the generator.
func Mint(ctx context.Context, m Minting, generator string, n int) (*kind.Batch, error) {
	if m.Settings.Generators[generator].Kind == builtin.KindOpaque {
		return m.opaque(ctx, generator, n)
	}
	minter, most, end, err := m.open(ctx, generator)
	if err != nil {
		return nil, err
	}
	defer end()
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
	o, err := m.Builtin().OpenOpaque(ctx, generator)
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

// Builtin returns what the daemon's own kinds go by.
func (m Minting) Builtin() builtin.Config {
	return builtin.Config{Settings: m.Settings, Clock: m.Clock, Process: m.Process, Logger: m.Logger}
}

// open opens a generator and its store. It returns how many ids may be asked for at a time, and what closes both.
func (m Minting) open(ctx context.Context, generator string) (minter kind.Minter, most int, end func(), err error) {
	g := m.Settings.Generators[generator]
	opener := m.fenced(g)
	if !g.Fenced() {
		if opener, err = m.Builtin().Configure(generator); err != nil {
			return nil, 0, nil, err
		}
	}
	var s store.Store
	closeStore := func() {}
	if builtin.OnStore(g.Kind) {
		if s, err = m.openStore(ctx, m.Settings.StoresOf(g)[0]); err != nil {
			return nil, 0, nil, err
		}
		closeStore = func() { m.leave("close store: ", s.Close()) }
	}
	minter, err = opener(ctx, kind.Spec{Generator: generator, Store: s, Namespace: g.Namespace})
	if err != nil {
		closeStore()
		return nil, 0, nil, err
	}
	most = atOnce
	switch x := minter.(type) {
	case interface{ Most() int }:
		most = min(most, x.Most())
	case interface{ Status() fence.Status }:
		wait := cmp.Or(g.Policy.MaxWait, snowfence.DefaultMaxWait).Seconds()
		most = int(min(max(x.Status().Layout.RatePerWorker()*wait/4, 1), 1<<16))
	}
	return minter, most, func() {
		defer closeStore()
		if c, ok := minter.(kind.Closer); ok {
			// Also after an interrupt: giving back is worth a moment.
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closing)
			defer cancel()
			m.leave("", c.Close(ctx))
		}
	}, nil
}

// openStore opens a store, and says so.
func (m Minting) openStore(ctx context.Context, url string) (store.Store, error) {
	if m.Opening != nil {
		defer m.Opening(url)()
	}
	return openstore.OpenFor(ctx, url, m.Settings.StoreMustExist)
}

// leave passes an error of the end on.
func (m Minting) leave(what string, err error) {
	if err != nil && m.Left != nil {
		m.Left(fmt.Errorf("%s%w", what, err))
	}
}

// fenced returns what opens a generator of fenced ids, without a journal: its worker id is given back.
func (m Minting) fenced(g config.Generator) kind.Opener {
	return func(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
		c := g.Fence()
		c.Store, c.Existing, c.Process, c.Clock, c.Logger = spec.Store, m.Settings.StoreMustExist, m.Process, m.Clock, m.Logger
		holder, err := fence.Open(ctx, c)
		if err != nil {
			return nil, err
		}
		s, layout := snowflake{holder, nil}, holder.Status().Layout
		switch {
		case layout.Wide != g.Layout.Wide: // of a namespace that exists, when none is given
			refused := snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("namespace %q has the wide layout %s: say --layout %[2]s", g.Namespace, layout))
			return nil, errors.Join(refused, s.Close(ctx))
		case layout.Wide:
			return wide{s, layout}, nil
		}
		return s, nil
	}
}
