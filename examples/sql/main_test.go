package main

import (
	"context"
	"io"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/examples/internal/trial"
)

func TestManyGoroutinesInsertMintedKeysOnly(t *testing.T) {
	trial.Run(t, func(t *testing.T, s *trial.Shop) trial.Insert {
		query := insertOrder
		if s.Scheme == "mysql" {
			query = strings.NewReplacer("$1", "?", "$2", "?").Replace(query)
		}
		if _, err := s.DB.ExecContext(t.Context(), createTable); err != nil {
			t.Fatal(err)
		}
		return func(ctx context.Context, n int) ([]snowfence.ID, error) {
			if n == 1 {
				id, err := s.Rules.Insert(ctx, s.DB, "orders.id", query, "Ada")
				return []snowfence.ID{id}, err
			}
			orders := make([][]any, n)
			for i := range orders {
				orders[i] = []any{"Grace"}
			}
			return placeOrders(ctx, s.DB, s.Rules, query, orders)
		}
	})
}

func TestProgramRunsTwice(t *testing.T) {
	trial.RunTwice(t, func(out io.Writer, address string) error { return run(t.Context(), out, address) })
}
