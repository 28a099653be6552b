// Command bench measures: it reads the clock and prints.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	start := time.Now()
	fmt.Println(time.Since(start))
	os.Exit(0)
}
