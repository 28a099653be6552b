package wrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	systemd "github.com/coreos/go-systemd/v22/daemon"
	"golang.org/x/sys/unix"

	"snowfence.example/snowfence"
)

// patience is how long a program whose lease is gone may take to end.
const patience = 10 * time.Second

// wrapper is a program with its worker id. One goroutine has all of it.
type wrapper struct {
	*lease
	path     string
	steps    <-chan struct{} // of the clock
	watchdog time.Duration   // how long the service manager waits for a ping; 0 for any time
	news     string          // for the service manager, that it has not taken yet
	pid      int             // of the program; 0 before its start and after its end
	started  bool            // the program was
	code     int             // that the program ended with
	gone     error           // why the lease is over, if it is
	asked    time.Duration   // when the wrapper asked the program to end; 0 if it did not
	killing  bool
	stepped  bool // the clock has, while the program ran
	deserted bool // no process is left
}

// Run claims a worker id, runs the program with it and returns the program's exit code, or 128 and the number of the signal
// that ended it. It returns when all processes of the program have ended. An error is returned if the
// program did not start, or as [ErrEnded].
func Run(ctx context.Context, c Config) (code int, err error) {
	path, err := exec.LookPath(c.Arguments[0])
	if err != nil {
		return 0, snowfence.NewError(snowfence.ClassUsage, err.Error())
	}
	if _, err := descendants(); err != nil {
		return 0, err
	}
	steps, end, err := clockSteps()
	if err != nil {
		return 0, fmt.Errorf("watch the clock for steps: %w", err)
	}
	defer func() { _ = end() }()
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return 0, fmt.Errorf("become the parent of orphans: %w", err)
	}
	c, written := c.unhurried()
	defer written()
	l, err := c.claim(ctx)
	if l == nil {
		return 0, err
	}
	w := &wrapper{lease: l, path: path, steps: steps}
	if err == nil {
		w.watchdog, err = systemd.SdWatchdogEnabled(false)
	}
	if err == nil {
		err = w.run(ctx)
	}
	return w.code, errors.Join(err, w.leave())
}

// run runs the program, and returns when all its processes have ended or it can't start. The program
// dies with the thread that started it.
func (w *wrapper) run(ctx context.Context) error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	signals, children, answers := make(chan os.Signal, 16), make(chan os.Signal, 1), make(chan reply, 1)
	signal.Notify(children, syscall.SIGCHLD)
	defer signal.Stop(children)
	for _, s := range []os.Signal{
		syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGCONT, syscall.SIGTSTP,
	} {
		if !signal.Ignored(s) { // by nohup
			signal.Notify(signals, s)
		}
	}
	defer signal.Stop(signals)
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // the program would inherit that this process ignores it
	switch window := w.held.Answer().Window; {
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case w.watchdog > 0 && (w.watchdog <= window/3 || w.watchdog > window/3*2):
		return snowfence.NewError(snowfence.ClassUsage, fmt.Sprintf("the watchdog of the service is %s, must be above %s and at most %s: a third and two thirds of the window", w.watchdog, window/3, window/3*2))
	}
	if w.Own != nil {
		w.Own()
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	for !w.deserted {
		if err := w.proceed(ctx, answers); err != nil {
			return err
		}
		w.tell()
		expired, stop := w.Clock.After(min(time.Second, w.held.Answer().Window/60))
		select {
		case s := <-signals:
			w.pass(s.(syscall.Signal))
		case <-children:
			w.reap()
		case r := <-answers:
			w.answered(r)
		case <-w.steps:
			w.step()
		case <-expired:
		}
		stop()
		w.judge()
	}
	return nil
}

// proceed sends an extension when it is due. It starts the program at or above the floor, with a bound that is far enough.
func (w *wrapper) proceed(ctx context.Context, answers chan<- reply) error {
	window := w.held.Answer().Window
	switch {
	case w.gone != nil && !w.started:
		return w.gone
	case w.gone == nil && !w.held.Asking() && w.Clock.Monotonic() >= w.due:
		w.gone = w.extend(ctx, answers)
	case !w.started && w.held.Usable() > 0 && !w.early() && w.left() > max(window/3, w.watchdog):
		return w.start()
	}
	return nil
}

// start starts the program.
func (w *wrapper) start() (err error) {
	a := w.held.Answer()
	worker := strconv.FormatInt(a.Lease.Worker&(1<<a.Layout.Bits(snowfence.Worker)-1), 10)
	datacenter := strconv.FormatInt(a.Datacenter(), 10)
	arguments := []string{w.Arguments[0]}
	for _, argument := range w.Arguments[1:] {
		arguments = append(arguments, strings.NewReplacer("{worker}", worker, "{datacenter}", datacenter).Replace(argument))
	}
	environ := append(others(w.Environ),
		"SNOWFENCE_WORKER_ID="+worker, "SNOWFENCE_DATACENTER_ID="+datacenter,
		"SNOWFENCE_LAYOUT="+a.Layout.String(), "SNOWFENCE_EPOCH_MS="+strconv.FormatInt(a.Layout.Epoch.UnixMilli(), 10))
	w.pid, err = syscall.ForkExec(w.path, arguments, &syscall.ProcAttr{ //nolint:gosec // the user names the program
		Env: environ, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: !w.Terminal},
	})
	if err != nil {
		return fmt.Errorf("start %s: %w", w.path, err)
	}
	w.started, w.news = true, systemd.SdNotifyReady
	return nil
}

// pass passes a signal on: to the program, or after its end to the processes that it left. A terminal
// has sent its keys' signals to the program itself. Before the start a signal that ends programs ends
// the wrapper.
func (w *wrapper) pass(s syscall.Signal) {
	keys := s == syscall.SIGINT || s == syscall.SIGQUIT || s == syscall.SIGTSTP || s == syscall.SIGWINCH
	switch {
	case !w.started && (s == syscall.SIGTERM || s == syscall.SIGINT || s == syscall.SIGHUP || s == syscall.SIGQUIT):
		w.code, w.deserted = 128+int(s), true
	case !w.started || keys && w.Terminal:
	case w.pid > 0:
		_ = syscall.Kill(w.pid, s)
	default:
		w.tree(s)
	}
}

// reap takes the exit codes of the processes that have ended.
func (w *wrapper) reap() {
	for ended := false; ; {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, syscall.WNOHANG, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			w.deserted = w.started
			return
		case pid == 0:
			if ended {
				w.Note("the program has ended, and processes of it go on: its worker id is free when they have ended")
			}
			return
		case pid == w.pid:
			ended, w.pid, w.code = true, 0, status.ExitStatus()
			if status.Signaled() {
				w.code = 128 + int(status.Signal())
			}
		}
	}
}

// answered takes the end of an extension.
func (w *wrapper) answered(r reply) {
	if r.err == nil {
		r.err = cmp.Or(w.held.Extended(answer(r.lent), r.came), w.took(r.lent, r.came))
	}
	if w.gone = r.err; w.gone != nil {
		w.Note("the worker id can't be kept: %v", w.gone)
	} else if w.started {
		w.news = cmp.Or(w.news, systemd.SdNotifyWatchdog)
	}
}

// step stops the program after a step of the clock, and lets it go on if it may.
func (w *wrapper) step() {
	if !w.started {
		return
	}
	w.tree(syscall.SIGSTOP)
	w.stepped = true
	if w.judge(); !w.killing {
		w.tree(syscall.SIGCONT)
	}
}

// judge ends the program in time: with a third of the window left, or a lease that is gone, by SIGTERM, and near the bound by
// SIGKILL.
func (w *wrapper) judge() {
	window, left, now := w.held.Answer().Window, w.left(), w.Clock.Monotonic()
	if !w.started || w.deserted {
		return
	}
	if left <= min(window/6, patience) || w.early() || w.gone != nil && w.asked > 0 && now-w.asked >= patience {
		w.tree(syscall.SIGKILL)
		if !w.killing {
			w.Note("the program is killed, with %s left to the bound of its worker id", left.Round(time.Second))
		}
		w.killing = true
	} else if w.asked == 0 && (left <= window/3 || w.gone != nil) {
		w.asked = now
		w.pass(syscall.SIGTERM)
		w.Note("the program is asked to end: its worker id can't be extended, with %s left to the bound", left.Round(time.Second))
	}
}

// leave gives the worker id back, with the lowest tick that was never stamped. It rests if that is unknown or beyond the bound.
func (w *wrapper) leave() error {
	a := w.held.Answer()
	next, err := a.Floor, w.gone
	if w.started {
		now := w.now()
		last := now.wall
		if unset := w.since.wall.Add(now.mono - w.since.mono); unset.After(last) {
			last = unset // the wall clock was set back, and the step may be too young to be seen
		}
		next = max(next, a.Layout.TickAt(last.Add(w.Ahead))+1)
		select {
		case <-w.steps:
			w.stepped = true
		default:
		}
	}
	switch {
	case w.stepped:
		err = errors.New("the clock has stepped")
	case err == nil && next > a.Lease.Until:
		err = errors.New("the bound has passed")
	case err == nil:
		err = w.giveBack(next)
	}
	if err != nil {
		w.Note("worker id %d is not given back, and rests until %s: %v", a.Lease.Worker, a.Layout.TimeOf(a.Lease.Until).UTC(), err)
	}
	if w.started && w.code == 0 && (w.asked > 0 || w.killing) {
		return ErrEnded
	}
	return nil
}
