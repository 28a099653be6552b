package fence_test

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

func Example() {
	ctx := context.Background()
	holder, err := fence.Open(ctx, fence.Config{Store: memstore.New().Client()})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := holder.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	b, err := holder.Next(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(a < b, holder.Status().Term)
	fmt.Println(holder.Close(ctx))
	_, err = holder.Next(ctx)
	fmt.Println(err)
	// Output:
	// true 1
	// <nil>
	// snowfence: the holder is closed
}
