// Package fence breaks the coding rules, a line each.
package fence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"os"
	"runtime"
	"time"
)

// ErrLost is a sentinel; sentinels are no globals that change.
var ErrLost = errors.New("fence: lost")

var Stale = errors.New("fence: stale") // want "errname: " "gochecknoglobals: " "revive: exported: exported var Stale"

var count int // want "gochecknoglobals: count"

func init() { count = 1 } // want "gochecknoinits: "

type Lease struct{} // want "revive: exported: exported type Lease"

func (Lease) Renew() {} // want "revive: exported: exported method Lease.Renew"

// FenceLease stutters.
type FenceLease struct{} // want "revive: exported: type name will be used as fence.FenceLease"

func clocks() {
	time.Sleep(time.Hour) // want "forbidigo: time.Sleep"
	_ = time.Now()        // want "forbidigo: time.Now"
	_ = time.Since        // want "forbidigo: time.Since"
	_ = time.Until        // want "forbidigo: time.Until"
	_ = time.After        // want "forbidigo: time.After"
	_ = time.AfterFunc    // want "forbidigo: time.AfterFunc"
	_ = time.NewTimer     // want "forbidigo: time.NewTimer"
	_ = time.NewTicker    // want "forbidigo: time.NewTicker"
	_ = time.Tick         // want "forbidigo: time.Tick"
	_ = time.Unix(0, 0)   // reads no clock
	_ = time.UnixMilli    // reads no clock
	_ = time.Millisecond  // reads no clock
}

func environment() {
	_ = os.Getenv("HOME") // want "forbidigo: os.Getenv"
	_ = os.Environ        // want "forbidigo: os.Environ"
	_ = os.LookupEnv      // want "forbidigo: os.LookupEnv"
	_ = os.Args           // want "forbidigo: os.Args"
	_ = os.Stdout         // want "forbidigo: os.Stdout"
	_ = os.Stderr         // want "forbidigo: os.Stderr"
	fmt.Println("lost")   // want "forbidigo: fmt.Println"
	fmt.Printf("lost\n")  // want "forbidigo: fmt.Printf"
	println("lost")       // want "forbidigo: println"
	slog.Info("lost")     // want "sloglint: "
	os.Exit(1)            // want "forbidigo: os.Exit"
}

func ends(n int) {
	if n < 0 {
		panic("negative") // want "forbidigo: panic"
	}
	runtime.Goexit() // want "forbidigo: runtime.Goexit"
}

func shared() {
	_ = context.TODO        // want "forbidigo: context.TODO"
	_ = http.DefaultClient  // want "forbidigo: http.DefaultClient"
	_ = http.ListenAndServe // want "forbidigo: http.ListenAndServe"
	_ = rand.Uint64()       // want "forbidigo: rand.Uint64"
	_ = rand.New(rand.NewPCG(1, 2)).Uint64()
}

func errs(err error) error {
	os.Remove("lease")  // want "errcheck: "
	if err == ErrLost { // want "errorlint: "
		return fmt.Errorf("renew: %v", err) // want "errorlint: "
	}
	return err
}

func todo() {} // TODO: finish // want "godox: "

func suppressed() {
	// want+1 "nolintlint: should provide explanation"
	_ = time.Now() //nolint:forbidigo
	// want+1 "nolintlint: should mention specific linter"
	_ = time.Now() //nolint // because
	// want+1 "nolintlint: is unused"
	_ = time.Unix(0, 0) //nolint:forbidigo // reads no clock
	_ = time.Now()      //nolint:forbidigo // with its reason, allowed
}

func spelt() string {
	return "the sequence was recieved" // want "misspell: "
}

func compared(n int) bool {
	return n == n // want "staticcheck: SA4000"
}

// Use calls the others, so that none is unused.
func Use() {
	clocks()
	environment()
	ends(1)
	shared()
	suppressed()
	todo()
	_ = errs(ErrLost)
	_ = count
	_ = spelt()
	_ = compared(1)
}
