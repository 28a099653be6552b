package client_test

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// shop needs ids, and does not know where they come from.
type shop struct{ ids client.Source }

func (s shop) order(ctx context.Context) (string, error) {
	id, err := s.ids.Next(ctx)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("an order, with an id above 0: %t", id > 0), nil
}

// A program that holds its own lease on a store has ids by the same interface as one that asks daemons
// by client.New.
func ExampleSource() {
	ctx := context.Background()
	holder, err := fence.Open(ctx, fence.Config{Store: memstore.New().Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(shop{ids: holder}.order(ctx))
	fmt.Println(holder.Close(ctx))

	asking, err := client.New(client.Config{Servers: []string{"127.0.0.1:7601"}, Generator: "orders"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(asking.Close(ctx)) // it has not connected: no id was asked for
	_, err = shop{ids: asking}.order(ctx)
	fmt.Println(err)
	// Output:
	// an order, with an id above 0: true <nil>
	// <nil>
	// <nil>
	// client: closed
}
