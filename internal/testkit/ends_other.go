//go:build unix && !linux

package testkit

import "syscall"

// endsWithTest does nothing: only Linux tells a process that its parent died.
// A server outlives a test that is killed here, and a test that ends by itself
// kills it.
func endsWithTest(*syscall.SysProcAttr) {}

// stopped can't be told here.
func stopped(int) bool { return true }
