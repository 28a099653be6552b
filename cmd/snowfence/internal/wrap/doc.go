// Package wrap runs a program with a worker id, and ends the program before another one may have it.
//
// It promises: this program alone stamps ticks of the worker id, as long as
//
//   - the program's ticks stay at or below the host's clock, plus [Config].Ahead,
//   - the host's clock does not step while the program runs,
//   - the program is dead when the clock reaches the bound, for which it gets SIGKILL in time,
//   - /proc shows its processes, and
//   - the wrapper runs.
//
// This holds across hosts with different clocks: the program starts when the clock is at or above the lease's floor, and on
// a store that can lose writes when the bound is confirmed, too. A worker id is given back when all
// processes of the program have ended, and otherwise it rests until its bound. It rests as well if the
// clock has stepped.
//
// A full standard error or a busy service manager delays no signal.
//
// Its promise ends when the program lets the clock step back. A step is seen, and the program is
// stopped first and judged then; but it ran meanwhile. While the wrapper is stopped, by SIGSTOP, a
// debugger, a frozen cgroup or a suspended machine, the program goes on past the bound. WatchdogSec= of
// systemd ends it then, from outside: a ping means that the bound is farther away than the watchdog.
//
// A killed wrapper takes the program with it, but not the children of the program, nor a program that is setuid. As
// process 1 of a container it takes all of them. A process that another one starts for the program, such as a unit, is not
// the program's.
//
//	lease.go        the worker id and its bound
//	daemon.go       a worker id that a daemon lends
//	wrap_linux.go   the program: when it starts and ends
//	host_linux.go   its processes, steps of the clock, and messages to people and to the service manager
package wrap
