package lend_test

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/memstore"
)

// noon is the borrower's clock of the tests.
var noon = time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC)

// world is a namespace on a store, and a daemon that lends its worker ids.
type world struct {
	*lend.Lender
	*testing.T
	now time.Time // the borrower's clock; the daemon's is at noon
}

// still is a daemon's clock at noon whose waits are over at once.
type still struct{ snowfence.Clock }

func (still) Wall() time.Time { return noon }
func (still) After(time.Duration) (<-chan time.Time, func() bool) {
	over := make(chan time.Time, 1)
	over <- noon
	return over, func() bool { return false }
}

func newWorld(t *testing.T, s store.Store, change ...func(*lease.Config)) *world {
	t.Helper()
	known := stored.NewNamespace(snowfence.DefaultLayout(), nil, "00112233445566778899aabbccddeeff", noon.Add(-time.Hour))
	value, err := known.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), stored.NamespaceKey("ids"), "", value); err != nil && !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	config := lease.Config{Namespace: "ids", Layout: snowfence.DefaultLayout(), MaxRollback: 5 * time.Second}
	for _, c := range change {
		c(&config)
	}
	state, err := lease.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return &world{T: t, now: noon, Lender: &lend.Lender{
		Terms: lend.Terms{Config: state.Config(), Known: known, MaxBehind: 5 * time.Second},
		Store: s, Clock: still{snowfence.SystemClock()},
		Random: func(b []byte) error { _, err := rand.Read(b); return err },
	}}
}

func (w *world) borrower() lend.Borrower {
	return lend.Borrower{Now: w.now, Host: "a", PID: 7, Program: "billing"}
}

func (w *world) claim() lend.Answer {
	w.Helper()
	a, err := w.Claim(w.Context(), w.borrower())
	if err != nil {
		w.Fatal(err)
	}
	return a
}

func (w *world) extend(a lend.Answer, mark string) (lend.Answer, error) {
	return w.Extend(w.Context(), lend.Extension{Borrower: w.borrower(), Lease: a.Lease, Mark: mark})
}

// gone checks that a lease is refused as gone, and not as moved.
func (w *world) gone(a lend.Answer) {
	w.Helper()
	if _, err := w.extend(a, "00000000000000a1"); !errors.Is(err, lend.ErrGone) || errors.Is(err, lend.ErrMoved) {
		w.Errorf("extend: %v, want ErrGone", err)
	}
	if err := w.release(a, &a.Floor, ""); !errors.Is(err, lend.ErrGone) {
		w.Errorf("release: %v, want ErrGone", err)
	}
}

func (w *world) release(a lend.Answer, next *snowfence.Tick, open string) error {
	return w.Release(w.Context(), lend.Release{Borrower: w.borrower(), Lease: a.Lease, Mark: "00000000000000ff", Next: next, Open: open})
}

// register is the register of the answer's worker id as it stands.
func (w *world) register(a lend.Answer) (stored.Register, store.Version) {
	w.Helper()
	e, err := w.Store.Get(w.Context(), stored.RegisterKey("ids", snowfence.DefaultLayout(), a.Lease.Worker))
	if err != nil {
		w.Fatal(err)
	}
	r, err := stored.DecodeRegister(e.Value)
	if err != nil {
		w.Fatal(err)
	}
	return r, e.Version
}

// write writes the register of the answer's worker id, as somebody else does.
func (w *world) write(a lend.Answer, change func(*stored.Register)) {
	w.Helper()
	r, version := w.register(a)
	change(&r)
	w.swap(stored.RegisterKey("ids", snowfence.DefaultLayout(), a.Lease.Worker), version, r)
}

func (w *world) swap(key string, prev store.Version, record interface{ Encode() ([]byte, error) }) {
	w.Helper()
	value, err := record.Encode()
	if err == nil {
		_, err = w.Store.Swap(w.Context(), key, prev, value)
	}
	if err != nil {
		w.Fatal(err)
	}
}

const tick = snowfence.Tick(28382400000) // at noon

func TestClaimGivesAWindowAndTheBitsOfItsIDs(t *testing.T) {
	w := newWorld(t, memstore.New().Client(), func(c *lease.Config) { c.Workers = &lease.Range{First: 37, Last: 37} })
	a := w.claim()
	if a.Floor != tick || a.Lease.Until != tick+60000 || a.Lease.Worker != 37 {
		t.Errorf("worker %d, [%d, %d)", a.Lease.Worker, a.Floor, a.Lease.Until)
	}
	if a.Base() != "151552" || a.Check() != "119044413849751552" {
		t.Errorf("base %s, check %s", a.Base(), a.Check())
	}
	r, _ := w.register(a)
	if token, lent := r.Process.Lent(); !lent || token != "" || r.Process.Version != "lent billing" || r.Process.PID != 7 {
		t.Errorf("the register shows %+v", r.Process)
	}
	if _, err := w.Claim(t.Context(), w.borrower()); !errors.Is(err, lease.ErrNoWorker) {
		t.Errorf("a second claim of the only worker id: %v", err)
	}
}

func TestEachTryOfAnExtensionHasTheFirstOnesAnswer(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	first := w.claim()
	w.now = noon.Add(20 * time.Second)
	extended, err := w.extend(first, "00000000000000a1")
	if err != nil {
		t.Fatal(err)
	}
	w.now = noon.Add(30 * time.Second) // a retry, to any daemon
	again, err := w.extend(first, "00000000000000a1")
	if err != nil || again.Lease != extended.Lease || again.Lease.Until != tick+80000 {
		t.Errorf("the retry has %+v, %v, want %+v", again.Lease, err, extended.Lease)
	}
	if _, err := w.extend(first, "00000000000000a2"); !errors.Is(err, lend.ErrMoved) || !errors.Is(err, lend.ErrGone) {
		t.Errorf("an extension by a copy: %v, want ErrMoved", err)
	}
	if _, err := w.extend(extended, "00000000000000a1"); err != nil {
		t.Errorf("the next extension has the same mark as the last, with another lease: %v", err)
	}
}

func TestLeaseIsGoneAfterAnOperatorsWrite(t *testing.T) {
	for name, change := range map[string]func(*stored.Register){
		"quarantined": func(r *stored.Register) { r.Quarantined, r.Write = true, "0000000000000001" },
		"released":    func(r *stored.Register) { r.Holder, r.Write = "", "0000000000000001" },
		"raised":      func(r *stored.Register) { r.Until, r.Holder, r.Term = r.Until+1, "", r.Term+1 },
		"replaced":    func(r *stored.Register) { r.Incarnation = "ffeeddccbbaa99887766554433221100" },
		"lost":        func(r *stored.Register) { r.Until-- }, // a failover took the extension back
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.New().Client())
			a := w.claim()
			w.write(a, change)
			w.gone(a)
		})
	}
}

func TestReaderOfTheStoreCannotMakeALease(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	a := w.claim()
	forged := a
	forged.Lease.Secret = [16]byte{1} // the rest is in the register
	w.gone(forged)
	if _, version := w.register(a); version != a.Lease.Version {
		t.Error("the register was written")
	}
}

func TestNamespaceThatWasReplacedEndsTheLease(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	a := w.claim()
	e, err := w.Store.Get(t.Context(), stored.NamespaceKey("ids"))
	if err != nil {
		t.Fatal(err)
	}
	n := w.Terms.Known
	n.Incarnation = "ffeeddccbbaa99887766554433221100"
	w.swap(e.Key, e.Version, n)
	w.gone(a)
	if _, err := w.Claim(t.Context(), w.borrower()); err == nil {
		t.Error("a claim in a namespace that the daemon does not know")
	}
	w.Terms.Known = n // as a daemon that began after it
	w.gone(a)
}

func TestLendingMakesNoNamespace(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	w.Store = memstore.New().Client()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := w.Claim(ctx, w.borrower()); err == nil {
		t.Error("a claim without a record")
	}
	if _, err := w.Store.Get(t.Context(), stored.NamespaceKey("ids")); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the record: %v, want ErrNotFound", err)
	}
}

func TestReleaseLowersTheBoundToATickOfItsTermAlone(t *testing.T) {
	for next, want := range map[snowfence.Tick]snowfence.Tick{tick: tick, tick + 9: tick + 9, tick + 60000: tick + 60000, tick - 1: 0, tick + 60001: 0} {
		t.Run(strconv.FormatInt(int64(next), 10), func(t *testing.T) {
			w := newWorld(t, memstore.New().Client())
			a := w.claim()
			err := w.release(a, &next, "")
			if r, _ := w.register(a); want == 0 && (!errors.As(err, new(*stored.ConfigError)) || r.Holder == "") ||
				want > 0 && (err != nil || r.Holder != "" || r.Until != want) {
				t.Errorf("%v, holder %q, until %d", err, r.Holder, r.Until)
			}
			if err := w.release(a, &next, ""); want > 0 && err != nil {
				t.Errorf("the release again: %v", err)
			}
		})
	}
}

func TestWorkerIDThatRestsAfterItsBorrowerCountsAsLent(t *testing.T) {
	near, far := tick+5000, tick+5001
	for name, c := range map[string]struct {
		next *snowfence.Tick
		want int64
	}{
		"a release without next":                            {nil, 1},
		"its ticks lie further ahead than a claim may wait": {&far, 1},
		"a claim may have it":                               {&near, 0},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.New().Client())
			if err := w.release(w.claim(), c.next, ""); err != nil {
				t.Fatal(err)
			}
			census, err := w.Census(t.Context())
			if err != nil || census.Lent != c.want || census.ByToken[""] != c.want {
				t.Errorf("%+v, %v, want %d", census, err, c.want)
			}
		})
	}
}

func TestReleaseWritesNoClockThatIsOff(t *testing.T) {
	for name, c := range map[string]struct{ now, want time.Time }{
		"right":   {noon.Add(time.Minute), noon.Add(time.Minute)},
		"ahead":   {noon.Add(time.Hour), noon},
		"behind":  {noon.Add(-time.Hour), noon},
		"missing": {time.UnixMilli(0), noon},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, memstore.New().Client())
			a := w.claim()
			w.now = c.now
			if err := w.release(a, &a.Floor, ""); err != nil {
				t.Fatal(err)
			}
			if r, _ := w.register(a); r.Holder != "" || !r.Clock.Equal(c.want) {
				t.Errorf("holder %q, clock %s, want %s", r.Holder, r.Clock, c.want)
			}
		})
	}
}

func TestReleaseFindsTheExtensionThatHadNoAnswer(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	a := w.claim()
	if _, err := w.extend(a, "00000000000000a1"); err != nil {
		t.Fatal(err)
	}
	if err := w.release(a, nil, ""); !errors.Is(err, lend.ErrMoved) {
		t.Errorf("a release that does not name it: %v, want ErrMoved", err)
	}
	next := a.Floor + 5
	r := lend.Release{Borrower: w.borrower(), Lease: a.Lease, Mark: "00000000000000a1", Next: &next}
	if err := w.Release(t.Context(), r); !errors.Is(err, lend.ErrMoved) {
		t.Errorf("a release with the extension's own mark: %v, want ErrMoved", err)
	}
	if err := w.release(a, &next, "00000000000000a1"); err != nil {
		t.Error(err)
	}
	if r, _ := w.register(a); r.Holder != "" || r.Until != next {
		t.Errorf("holder %q, until %d", r.Holder, r.Until)
	}
}

func TestClockThatIsFarOffWritesNothing(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	a := w.claim()
	for _, off := range []time.Duration{-11 * time.Minute, 11 * time.Minute} {
		w.now = noon.Add(off)
		_, claimed := w.Claim(t.Context(), w.borrower())
		_, extended := w.extend(a, "00000000000000a1")
		for verb, err := range map[string]error{"claim": claimed, "extend": extended} {
			if wrong := new(lease.ClockError); !errors.As(err, &wrong) || wrong.Offset != off {
				t.Errorf("%s with a clock that is off by %s: %v", verb, off, err)
			}
		}
	}
	if _, version := w.register(a); version != a.Lease.Version {
		t.Error("the register was written")
	}
}

// TestWorkerOfALivingHolderIsNotTakenByAClockAhead has a register whose ticks are over by the borrower's clock, and not by
// the daemon's.
func TestWorkerOfALivingHolderIsNotTakenByAClockAhead(t *testing.T) {
	w := newWorld(t, memstore.New().Client(), func(c *lease.Config) { c.Workers = &lease.Range{First: 1, Last: 1} })
	w.claim()
	w.now = noon.Add(9 * time.Minute)
	if _, err := w.Claim(t.Context(), w.borrower()); !errors.Is(err, lease.ErrNoWorker) {
		t.Errorf("claim: %v, want ErrNoWorker", err)
	}
}

func TestClaimThatNobodyWaitsForIsGivenBack(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	ctx, cancel := context.WithCancel(t.Context())
	w.Store = hangsUp{w.Store, cancel}
	if _, err := w.Claim(ctx, w.borrower()); !errors.Is(err, lend.ErrUnavailable) {
		t.Fatalf("claim: %v, want ErrUnavailable", err)
	}
	for e, err := range w.Store.List(t.Context(), stored.RegisterPrefix("ids")) {
		if err != nil {
			t.Fatal(err)
		}
		if r, err := stored.DecodeRegister(e.Value); err != nil || r.Holder != "" || r.Until != r.Floor {
			t.Errorf("holder %q, [%d, %d), %v", r.Holder, r.Floor, r.Until, err)
		}
	}
}

// TestClaimLeavesItsNonceInOneRegisterOnly has a claim go on to another worker id after a write whose outcome it has to find out.
func TestClaimLeavesItsNonceInOneRegisterOnly(t *testing.T) {
	w := newWorld(t, memstore.New().Client())
	holders := map[string]bool{}
	w.Store = taken{w.Store, holders}
	a := w.claim()
	if r, _ := w.register(a); len(holders) != 2 || r.Holder != a.Lease.Holder() {
		t.Errorf("holders %v, the lease's is %s", holders, r.Holder)
	}
}

// taken is a store in which the first worker id that is claimed is somebody else's already.
type taken struct {
	store.Store
	holders map[string]bool // of the registers that were to be written
}

func (s taken) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	r, err := stored.DecodeRegister(value)
	if err != nil {
		return "", err
	}
	s.holders[r.Holder] = true
	if len(s.holders) > 1 {
		return s.Store.Swap(ctx, key, prev, value)
	}
	r.Holder = "00112233445566778899aabbccddeeff"
	if value, err = r.Encode(); err == nil {
		_, err = s.Store.Swap(ctx, key, prev, value)
	}
	return "", errors.Join(store.ErrConflict, err)
}

// hangsUp is a store whose client leaves when a register was written.
type hangsUp struct {
	store.Store
	leave func()
}

func (h hangsUp) Get(ctx context.Context, key string) (store.Entry, error) {
	e, err := h.Store.Get(ctx, key)
	if key == stored.NamespaceKey("ids") {
		for _, err := range h.Store.List(ctx, stored.RegisterPrefix("ids")) {
			if err == nil {
				h.leave()
			}
		}
	}
	return e, err
}

func FuzzParseLease(f *testing.F) {
	f.Add(lend.Lease{Worker: 1, Term: 1, Until: tick, Version: "v"}.String())
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		if l, err := lend.ParseLease(text); err == nil && l.String() != text {
			t.Errorf("%q is read as %q", text, l.String())
		}
	})
}
