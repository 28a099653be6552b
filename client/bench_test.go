package client

import (
	"flag"
	"sync"
	"sync/atomic"
	"testing"
)

var benchServer = flag.String("client.server", "", "address of the RESP front that the benchmarks ask; empty for a small server in this process")

// riders is the number of goroutines that ask at a time.
const riders = 256

// benched returns a client for a benchmark.
func benched(b *testing.B, cfg Config) *Client {
	if *benchServer == "" {
		cfg.Servers = []string{listen(b, counting(new(atomic.Int64)))}
	} else {
		cfg.Servers = []string{*benchServer}
	}
	return newClient(b, cfg)
}

// byRiders calls a function b.N times in all.
func byRiders(b *testing.B, call func() error) {
	b.ReportAllocs()
	var group sync.WaitGroup
	for i := range riders {
		group.Go(func() {
			for range (b.N + i) / riders {
				if err := call(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "ids/s")
}

// BenchmarkNext is without prefetch: each id is of a request that was sent after its call began.
func BenchmarkNext(b *testing.B) {
	c := benched(b, Config{})
	byRiders(b, func() error { _, err := c.Next(b.Context()); return err })
}

// BenchmarkPrefetch is beside an atomic addition, which is the least that an id can cost.
func BenchmarkPrefetch(b *testing.B) {
	b.Run("next", func(b *testing.B) {
		c := benched(b, Config{Batch: 10_000, Prefetch: 200_000})
		byRiders(b, func() error { _, err := c.Next(b.Context()); return err })
	})
	b.Run("add", func(b *testing.B) {
		var n atomic.Int64
		byRiders(b, func() error { n.Add(1); return nil })
	})
}
