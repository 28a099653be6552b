package testkit

import "syscall"

// endsWithTest makes a process die when the thread that starts it ends: the
// test's process may be killed, by go test's own timeout above all, and runs
// no cleanup then. What the process itself started is left to it.
func endsWithTest(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = syscall.SIGKILL
}
