package builtin

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/lending"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/faultstore"
	"snowfence.example/snowfence/store/memstore"
)

// declared is a store whose operator declares what it can lose.
type declared struct {
	store.Store
	loss time.Duration
}

func (d declared) Traits(context.Context) (store.Traits, error) {
	return store.Traits{Engine: "memory", Loss: d.loss}, nil
}

func (d declared) Unwrap() store.Store { return d.Store }

// paper is a journal in memory. One goroutine at a time uses it.
type paper struct{ page []byte }

func (p *paper) Take() ([]byte, error) {
	page := p.page
	p.page = nil
	return page, nil
}

func (p *paper) Keep(page []byte) error {
	p.page = page
	return nil
}

func (p *paper) Discard() error {
	p.page = nil
	return nil
}

// TestNothingIsLentByTheLossOfAJournalsPage has an operator declare a greater loss while the store is silent, and restart
// the daemon, which goes on from its journal.
func TestNothingIsLentByTheLossOfAJournalsPage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory, journal := memstore.New(), new(paper)
		layout, share := snowfence.DefaultLayout(), int64(50)
		layout.Epoch = time.Date(1999, time.January, 1, 0, 0, 0, 0, time.UTC)
		daemon := func(loss time.Duration, plan faultstore.Plan) (s *faultstore.Store, h *fence.Holder, lent func() (kind.Lender, error)) {
			s = faultstore.New(declared{memory.Client(), loss}, plan, snowfence.SystemClock())
			h, err := fence.Open(t.Context(), fence.Config{Store: s, Layout: layout, Window: time.Minute, Journal: journal})
			if err != nil {
				t.Fatal(err)
			}
			p := new(place)
			p.Store, p.Clock = s, snowfence.SystemClock()
			return s, h, p.lends(h, config.Generator{Layout: layout, Window: time.Minute, LendShare: &share})
		}
		left, cancel := context.WithCancel(t.Context())
		cancel()

		_, h, lent := daemon(5*time.Second, nil)
		if l, err := lent(); err != nil || l.(lending.Lender).Terms.Loss != 5*time.Second {
			t.Fatalf("a certain store: %v, %v", l, err)
		}
		_ = h.Close(left) // as a crash does, it leaves the term in the journal

		s, h, lent := daemon(15*time.Second, faultstore.Always(faultstore.Fault{Before: true}))
		defer func() { _ = h.Close(left) }()
		if status := h.Status(); !status.Journal.Resumed || status.Traits.Loss != 5*time.Second {
			t.Fatalf("the status is %+v, want that of the page", status)
		}
		if l, err := lent(); !errors.Is(err, kind.ErrUnavailable) {
			t.Errorf("a silent store: %v, %v, want ErrUnavailable", l, err)
		}
		s.Follow(nil)
		if l, err := lent(); err != nil || l.(lending.Lender).Terms.Loss != 15*time.Second {
			t.Errorf("the store is back: %v, %v, want its own loss", l, err)
		}
		expired, _ := snowfence.SystemClock().After(time.Minute)
		<-expired
		synctest.Wait()
		if status := h.Status(); status.Phase != "failed" {
			t.Fatalf("the status is %+v, want failed", status)
		}
		if l, err := lent(); !errors.Is(err, kind.ErrUnavailable) {
			t.Errorf("the holder has refused its store: %v, %v, want ErrUnavailable", l, err)
		}
	})
}
