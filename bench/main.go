// Command bench measures Snowfence beside its peers, in one process and in
// many short interleaved rounds, because on a shared machine only ratios of one run mean
// anything. It prints the medians, then the goals. It exits with 1, and names them, if
// goals are missed by more than the noise of the run.
//
// The peer that all speed is compared with is github.com/bwmarrin/snowflake
// with StepBits raised to 21, so that it never waits for a tick and only its cost a call is measured.
// Snowfence runs with as many sequence bits. Wide ids, and the UUIDs of others beside them, are
// compared with Next, and Next with a bare clock and an add too: no generator that keeps one order
// costs less.
//
//	GOWORK=off go run .     # what `make bench` does
package main

import (
	"errors"
	"flag"
	"fmt"
	"runtime"
	"time"

	"snowfence.example/snowfence/bench/serving"
)

func main() {
	rounds := flag.Int("rounds", 100, "interleaved rounds whose median counts")
	each := flag.Duration("each", 20*time.Millisecond, "time of one measurement in a round")
	full := flag.Duration("full", 10*time.Second, "time at the full rate of the twitter layout")
	flag.Parse()

	fmt.Printf("%s %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	missed, err := speed(*rounds, *each)
	if err == nil {
		var failed error
		failed, err = fullRate(*full)
		missed = errors.Join(missed, failed)
	}
	serving.Exit("bench", missed, err)
}
