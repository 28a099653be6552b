package imports_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// mob is a worker id that several holders are pinned to, and that several
// operators write to, over a store that loses, delays and repeats calls.
type mob struct {
	t      *testing.T
	memory *memstore.Memory
	floor  snowfence.Tick
	until  time.Time // when everybody goes home

	mu     sync.Mutex
	ticks  map[snowfence.Tick]*fence.Holder // who stamped them
	taken  time.Time                        // when a take-over had succeeded
	counts struct{ ids, claims, operations, imports int }
}

// TestNoTickHasTwoHoldersAmongOperators is the theorem with operators in it:
// they release, quarantine, clear and take over at any moment, by an old reading, and a late swap of
// theirs may arrive long after.
func TestNoTickHasTwoHoldersAmongOperators(t *testing.T) {
	var ids, claims, operations, imports int
	for seed := range uint64(20) {
		synctest.Test(t, func(t *testing.T) {
			loss := time.Duration(seed%2) * 500 * time.Millisecond
			m := &mob{
				t: t, memory: memstore.NewWith(memstore.Config{Loss: loss}), ticks: map[snowfence.Tick]*fence.Holder{},
				floor: oldLayout().TickAt(begun.Add(15 * time.Second)), until: begun.Add(90 * time.Second),
			}
			if _, err := roster.Create(t.Context(), roster.Config{Store: m.memory.Client()}, oldLayout(), nil); err != nil {
				t.Fatal(err)
			}
			pass(2*loss + time.Millisecond)
			var everybody sync.WaitGroup
			for i := range 3 {
				everybody.Go(func() { m.hold(i, rand.New(rand.NewPCG(seed, uint64(i)))) })
				everybody.Go(func() { m.operate(rand.New(rand.NewPCG(seed, uint64(10+i)))) })
			}
			everybody.Go(func() {
				draw := rand.New(rand.NewPCG(seed, 20))
				for loss > 0 && time.Now().Before(m.until) {
					pass(time.Duration(draw.Int64N(int64(20 * time.Second))))
					if _, err := m.memory.Failover(time.Duration(draw.Int64N(int64(loss)))); err != nil {
						t.Error(err)
					}
				}
			})
			everybody.Wait()
			ids, claims = ids+m.counts.ids, claims+m.counts.claims
			operations, imports = operations+m.counts.operations, imports+m.counts.imports
		})
	}
	t.Logf("%d ids, %d claims, %d operations, %d take-overs", ids, claims, operations, imports)
	if ids < 50_000 || claims < 100 || operations < 400 || imports < 20 {
		t.Error("too little happened")
	}
}

// client is a client of the store that faults befall.
func (m *mob) client(draw *rand.Rand) *faultstore.Store {
	rates := faultstore.Rates{Before: 0.05, Late: 0.05, Stale: 0.1, LostReply: 0.1, Delay: 0.2, MaxDelay: time.Second}
	return faultstore.New(m.memory.Client(), faultstore.Seeded(draw.Uint64(), rates), system())
}

// hold claims the worker id again and again, with a clock that is off, and issues
// ids until it crashes or is closed.
func (m *mob) hold(who int, draw *rand.Rand) {
	for time.Now().Before(m.until) {
		s := m.client(draw)
		by := time.Duration(draw.Int64N(int64(20*time.Second))) - 10*time.Second
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		worker := int64(5)
		h, err := fence.Open(ctx, fence.Config{
			Store: s, Layout: oldLayout(), Worker: &worker, Window: 4 * time.Second, ClaimWait: 15 * time.Second,
			Clock: offset{system(), by}, Process: fence.Process{Host: "host", PID: who + 1},
		})
		cancel()
		if err != nil {
			pass(100 * time.Millisecond)
			continue
		}
		m.mu.Lock()
		m.counts.claims++
		m.mu.Unlock()
		for range 10 + draw.IntN(1500) {
			m.mint(who, h)
			pass(7 * time.Millisecond)
		}
		if draw.IntN(2) == 0 {
			s.Follow(faultstore.Always(faultstore.Fault{Before: true}))
		}
		ctx, cancel = context.WithTimeout(context.Background(), 3*time.Second)
		_ = h.Close(ctx)
		cancel()
		m.mint(who, h)
		s.Deliver(context.Background())
		_ = s.Close()
	}
}

func (m *mob) mint(who int, h *fence.Holder) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	id, err := h.Next(ctx)
	if err != nil {
		return
	}
	parts, err := oldLayout().Decompose(id)
	if err != nil {
		m.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.counts.ids++
	// Ids differ if no tick has two holders; one holder sees to the rest.
	if other := m.ticks[parts.Tick]; other != nil && other != h {
		m.t.Errorf("holder %d stamps tick %d, which another one has stamped", who, parts.Tick)
	}
	m.ticks[parts.Tick] = h
	// Whoever held it before may go on to the end of its window.
	if !m.taken.IsZero() && time.Since(m.taken) > 10*time.Second && parts.Tick < m.floor {
		m.t.Errorf("holder %d stamps tick %d, below the floor %d", who, parts.Tick, m.floor)
	}
}

// operate does an operator's writes, with a register that it read a while ago.
func (m *mob) operate(draw *rand.Rand) {
	s := m.client(draw)
	defer func() { _ = s.Close() }()
	var facts imports.Plan
	facts.Layout, facts.Floor = oldLayout(), m.floor
	facts.Steps = []imports.Step{{Worker: 5}, {Worker: 6}}
	for time.Now().Before(m.until) {
		pass(time.Duration(draw.Int64N(int64(4 * time.Second))))
		r, err := roster.Open(context.Background(), roster.Config{Store: s, Clock: offset{system(), time.Duration(draw.Int64N(int64(time.Hour))) - 30*time.Minute}})
		if err != nil {
			continue
		}
		w, err := r.Worker(context.Background(), 5)
		if err != nil {
			continue
		}
		if draw.IntN(3) == 0 {
			pass(time.Duration(draw.Int64N(int64(2 * time.Second))))
		}
		switch draw.IntN(6) {
		case 0:
			err = m.write(r, func(d *roster.Desk) (roster.Worker, error) { return d.Release(context.Background(), w) })
		case 1:
			err = m.write(r, func(d *roster.Desk) (roster.Worker, error) { return d.Quarantine(context.Background(), w, true) })
		case 2, 3:
			err = m.write(r, func(d *roster.Desk) (roster.Worker, error) { return d.Quarantine(context.Background(), w, false) })
		case 4:
			s.Deliver(context.Background())
		default:
			var plan imports.Plan
			if plan, err = imports.Draft(context.Background(), r, facts); err == nil {
				err = imports.Apply(context.Background(), r, plan, roster.Patience{}, nil)
			}
			if err == nil {
				m.mu.Lock()
				if m.counts.imports++; m.taken.IsZero() {
					m.taken = time.Now()
				}
				m.mu.Unlock()
			}
		}
		if err == nil {
			m.mu.Lock()
			m.counts.operations++
			m.mu.Unlock()
		}
	}
}

// write carries one verb of an operator out.
func (m *mob) write(r *roster.Roster, do func(*roster.Desk) (roster.Worker, error)) error {
	return r.Operate(context.Background(), roster.Patience{}, func(d *roster.Desk) error {
		_, err := do(d)
		return err
	})
}
