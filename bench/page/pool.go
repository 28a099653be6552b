package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/etcdstore"
)

// layout has 1,048,576 worker ids.
const layout = "ms39-worker20-seq4"

// pool is a namespace whose holders are in the store alone.
type pool struct {
	store    *etcdstore.Store
	roster   *roster.Roster
	versions [holders]store.Version // of each holder's register
}

// openPool makes the namespace, and its holders.
func openPool(ctx context.Context, address string) (p *pool, err error) {
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		return nil, err
	}
	p = &pool{}
	if p.store, err = etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{address}}); err != nil {
		return nil, err
	}
	if p.roster, err = roster.Create(ctx, roster.Config{Store: p.store}, l, nil); err == nil {
		err = p.hold(ctx)
	}
	if err != nil {
		return nil, errors.Join(err, p.store.Close())
	}
	return p, nil
}

// hold claims or extends each holder's worker id, some at a time.
func (p *pool) hold(ctx context.Context) error {
	var writers sync.WaitGroup
	failures := make([]error, 50)
	for first := range failures {
		writers.Go(func() {
			for i := first; i < holders && failures[first] == nil; i += len(failures) {
				failures[first] = p.extend(ctx, i)
			}
		})
	}
	writers.Wait()
	return errors.Join(failures...)
}

// extend writes one register. Every other holder is a borrower, and their numbers are far apart.
func (p *pool) extend(ctx context.Context, i int) error {
	now, l := time.Now(), p.roster.Layout()
	process := stored.Process{Host: fmt.Sprintf("host-%d.region-1.cloud.example", i), PID: 1000 + i, Version: "v0.9.0", Started: now.Truncate(time.Hour)}
	if i%2 == 0 {
		process.Version = stored.LentTo("billing-service", "shop")
	}
	value, err := stored.Register{
		Layout: l.String(), Incarnation: p.roster.Record().Incarnation, Term: 1, Floor: l.TickAt(process.Started),
		Holder: fmt.Sprintf("%032x", i), Write: fmt.Sprintf("%016x", now.UnixNano()), Clock: now,
	}.Extended(l, now, time.Hour, process).Encode()
	if err != nil {
		return err
	}
	key := stored.RegisterKey(p.roster.Name(), l, int64(i)*l.Workers()/holders)
	p.versions[i], err = p.store.Swap(ctx, key, p.versions[i], value)
	return err
}
