package journal_test

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"os"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// TestJournalOfAnEarlierVersionIsResumed goes on with the term that an earlier
// version kept, without a store, as that version would have.
func TestJournalOfAnEarlierVersionIsResumed(t *testing.T) {
	text, err := os.ReadFile("testdata/35e8b1d.json")
	if err != nil {
		t.Fatal(err)
	}
	var was journal.Earlier
	if err := json.Unmarshal(text, &was); err != nil {
		t.Fatal(err)
	}
	last, err := snowfence.Parse(was.LastID)
	if err != nil {
		t.Fatal(err)
	}

	j := was.Open(t)
	page, err := j.Take()
	if err != nil || string(page) != was.Page {
		t.Fatalf("took %s (%v), want %s", page, err, was.Page)
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
	p, err := stored.DecodePage(page)
	if err != nil || p.Worker != was.Worker || p.Register.Term != was.Term || p.Used != was.Used || p.Usable != was.Until {
		t.Fatalf("the page is of worker %d, term %d, used up to %d and usable up to %d (%v), want %d, %d, %d and %d",
			p.Worker, p.Register.Term, p.Used, p.Usable, err, was.Worker, was.Term, was.Used, was.Until)
	}
	layout, err := snowfence.ParseLayout(p.Namespace.Layout)
	if err != nil {
		t.Fatal(err)
	}

	j = was.Open(t)
	h, err := fence.Open(t.Context(), fence.Config{
		Store: awayStore{}, Layout: layout, Window: p.Register.Window, Journal: j, RequestTimeout: 50 * time.Millisecond,
		Clock: &earlierClock{snowfence.SystemClock(), time.Now(), was.Clock.Add(time.Second)},
	})
	if err != nil {
		t.Fatal(err)
	}
	id, err := h.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	parts, err := layout.Decompose(id)
	if s := h.Status(); err != nil || !s.Journal.Resumed || s.Worker != was.Worker || s.Term != was.Term || s.Until != was.Until {
		t.Errorf("resumed %t: worker %d in term %d up to %d (%v), want worker %d in term %d up to %d",
			s.Journal.Resumed, s.Worker, s.Term, s.Until, err, was.Worker, was.Term, was.Until)
	}
	if id <= last || parts.Tick < was.Used || parts.Worker != was.Worker {
		t.Errorf("issued %d, tick %d of worker %d: want one above %d, of tick %d or more", id, parts.Tick, parts.Worker, last, was.Used)
	}
	if err := h.Close(t.Context()); err == nil {
		t.Error("released in a store that does not answer")
	}
	if err := j.Close(); err != nil {
		t.Error(err)
	}
}

// earlierClock is a clock that began at an earlier time.
type earlierClock struct {
	snowfence.Clock
	began time.Time
	base  time.Time
}

func (c *earlierClock) Wall() time.Time { return c.base.Add(time.Since(c.began)) }

// awayStore is a store that does not answer.
type awayStore struct{}

var errAway = errors.New("the store is away")

func (awayStore) Get(context.Context, string) (store.Entry, error) { return store.Entry{}, errAway }

func (awayStore) Swap(context.Context, string, store.Version, []byte) (store.Version, error) {
	return "", errAway
}

func (awayStore) List(context.Context, string) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) { yield(store.Entry{}, errAway) }
}

func (awayStore) Traits(context.Context) (store.Traits, error) { return store.Traits{}, errAway }
func (awayStore) Close() error                                 { return nil }
