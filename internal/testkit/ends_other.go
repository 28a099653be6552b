//go:build unix && !linux

package testkit

import "syscall"

// endsWithTest does nothing: only Linux kills a process when its parent dies.
// A server outlives a test that is killed here, and a test that ends by itself
// kills it.
func endsWithTest(*syscall.SysProcAttr) {}

// stopped is always true: it can't be found out here.
func stopped(int) bool { return true }
