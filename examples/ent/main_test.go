package main

import (
	"context"
	"io"
	"testing"

	"snowfence.example/snowfence"
	ent "snowfence.example/snowfence/examples/ent/generated"
	"snowfence.example/snowfence/examples/internal/trial"
)

func TestManyGoroutinesCreateMintedKeysOnly(t *testing.T) {
	trial.Run(t, func(t *testing.T, s *trial.Shop) trial.Insert {
		client, err := open(t.Context(), s.Scheme, s.DB, s.Rules) // ent calls its dialects so, too
		if err != nil {
			t.Fatal(err)
		}
		keepsGivenKey(t, client)
		return func(ctx context.Context, n int) ([]snowfence.ID, error) {
			if n == 1 {
				order, err := client.Order.Create().SetCustomer("Ada").Save(ctx)
				if err != nil {
					return nil, err
				}
				return []snowfence.ID{snowfence.ID(order.ID)}, nil
			}
			creates, ids := make([]*ent.OrderCreate, n), make([]snowfence.ID, n)
			for i := range creates {
				creates[i] = client.Order.Create().SetCustomer("Grace")
			}
			orders, err := client.Order.CreateBulk(creates...).Save(ctx)
			for i, order := range orders {
				ids[i] = snowfence.ID(order.ID)
			}
			return ids, err
		}
	})
}

// keepsGivenKey creates and changes an order whose key is given, and leaves none behind.
func keepsGivenKey(t *testing.T, client *ent.Client) {
	t.Helper()
	given, err := client.Order.Create().SetID(5).SetCustomer("Ada").Save(t.Context())
	if err != nil || given.ID != 5 {
		t.Fatalf("a key that is given: %v, %v", given, err)
	}
	if changed, err := given.Update().SetCustomer("Grace").Save(t.Context()); err != nil || changed.ID != 5 {
		t.Errorf("an order that is changed: %v, %v", changed, err)
	}
	if err := client.Order.DeleteOneID(5).Exec(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestProgramRunsTwice(t *testing.T) {
	folder := t.TempDir()
	trial.RunTwice(t, func(out io.Writer, address string) error { return run(t.Context(), out, address, folder) })
}
