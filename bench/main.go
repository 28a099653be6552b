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
