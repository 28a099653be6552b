package keys

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"snowfence.example/snowfence"
)

// Errors of [Rules].
var (
	// ErrInvalidRule is wrapped by the errors of [New].
	ErrInvalidRule = snowfence.NewError(snowfence.ClassUsage, "snowfence: keys: invalid rule")

	// ErrUnknownColumn is wrapped by the error of a call for a column without a rule.
	ErrUnknownColumn = snowfence.NewError(snowfence.ClassUsage, "snowfence: keys: unknown column")

	// ErrRepeated is wrapped by the error of a call whose source gave an id a second time.
	ErrRepeated = snowfence.NewError(snowfence.ClassLease, "snowfence: keys: the source repeats an id")
)

// Source mints the ids of a column, and none twice. *fence.Holder, *snowfence.Generator,
// *counter.Segments and *counter.Tickets are sources.
type Source interface {
	// Next returns a new id.
	Next(ctx context.Context) (snowfence.ID, error)

	// Fill fills ids with new ones. When it fails, no id of the batch may be used.
	Fill(ctx context.Context, ids []snowfence.ID) error
}

// Rules maps columns to the sources of their ids. It is safe for concurrent use if the
// sources are.
type Rules struct{ columns map[string]*column }

type column struct {
	source Source
	last   atomic.Int64 // the last id that the source gave, or 0
}

// New returns rules. A name is by custom "table.column". Calls must spell it in the same way,
// capitals included. A source may serve several columns.
//
// An error that wraps [ErrInvalidRule] is returned for a source that is nil, and for two names
// that differ only in capitals: many databases take those for one column.
func New(sources map[string]Source) (*Rules, error) {
	r := &Rules{make(map[string]*column, len(sources))}
	lower := make(map[string]string, len(sources))
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		other, twice := lower[strings.ToLower(name)]
		switch {
		case sources[name] == nil:
			return nil, fmt.Errorf("%w: source of %s is nil: must be given", ErrInvalidRule, name)
		case twice:
			return nil, fmt.Errorf("%w: names %s and %s: must differ in more than capitals", ErrInvalidRule, other, name)
		}
		lower[strings.ToLower(name)] = name
		r.columns[name] = &column{source: sources[name]}
	}
	return r, nil
}

// Next returns a new id for a column. It fails as [Rules.Fill] does.
func (r *Rules) Next(ctx context.Context, name string) (snowfence.ID, error) {
	var ids [1]snowfence.ID
	if err := r.Fill(ctx, name, ids[:]); err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Fill fills ids with new ones for a column, in the order in which the source gives them. An
// id 0 is passed over, and another one is minted for it. When Fill fails, no id of the batch
// may be used.
//
// An error that wraps [ErrUnknownColumn] is returned for a column without a rule. One that
// wraps [ErrRepeated] is returned when an id is in the batch twice, or was the last one of
// the call before. The source's own error is returned when it fails.
func (r *Rules) Fill(ctx context.Context, name string, ids []snowfence.ID) error {
	c, err := r.column(name)
	if err != nil || len(ids) == 0 {
		return err
	}
	err = c.source.Fill(ctx, ids)
	if i := slices.Index(ids, 0); err == nil && i >= 0 {
		copy(ids[i:], ids[i+1:])
		ids[len(ids)-1], err = c.source.Next(ctx)
	}
	if err != nil {
		return fmt.Errorf("mint for %s: %w", name, err)
	}
	// Before the first call the last id is 0. A 0 that is left is the source's second one.
	seen := map[snowfence.ID]bool{0: true, snowfence.ID(c.last.Swap(int64(ids[len(ids)-1]))): true}
	for _, id := range ids {
		if seen[id] {
			return fmt.Errorf("mint for %s: %w: %d", name, ErrRepeated, id)
		}
		seen[id] = true
	}
	return nil
}

func (r *Rules) column(name string) (*column, error) {
	if c, known := r.columns[name]; known {
		return c, nil
	}
	return nil, fmt.Errorf("%w: %q: must be one of %q", ErrUnknownColumn, name, slices.Sorted(maps.Keys(r.columns)))
}
