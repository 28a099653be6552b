// Command bench measures Snowfence beside its peers, in one process and in
// interleaved rounds, because on a shared machine only ratios of one run mean
// anything. It prints every round, then the medians as ratios to the peer,
// with the ratio that is aimed at beside each.
//
// The peer that all speed is compared with is github.com/bwmarrin/snowflake
// with StepBits raised to 21, so that it never waits for a tick and its cost a
// call is what is measured. Snowfence runs with as many sequence bits. Wide
// ids, and the UUIDs of others beside them, are compared with Next.
//
//	GOWORK=off go run . -rounds 10            # what `make bench` does
//	GOWORK=off go run . -only speed,full      # some parts
package main

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"
)

func main() {
	rounds := flag.Int("rounds", 10, "interleaved rounds whose median counts")
	each := flag.Duration("each", 300*time.Millisecond, "time of one measurement in a round")
	full := flag.Duration("full", 10*time.Second, "time at the full rate of the twitter layout")
	only := flag.String("only", "speed,full", "parts to run, separated by commas: speed, full")
	flag.Parse()

	fmt.Printf("%s %s/%s, %d processors\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.GOMAXPROCS(0))
	for part := range strings.SplitSeq(*only, ",") {
		var err error
		switch part {
		case "speed":
			err = speed(*rounds, *each)
		case "full":
			err = fullRate(*full)
		default:
			err = fmt.Errorf("-only is %q: must be speed or full", part)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, "bench:", err)
			os.Exit(1)
		}
	}
}
