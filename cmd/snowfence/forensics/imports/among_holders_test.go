package imports_test

import (
	"cmp"
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

	mu                               sync.Mutex
	ticks                            map[snowfence.Tick]*fence.Holder // who stamped them
	taken                            time.Time                        // when a take-over had succeeded
	ids, claims, operations, imports int
}

// TestNoTickHasTwoHoldersAmongOperators is the theorem with operators in it:
// they release, quarantine, clear and take over at any moment, by an old reading, and a late swap of
// theirs may arrive long after.
func TestNoTickHasTwoHoldersAmongOperators(t *testing.T) {
	var ids, claims, operations, takeOvers int
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
					pass(upTo(draw, 20*time.Second))
					if _, err := m.memory.Failover(upTo(draw, loss)); err != nil {
						t.Error(err)
					}
				}
			})
			everybody.Wait()
			ids, claims, operations, takeOvers = ids+m.ids, claims+m.claims, operations+m.operations, takeOvers+m.imports
		})
	}
	t.Logf("%d ids, %d claims, %d operations, %d take-overs", ids, claims, operations, takeOvers)
	if ids < 50_000 || claims < 100 || operations < 400 || takeOvers < 20 {
		t.Error("too little happened")
	}
}

func upTo(draw *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(draw.Int64N(int64(d)))
}

// client is a client of the store, with faults.
func (m *mob) client(draw *rand.Rand) *faultstore.Store {
	rates := faultstore.Rates{Before: 0.05, Late: 0.05, Stale: 0.1, LostReply: 0.1, Delay: 0.2, MaxDelay: time.Second}
	return faultstore.New(m.memory.Client(), faultstore.Seeded(draw.Uint64(), rates), system())
}

// hold claims the worker id again and again, with a clock that is off, and issues
// ids until it crashes or is closed.
func (m *mob) hold(who int, draw *rand.Rand) {
	for time.Now().Before(m.until) {
		s := m.client(draw)
		h, err := claim(m.t, s, 5, upTo(draw, 20*time.Second)-10*time.Second, func(c *fence.Config) {
			c.Window, c.ClaimWait, c.Process = 4*time.Second, 15*time.Second, fence.Process{Host: "host", PID: who + 1}
		})
		if err != nil {
			pass(100 * time.Millisecond)
			continue
		}
		m.count(&m.claims)
		for range 10 + draw.IntN(1500) {
			m.mint(who, h)
			pass(7 * time.Millisecond)
		}
		if draw.IntN(2) == 0 {
			s.Follow(faultstore.Always(faultstore.Fault{Before: true}))
		}
		ctx, cancel := context.WithTimeout(context.Background(), 3*time.Second)
		_ = h.Close(ctx)
		cancel()
		m.mint(who, h)
		s.Deliver(context.Background())
		_ = s.Close()
	}
}

func (m *mob) count(n *int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	*n++
}

func (m *mob) mint(who int, h *fence.Holder) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	id, err := h.Next(ctx)
	if err != nil {
		return
	}
	m.count(&m.ids)
	parts, err := oldLayout().Decompose(id)
	if err != nil {
		m.t.Error(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	// Ids differ if no tick has two holders; one holder sees to the rest.
	if other := m.ticks[parts.Tick]; other != nil && other != h {
		m.t.Errorf("holder %d stamps tick %d, which another one has stamped", who, parts.Tick)
	}
	m.ticks[parts.Tick] = h
	// An earlier holder may go on to the end of its window.
	if !m.taken.IsZero() && time.Since(m.taken) > 10*time.Second && parts.Tick < m.floor {
		m.t.Errorf("holder %d stamps tick %d, below the floor %d", who, parts.Tick, m.floor)
	}
}

// operate does an operator's writes, with a register that it read a while ago.
func (m *mob) operate(draw *rand.Rand) {
	s, ctx := m.client(draw), context.Background()
	defer func() { _ = s.Close() }()
	facts := imports.Plan{Layout: oldLayout(), Floor: m.floor, Steps: []imports.Step{{Worker: 5}, {Worker: 6}}}
	for time.Now().Before(m.until) {
		pass(upTo(draw, 4*time.Second))
		r, err := roster.Open(ctx, roster.Config{Store: s, Clock: offset{system(), upTo(draw, time.Hour) - 30*time.Minute}})
		if err != nil {
			continue
		}
		w, err := r.Worker(ctx, 5)
		if err != nil {
			continue
		}
		if draw.IntN(3) == 0 {
			pass(upTo(draw, 2*time.Second))
		}
		switch verb := draw.IntN(6); verb {
		case 4:
			s.Deliver(ctx)
		case 5:
			plan, failed := imports.Draft(ctx, r, facts)
			if err = failed; err == nil {
				err = imports.Apply(ctx, r, plan, roster.Patience{}, nil)
			}
			if err == nil {
				m.count(&m.imports)
				m.mu.Lock()
				m.taken = cmp.Or(m.taken, time.Now())
				m.mu.Unlock()
			}
		default:
			err = r.Operate(ctx, roster.Patience{}, func(d *roster.Desk) (err error) {
				if verb == 0 {
					_, err = d.Release(ctx, w)
				} else {
					_, err = d.Quarantine(ctx, w, verb == 1)
				}
				return err
			})
		}
		if err == nil {
			m.count(&m.operations)
		}
	}
}
