package testkit

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"syscall"
)

// endsWithTest makes a process die when the thread that starts it ends: the
// test's process may be killed, by go test's own timeout above all, and runs
// no cleanup then. The process's own children are left to it.
func endsWithTest(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = syscall.SIGKILL
}

// stopped reports whether a signal has stopped a process.
func stopped(pid int) bool {
	// The state follows the program's name, which stands in parentheses.
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true // it is gone
	}
	_, after, _ := strings.Cut(string(status[bytes.LastIndexByte(status, ')')+1:]), " ")
	return strings.HasPrefix(after, "T")
}
