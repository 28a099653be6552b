package sim

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/sim/trace"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// server is one store, with its rules, and a history of everything that was written to it. The store is
// the reference one, or the one of [Config.Store]. It also answers wrongly where a store may: a read shows an earlier write, and a swap that took
// effect reports a conflict, because something on the way repeated it.
type server struct {
	w      *world
	index  int
	memory *memstore.Memory // nil with a store of Config
	client store.Store
	tokens *tokens
	rng    *rand.Rand
	away   time.Duration // unreachable until then

	lossy    bool          // it is known that it loses writes, if it does
	turned   time.Duration // since when, if it was not known at the start
	ignorant int32         // the last issuer that did not know

	keys      []string                   // all that were ever written, in order
	past      map[string][]store.Entry   // the last writes of each that were not taken away
	registers map[string]stored.Register // as they are
	record    stored.Namespace           // the namespace's, as it is; zero without one
	terms     map[store.Version]int64    // the term that a register had at each version
	bounds    map[string]snowfence.Tick  // the bound of each nonce: the greatest stored, or the released one
	reached   map[int64]snowfence.Tick   // the greatest until ever stored of each worker
	forgotten map[int64]snowfence.Tick   // below which ids may be repeated, by a limit
	excused   map[string]bool            // the nonces under which, or against which, ids may be repeated
	snapshots map[int]memstore.Snapshot  // by the number of the fault that will restore it
	issuers   map[string]*issuer         // the last issuer under each nonce
}

// remembered is how many writes of a key a late read may reach back over, and a few more.
const remembered = 16

func newServer(w *world, index int) *server {
	s := &server{
		w: w, index: index, rng: w.source(100 + index),
		past: make(map[string][]store.Entry), registers: make(map[string]stored.Register),
		terms: make(map[store.Version]int64), bounds: make(map[string]snowfence.Tick),
		reached: make(map[int64]snowfence.Tick), forgotten: make(map[int64]snowfence.Tick), excused: make(map[string]bool),
		snapshots: make(map[int]memstore.Snapshot), issuers: make(map[string]*issuer),
	}
	s.lossy = !slices.ContainsFunc(w.plan.Faults, func(f Fault) bool { return f.Kind == Lossy && f.meets(index) })
	s.tokens = &tokens{rng: w.source(200 + index)}
	now := &clock{agenda: &w.agenda, begin: w.begin}
	config := memstore.Config{Rand: s.tokens, Loss: w.plan.Loss, Clock: now}
	if w.plan.EngineClock {
		config.Now = now.Wall
	}
	s.memory = memstore.NewWith(config)
	s.client = s.memory.Client()
	return s
}

// answer carries out a request, by the code that ships.
func (s *server) answer(call lease.Call) lease.Reply {
	return drive.Ask(context.Background(), desk{Store: s.client, s: s}, call)
}

// fails returns the reply to a request that got an error instead of an answer, and in a list some
// entries before the error. The reply must be an unknown outcome.
func (s *server) fails(call lease.Call, err error, before []store.Entry) lease.Reply {
	reply := drive.Ask(context.Background(), failing{err: err, entries: before}, call)
	if reply.ID != call.ID || reply.Outcome != lease.Unknown || !errors.Is(reply.Err, err) || len(reply.Entries) != len(before) {
		s.w.breaks("answer", "the store failed with %v, and the answer to %s is outcome %d, %v", err, describe(call), reply.Outcome, reply.Err)
	}
	return reply
}

// failing is a store that fails. A list gives some entries before it fails.
type failing struct {
	store.Store
	err     error
	entries []store.Entry
}

func (f failing) Get(context.Context, string) (store.Entry, error) { return store.Entry{}, f.err }

func (f failing) Now(context.Context) (time.Time, error) { return time.Time{}, f.err }

func (f failing) Swap(context.Context, string, store.Version, []byte) (store.Version, error) {
	return "", f.err
}

func (f failing) List(context.Context, string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		for _, entry := range f.entries {
			if !yield(entry, nil) {
				return
			}
		}
		yield(store.Entry{}, f.err)
	}
}

// clockless is a store whose clock is not seen: it does not show virtual time.
type clockless struct{ store.Store }

// desk is a store as a request finds it.
type desk struct {
	store.Store
	s *server
}

// Unwrap shows the store's clock.
func (d desk) Unwrap() store.Store { return d.Store }

// Get shows a register as it is, or as it was if the read is late.
func (d desk) Get(ctx context.Context, key string) (store.Entry, error) {
	entry, err := d.Store.Get(ctx, key)
	if err != nil {
		return entry, err
	}
	if entry = d.s.seen(entry); entry.Version == "" {
		return entry, store.ErrNotFound
	}
	return entry, nil
}

// List does so for all keys with a prefix.
func (d desk) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		var entries []store.Entry
		for entry, err := range d.Store.List(ctx, prefix) {
			if err != nil {
				yield(entry, err)
				return
			}
			entries = append(entries, entry)
		}
		slices.SortFunc(entries, func(a, b store.Entry) int { return cmp.Compare(a.Key, b.Key) })
		for _, entry := range entries {
			if entry = d.s.seen(entry); entry.Version != "" && !yield(entry, nil) {
				return
			}
		}
	}
}

// Swap writes a register, and notes it.
func (d desk) Swap(_ context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	s, w := d.s, d.s.w
	if current := s.version(key); isRegister(key) && (prev == blind || w.bugs.guard != nil && w.bugs.guard(s, current, prev)) {
		prev = current
	}
	version, err := s.write(key, prev, value)
	if errors.Is(err, store.ErrConflict) {
		register, _ := stored.DecodeRegister(value)
		s.recordAt(trace.Conflict, key, prev, s.version(key), register)
		w.tally.Counts[Conflicts]++
	}
	if err != nil {
		return version, err
	}
	w.tally.Counts[Writes]++
	if p := w.plan.Weather.Repeated; !w.quiet && p > 0 && chance(s.rng, p) {
		w.struck(Repeated, s.index, "a write of %s", key)
		return "", store.ErrConflict
	}
	return version, nil
}

// write changes the store, and notes it.
func (s *server) write(key string, prev store.Version, value []byte) (store.Version, error) {
	if s.w.bugs.versions != nil {
		s.tokens.next = s.w.bugs.versions(s.version(key))
	}
	version, err := s.client.Swap(context.Background(), key, prev, value)
	if err == nil {
		s.stored(store.Entry{Key: key, Value: value, Version: version})
	}
	return version, err
}

// stored notes an entry that reached the store, and checks the rule of its until.
func (s *server) stored(e store.Entry) {
	past := append(s.past[e.Key], e)
	s.know(e.Key)
	if len(past) >= 2*remembered {
		past = slices.Clone(past[len(past)-remembered:])
	}
	s.past[e.Key] = past
	s.noteRecord(e.Key, e.Value)
	if !isRegister(e.Key) {
		return
	}
	register, err := stored.DecodeRegister(e.Value)
	if err != nil {
		s.w.breaks("harness", "%v", err)
		return
	}
	if before, ok := s.registers[e.Key]; ok && register.Until < before.Until {
		s.lowered(e.Key, before, register)
	}
	s.terms[e.Version] = register.Term
	s.registers[e.Key] = register
	worker, _ := stored.WorkerOf(stored.DefaultNamespace, s.w.plan.Layout, e.Key)
	s.recordAt(trace.Effect, e.Key, "", e.Version, register)
	s.reached[worker] = max(s.reached[worker], register.Until)
	if register.Holder != "" {
		s.bounds[register.Holder] = max(s.bounds[register.Holder], register.Until)
	}
}

// noteRecord notes the namespace's present record.
func (s *server) noteRecord(key string, value []byte) {
	if key != stored.NamespaceKey(stored.DefaultNamespace) {
		return
	}
	s.record, _ = stored.DecodeNamespace(value)
}

// know adds a key to the written keys.
func (s *server) know(key string) {
	if at, known := slices.BinarySearch(s.keys, key); !known {
		s.keys = slices.Insert(s.keys, at, key)
	}
}

// lowered checks a write that brings until down. It must be a release of the same term, to its floor or
// above, and above every tick stamped under it. Then nothing above the new until may be stamped under
// the term.
func (s *server) lowered(key string, before, after stored.Register) {
	worker, _ := stored.WorkerOf(stored.DefaultNamespace, s.w.plan.Layout, key)
	if after.Holder != "" || before.Holder == "" || after.Term != before.Term {
		s.w.breaks("monotone", "until of worker %d comes down from %d to %d, which is no release", worker, before.Until, after.Until)
		return
	}
	stamped := before.Floor
	for by := s.issuers[before.Holder]; by != nil; by = by.before {
		stamped = max(stamped, by.highest, by.reserved)
	}
	if after.Until < stamped && (after.Until >= s.forgiven(worker) || !s.excused[before.Holder]) {
		s.w.breaks("monotone", "until of worker %d is released at %d, and below %d ticks were stamped", worker, after.Until, stamped)
	}
	if !s.excused[before.Holder] {
		s.bounds[before.Holder] = after.Until
	}
}

// version returns the present version of a key; zero for a missing key.
func (s *server) version(key string) store.Version {
	entry, err := s.client.Get(context.Background(), key)
	if err != nil {
		return ""
	}
	return entry.Version
}

// seen returns the entry that a read shows. A late read shows the entry of up to three writes before,
// which is zero if there was nothing then.
func (s *server) seen(now store.Entry) store.Entry {
	if p := s.w.plan.Weather.Stale; s.w.quiet || p == 0 || !chance(s.rng, p) {
		return now
	}
	past := s.past[now.Key]
	i := slices.IndexFunc(past, func(e store.Entry) bool { return e.Version == now.Version })
	back := s.rng.IntN(4)
	if back > 0 {
		s.w.struck(Stale, s.index, "a read of %s shows %d writes before", now.Key, back)
	}
	switch {
	case i < 0:
		return now
	case i < back && len(past) >= remembered:
		return past[0]
	case i < back:
		return store.Entry{}
	}
	return past[i-back]
}

// found writes the namespace's record, as if it were an hour old.
func (s *server) found(datacenter int, layout snowfence.Layout) {
	record := stored.Namespace{
		Layout: layout.String(), Incarnation: fmt.Sprintf("%016x%016x", s.rng.Uint64(), s.rng.Uint64()), Created: s.w.begin.Add(s.w.agenda.Now() - time.Hour),
	}
	if s.w.plan.Split {
		record.Datacenters = []int64{int64(datacenter)}
	}
	value, err := record.Encode()
	if err != nil {
		s.w.breaks("harness", "%v", err)
		return
	}
	s.answer(lease.Call{Verb: lease.Swap, Key: stored.NamespaceKey(stored.DefaultNamespace), Value: value})
	if s.memory != nil {
		s.memory.Restore(s.memory.Snapshot()) // it is too old to be lost
	}
}

// operate changes a worker id as an operator does, in one undisturbed step.
func (s *server) operate(f Fault) {
	key := stored.RegisterKey(stored.DefaultNamespace, s.w.plan.Layout, f.N)
	register, ok := s.registers[key]
	if !ok || f.Kind == Quarantine && register.Quarantined || f.Kind == Vacate && register.Holder == "" {
		return
	}
	switch f.Kind {
	case Quarantine:
		register.Quarantined = true
	case Vacate:
		register.Holder = ""
	default:
		register.Until += snowfence.Tick(f.For / s.w.plan.Layout.Unit)
		register.Term, register.Floor, register.Holder = register.Term+1, register.Until, ""
	}
	register.Write = fmt.Sprintf("%016x", s.rng.Uint64())
	value, err := register.Encode()
	if err != nil {
		s.w.breaks("harness", "%v", err)
		return
	}
	if _, err := s.write(key, s.version(key), value); err != nil {
		s.w.breaks("harness", "%v", err)
		return
	}
	s.w.struck(f.Kind, s.index, "worker %d, whose bound is %d", f.N, register.Until)
}

func isRegister(key string) bool {
	return strings.HasPrefix(key, stored.RegisterPrefix(stored.DefaultNamespace))
}

// tokens is where a store's versions come from.
type tokens struct {
	rng  *rand.Rand
	next []byte // the next version, if a bug wants to choose it
}

func (t *tokens) Read(b []byte) (int, error) {
	if t.next != nil {
		copy(b, t.next)
		return len(b), nil
	}
	for i := 0; i+8 <= len(b); i += 8 {
		binary.LittleEndian.PutUint64(b[i:], t.rng.Uint64())
	}
	return len(b), nil
}
