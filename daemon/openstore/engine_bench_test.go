package openstore_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// The claims and extensions of docs/engines.md, on real servers of this
// host that sync every write:
//
//	go test ./openstore -run '^$' -bench . -benchtime 200x

// BenchmarkClaim is fence.Open on a namespace that exists: from nothing to the
// first id.
func BenchmarkClaim(b *testing.B) {
	eachEngine(b, func(b *testing.B, s store.Store) {
		var took []time.Duration
		for b.Loop() {
			begun := time.Now()
			holder, err := fence.Open(b.Context(), fence.Config{Store: s})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := holder.Next(b.Context()); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
			b.StopTimer()
			if err := holder.Close(b.Context()); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
		}
		report(b, took)
	})
}

// BenchmarkExtension is one swap of a register's size, like an extension.
func BenchmarkExtension(b *testing.B) {
	eachEngine(b, func(b *testing.B, s store.Store) {
		key, value := "bench/"+fmt.Sprint(time.Now().UnixNano()), make([]byte, 450)
		var version store.Version
		var took []time.Duration
		for b.Loop() {
			_, _ = rand.Read(value) // it never fails
			begun := time.Now()
			var err error
			if version, err = s.Swap(b.Context(), key, version, value); err != nil {
				b.Fatal(err)
			}
			took = append(took, time.Since(begun))
		}
		report(b, took)
	})
}

// eachEngine runs a benchmark on each engine in turn.
func eachEngine(b *testing.B, run func(*testing.B, store.Store)) {
	for _, name := range testkit.EngineNames() {
		b.Run(name, func(b *testing.B) {
			e := testkit.StartEngine(b, name)
			// A loss of a microsecond keeps the wait for it out of the figures.
			s, err := openstore.Open(b.Context(), e.URL("", time.Microsecond))
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = s.Close() })
			// The first holder makes the namespace.
			holder, err := fence.Open(b.Context(), fence.Config{Store: s, Layout: snowfence.DefaultLayout()})
			if err != nil {
				b.Fatal(err)
			}
			b.Cleanup(func() { _ = holder.Close(context.Background()) })
			run(b, s)
		})
	}
}

// report adds the median and the 99th percentile in ms.
func report(b *testing.B, took []time.Duration) {
	slices.Sort(took)
	for name, part := range map[string]int{"p50-ms": 50, "p99-ms": 99} {
		b.ReportMetric(float64(took[min(len(took)-1, len(took)*part/100)])/1e6, name)
	}
}
