package main

import (
	"context"
	"fmt"

	"entgo.io/ent"

	"snowfence.example/snowfence/keys"
)

// fillKey returns a hook that gives a key to each new row without one, of a single create or of
// a bulk. The rules must name the column, "orders.id".
func fillKey(rules *keys.Rules, column string) ent.Hook {
	return func(next ent.Mutator) ent.Mutator {
		return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
			if !m.Op().Is(ent.OpCreate) {
				return next.Mutate(ctx, m)
			}
			row, ok := m.(interface {
				ID() (int64, bool)
				SetID(id int64)
			})
			if !ok {
				return nil, fmt.Errorf("create %s: its schema has no key of type int64", m.Type())
			}
			if given, _ := row.ID(); given == 0 {
				id, err := rules.Next(ctx, column)
				if err != nil {
					return nil, err
				}
				row.SetID(int64(id))
			}
			return next.Mutate(ctx, m)
		})
	}
}
