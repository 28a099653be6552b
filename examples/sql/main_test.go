package main

import (
	"context"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/examples/internal/trial"
	"snowfence.example/snowfence/internal/testkit"
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
	address, db := testkit.SQL(t, "postgres")
	for range 2 {
		var out strings.Builder
		if err := run(t.Context(), &out, address+"?sslmode=disable"); err != nil {
			t.Fatal(err)
		}
		t.Log(out.String())
	}
	var n int
	if err := db.QueryRowContext(t.Context(), "SELECT count(*) FROM orders WHERE id > 0").Scan(&n); err != nil || n != 6 {
		t.Errorf("%d rows with a key, error %v; want 6", n, err)
	}
}
