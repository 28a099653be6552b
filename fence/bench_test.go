package fence_test

import (
	"context"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// BenchmarkNext measures the holder's part beside its generator's, which is a pointer: compare it with that of
// package snowfence, of the same layout.
func BenchmarkNext(b *testing.B) {
	ctx := context.Background()
	layout := snowfence.DefaultLayout()
	layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 21},
	}
	h, err := fence.Open(ctx, fence.Config{Store: memstore.New().Client(), Layout: layout})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := h.Next(ctx); err != nil {
			b.Fatal(err)
		}
	}
	if err := h.Close(ctx); err != nil {
		b.Fatal(err)
	}
}
