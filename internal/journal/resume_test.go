package journal_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/journal"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// TestJournalOfAnEarlierVersionIsReadAndCostsNoStart opens the journal that an earlier version kept. Its page
// names no store, so it could be of another one: the holder claims a worker id as without it.
func TestJournalOfAnEarlierVersionIsReadAndCostsNoStart(t *testing.T) {
	text, err := os.ReadFile("testdata/35e8b1d.json")
	if err != nil {
		t.Fatal(err)
	}
	var was journal.Earlier
	if err := json.Unmarshal(text, &was); err != nil {
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

	var log bytes.Buffer
	j = was.Open(t)
	h, err := fence.Open(t.Context(), fence.Config{
		Store: memstore.New().Client(), Layout: layout, Window: p.Register.Window, Journal: j,
		Clock:  &earlierClock{snowfence.SystemClock(), time.Now(), was.Clock.Add(time.Second)},
		Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.Next(t.Context()); err != nil {
		t.Error(err)
	}
	if s := h.Status(); s.Journal.Resumed || s.Term != 1 || !s.Journal.Kept {
		t.Errorf("it has a new term: %+v", s)
	}
	if err := errors.Join(h.Close(t.Context()), j.Close()); err != nil {
		t.Error(err)
	}
	if !strings.Contains(log.String(), "its page names no store") {
		t.Errorf("it is not logged:\n%s", log.String())
	}
}

// earlierClock is a clock that began at an earlier time.
type earlierClock struct {
	snowfence.Clock
	began time.Time
	base  time.Time
}

func (c *earlierClock) Wall() time.Time { return c.base.Add(time.Since(c.began)) }
