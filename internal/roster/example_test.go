package roster_test

import (
	"context"
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/store/memstore"
)

// Keeps a worker id from being claimed, and counts the rest.
func Example() {
	ctx := context.Background()
	config := roster.Config{Store: memstore.New().Client(), Namespace: "orders"}
	r, err := roster.Create(ctx, config, snowfence.DefaultLayout(), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	w, err := r.Worker(ctx, 7)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(w)
	err = r.Operate(ctx, roster.Patience{}, func(d *roster.Desk) error {
		_, err := d.Quarantine(ctx, w, true)
		return err
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	census := r.Census()
	for w, err := range r.Workers(ctx) {
		if err != nil {
			fmt.Println(err)
			return
		}
		r.Count(&census, w)
	}
	fmt.Println(census.Counts[roster.Free], census.Counts[roster.Quarantined])
	// Output:
	// free, and was never claimed
	// 1023 1
}
