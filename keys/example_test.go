package keys_test

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/keys"
	"snowfence.example/snowfence/store/memstore"
)

func Example() {
	ctx := context.Background()
	customers, err := counter.OpenSegments(ctx, counter.SegmentsConfig{
		Config: counter.Config{Store: memstore.New().Client(), Name: "customers", Start: 1000},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	rules, err := keys.New(map[string]keys.Source{"customers.id": customers})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := rules.Next(ctx, "customers.id")
	fmt.Println(id, err)

	_, err = rules.Next(ctx, "customer.id")
	fmt.Println(err)
	fmt.Println(customers.Close(ctx))
	// Output:
	// 1000 <nil>
	// snowfence: keys: unknown column: "customer.id": must be one of ["customers.id"]
	// <nil>
}
