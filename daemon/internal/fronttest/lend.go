package fronttest

import (
	"crypto/rand"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/lending"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// Lender is a minter that counts, and lends the worker ids 0 to 7 of a namespace in memory, with a window of a minute.
type Lender struct {
	Numbers
	Lender *lend.Lender
	Fault  error // why nothing is lent now
}

// Caps implements [kind.Capable].
func (l *Lender) Caps() kind.Caps {
	return kind.Caps{Lend: func() (kind.Lender, error) { return lending.Lender{Lender: l.Lender}, l.Fault }}
}

// NewLender returns a minter on a store of its own.
func NewLender(t testing.TB) *Lender {
	t.Helper()
	layout, clock, s := snowfence.DefaultLayout(), snowfence.SystemClock(), memstore.New().Client()
	known := stored.NewNamespace(layout, nil, "00112233445566778899aabbccddeeff", clock.Wall().Add(-time.Hour))
	value, err := known.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Swap(t.Context(), stored.NamespaceKey("default"), "", value); err != nil {
		t.Fatal(err)
	}
	state, err := lease.New(lease.Config{Layout: layout, Workers: &lease.Range{First: 0, Last: 7}, Window: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	return &Lender{Lender: &lend.Lender{
		Terms: lend.Terms{Config: state.Config(), Known: known, MaxBehind: 5 * time.Second}, Store: s, Clock: clock,
		Random: func(b []byte) error { _, err := rand.Read(b); return err },
	}}
}
