package keys_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/memstore"
)

var (
	_ keys.Source = (*fence.Holder)(nil)
	_ keys.Source = (*snowfence.Generator)(nil)
	_ keys.Source = (*counter.Segments)(nil)
	_ keys.Source = (*counter.Tickets)(nil)

	_ keys.Execer = (*sql.DB)(nil)
	_ keys.Execer = (*sql.Tx)(nil)
	_ keys.Execer = (*sql.Conn)(nil)
)

var errDry = errors.New("the script is at its end")

// script is a source that gives these ids, one after the other, and then fails.
type script struct {
	mu  sync.Mutex
	ids []snowfence.ID
}

func (s *script) Next(ctx context.Context) (snowfence.ID, error) {
	var one [1]snowfence.ID
	err := s.Fill(ctx, one[:])
	return one[0], err
}

func (s *script) Fill(_ context.Context, ids []snowfence.ID) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := copy(ids, s.ids)
	s.ids = s.ids[n:]
	if n < len(ids) {
		return errDry
	}
	return nil
}

func scripted(t *testing.T, ids ...snowfence.ID) *keys.Rules {
	t.Helper()
	r, err := keys.New(map[string]keys.Source{"orders.id": &script{ids: ids}})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestRulesThatCannotWorkAreRefused(t *testing.T) {
	for want, sources := range map[string]map[string]keys.Source{
		"source of orders.id is nil: must be given":                        {"orders.id": nil},
		"names Orders.ID and orders.id: must differ in more than capitals": {"orders.id": &script{}, "Orders.ID": &script{}},
	} {
		_, err := keys.New(sources)
		if !errors.Is(err, keys.ErrInvalidRule) || !strings.Contains(err.Error(), want) || snowfence.ClassOf(err) != snowfence.ClassUsage {
			t.Errorf("error is %v, want %q", err, want)
		}
	}
}

func TestUnknownColumnIsRefusedWithTheKnownOnes(t *testing.T) {
	r, err := keys.New(map[string]keys.Source{"orders.id": &script{}, "customers.id": &script{}})
	if err != nil {
		t.Fatal(err)
	}
	const want = `snowfence: keys: unknown column: "Orders.id": must be one of ["customers.id" "orders.id"]`
	_, next := r.Next(t.Context(), "Orders.id")
	_, insert := r.Insert(t.Context(), nil, "Orders.id", "")
	for _, err := range []error{next, insert, r.Fill(t.Context(), "Orders.id", nil)} {
		if !errors.Is(err, keys.ErrUnknownColumn) || err.Error() != want {
			t.Errorf("error is %v, want %s", err, want)
		}
	}
}

// TestKeyIsNeverZeroAndNeverRepeated fills one batch after the other from a script.
func TestKeyIsNeverZeroAndNeverRepeated(t *testing.T) {
	for _, c := range []struct {
		script  []snowfence.ID
		batches []int
		want    []snowfence.ID // of all batches
		err     error
	}{
		{script: []snowfence.ID{3, 1, 2}, batches: []int{2, 0, 1}, want: []snowfence.ID{3, 1, 2}},
		{script: []snowfence.ID{0, 1, 2}, batches: []int{1, 1}, want: []snowfence.ID{1, 2}},
		{script: []snowfence.ID{1, 0, 2, 3}, batches: []int{3}, want: []snowfence.ID{1, 2, 3}},
		{script: []snowfence.ID{0, 0, 1}, batches: []int{1}, err: keys.ErrRepeated},
		{script: []snowfence.ID{1, 0, 0, 2}, batches: []int{1, 1}, want: []snowfence.ID{1}, err: keys.ErrRepeated},
		{script: []snowfence.ID{0, 1, 0, 2}, batches: []int{3}, err: keys.ErrRepeated},
		{script: []snowfence.ID{7, 7}, batches: []int{1, 1}, want: []snowfence.ID{7}, err: keys.ErrRepeated},
		{script: []snowfence.ID{7, 8, 7}, batches: []int{3}, err: keys.ErrRepeated},
		{script: []snowfence.ID{7, 8, 9, 8}, batches: []int{2, 2}, want: []snowfence.ID{7, 8}, err: keys.ErrRepeated},
	} {
		r := scripted(t, c.script...)
		var got []snowfence.ID
		var err error
		for _, n := range c.batches {
			batch := make([]snowfence.ID, n)
			if err = r.Fill(t.Context(), "orders.id", batch); err != nil {
				break
			}
			got = append(got, batch...)
		}
		if !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("script %v in batches of %v: got %v, error %v; want %v, error %v", c.script, c.batches, got, err, c.want, c.err)
		}
	}
}

func TestOneKeyIsNeverZeroAndNeverRepeated(t *testing.T) {
	for _, c := range []struct {
		script, want []snowfence.ID
		err          error
	}{
		{script: []snowfence.ID{1, 2, 1}, want: []snowfence.ID{1, 2, 1}, err: errDry}, // only the last one is known
		{script: []snowfence.ID{0, 1, 2}, want: []snowfence.ID{1, 2}, err: errDry},
		{script: []snowfence.ID{1, 0, 2}, want: []snowfence.ID{1, 2}, err: errDry},
		{script: []snowfence.ID{0}, err: errDry},
		{script: []snowfence.ID{0, 0, 1}, err: keys.ErrRepeated},
		{script: []snowfence.ID{1, 0, 0}, want: []snowfence.ID{1}, err: keys.ErrRepeated},
		{script: []snowfence.ID{7, 7}, want: []snowfence.ID{7}, err: keys.ErrRepeated},
		{script: []snowfence.ID{7, 0, 7}, want: []snowfence.ID{7}, err: keys.ErrRepeated},
	} {
		r := scripted(t, c.script...)
		var got []snowfence.ID
		id, err := r.Next(t.Context(), "orders.id")
		for ; err == nil; id, err = r.Next(t.Context(), "orders.id") {
			got = append(got, id)
		}
		if id != 0 || !slices.Equal(got, c.want) || !errors.Is(err, c.err) {
			t.Errorf("script %v: got %v, then %d, error %v; want %v, error %v", c.script, got, id, err, c.want, c.err)
		}
	}
}

// database is an execer that remembers the arguments of each statement, and breaks its
// connection at one of them.
type database struct {
	breaks int // at this statement, counted from 1; 0 for none
	rows   []string
}

var errBroken = errors.New("the connection is broken")

func (d *database) ExecContext(_ context.Context, query string, args ...any) (sql.Result, error) {
	d.rows = append(d.rows, fmt.Sprint(query, args))
	if len(d.rows) == d.breaks {
		return nil, errBroken
	}
	return nil, nil // no result is looked at
}

func TestInsertPutsTheKeyFirst(t *testing.T) {
	r, d := scripted(t, 1, 2), new(database)
	id, err := r.Insert(t.Context(), d, "orders.id", "INSERT", "a", 9)
	if err != nil || id != 1 {
		t.Errorf("one row: %d, %v", id, err)
	}
	if id, err := r.Insert(t.Context(), d, "orders.id", "INSERT"); err != nil || id != 2 {
		t.Errorf("another: %d, %v", id, err)
	}
	if want := []string{"INSERT[1 a 9]", "INSERT[2]"}; !slices.Equal(d.rows, want) {
		t.Errorf("statements are %q, want %q", d.rows, want)
	}
}

func TestRetryAfterALostConnectionTakesNewKeys(t *testing.T) {
	r, d := scripted(t, 1, 2), &database{breaks: 1}
	id, err := r.Insert(t.Context(), d, "orders.id", "INSERT")
	if id != 1 || !errors.Is(err, errBroken) {
		t.Errorf("the broken insert: %d, %v; want the id that was sent, and the error", id, err)
	}
	if id, err := r.Insert(t.Context(), d, "orders.id", "INSERT"); id != 2 || err != nil {
		t.Errorf("the retry: %d, %v", id, err)
	}
}

func TestNothingIsInsertedWithoutAKey(t *testing.T) {
	r, d := scripted(t), new(database)
	id, err := r.Insert(t.Context(), d, "orders.id", "INSERT")
	if id != 0 || !errors.Is(err, errDry) || len(d.rows) > 0 {
		t.Errorf("id %d, error %v, statements %q", id, err, d.rows)
	}
}

// TestColumnsMayShareASource has many goroutines number two columns from one holder.
func TestColumnsMayShareASource(t *testing.T) {
	holder, err := fence.Open(t.Context(), fence.Config{Store: memstore.New().Client()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = holder.Close(context.Background()) }()
	names := []string{"orders.id", "customers.id"}
	r, err := keys.New(map[string]keys.Source{names[0]: holder, names[1]: holder})
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	seen := map[snowfence.ID]bool{}
	var group sync.WaitGroup
	const goroutines, batches, n = 8, 20, 25
	for g := range goroutines {
		group.Go(func() {
			for range batches {
				ids := make([]snowfence.ID, n)
				if err := r.Fill(t.Context(), names[g%2], ids); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				for _, id := range ids {
					seen[id] = true
				}
				mu.Unlock()
			}
		})
	}
	group.Wait()
	if len(seen) != goroutines*batches*n || seen[0] {
		t.Errorf("%d different ids, zero %v; want %d, and no zero", len(seen), seen[0], goroutines*batches*n)
	}
}
