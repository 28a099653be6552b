package testkit

import (
	"os"
	"path/filepath"
	"runtime"
	"syscall"
	"testing"
	"unsafe"
)

// TakeFolder takes the registers of a file store away until giveBack is called: each call of
// the store fails meanwhile. A file trades names with their folder in one step, so no process
// ever finds nothing there.
func TakeFolder(tb testing.TB, dir string) (giveBack func()) {
	tb.Helper()
	registers, file := filepath.Join(dir, "registers"), filepath.Clean(dir)+"-taken"
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		tb.Fatal(err)
	}
	trade(tb, registers, file)
	return func() {
		trade(tb, registers, file)
		if err := os.Remove(file); err != nil {
			tb.Error(err)
		}
	}
}

// trade exchanges two paths by renameat2, which package syscall has no name for.
func trade(tb testing.TB, a, b string) {
	tb.Helper()
	const exchange = 2
	number, ok := map[string]uintptr{"amd64": 316, "arm64": 276}[runtime.GOARCH]
	if !ok {
		tb.Skip("no number of renameat2 for this machine")
	}
	from, fromErr := syscall.BytePtrFromString(a)
	to, toErr := syscall.BytePtrFromString(b)
	if fromErr != nil || toErr != nil {
		tb.Fatal(fromErr, toErr)
	}
	here := -100 // AT_FDCWD
	_, _, failed := syscall.Syscall6(number, uintptr(here), uintptr(unsafe.Pointer(from)), uintptr(here), uintptr(unsafe.Pointer(to)), exchange, 0)
	if failed != 0 {
		tb.Fatalf("exchange %s and %s: %v", a, b, failed)
	}
}
