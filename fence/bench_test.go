package fence_test

import (
	"context"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store/memstore"
)

// BenchmarkNext measures the holder's part beside its generator's: a pointer.
func BenchmarkNext(b *testing.B) {
	ctx := context.Background()
	layout := snowfence.DefaultLayout()
	layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 21},
	}
	b.Run("holder", func(b *testing.B) {
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
	})
	b.Run("generator", func(b *testing.B) {
		g, err := snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: layout, Worker: new(int64)})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := g.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
