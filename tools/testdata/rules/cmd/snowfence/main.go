// Command snowfence exits and reads the environment here and nowhere else.
package main

import (
	"fmt"
	"os"
	"time"
)

func main() {
	_ = time.Now()   // want "forbidigo: time.Now"
	fmt.Println("1") // want "forbidigo: fmt.Println"
	_, err := fmt.Fprintln(os.Stdout, os.Getenv("HOME"), os.Args)
	if err != nil {
		os.Exit(run())
	}
}
