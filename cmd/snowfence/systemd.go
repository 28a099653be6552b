package main

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/coreos/go-systemd/v22/activation"
	systemd "github.com/coreos/go-systemd/v22/daemon"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
)

// manager tells systemd how the daemon stands, by the protocol of sd_notify(3). It does nothing where systemd has not
// started the program.
type manager struct {
	every  time.Duration // between two messages
	ready  atomic.Bool   // READY=1 was sent
	ending atomic.Bool
}

// storeTime is more than a daemon waits for its stores in the end.
const storeTime = 10 * time.Second

// managed has the service manager that started the program follow the daemon, which is asked to end when ctx ends. The
// daemon takes the manager's sockets.
func managed(ctx context.Context, c *daemon.Config, limits config.Limits) (*manager, error) {
	watchdog, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return nil, fmt.Errorf("read the service manager's watchdog: %w", err)
	}
	if c.Listeners, err = sockets(); err != nil {
		return nil, err
	}
	m := &manager{every: 10 * time.Second}
	if watchdog > 0 {
		m.every = min(m.every, watchdog/2)
	}
	c.Stands, c.StandsEvery = m.stands, m.every
	context.AfterFunc(ctx, func() {
		m.ending.Store(true)
		m.tell("%s\nSTATUS=ending\n%s", systemd.SdNotifyStopping, longer(limits.Linger+limits.Drain+storeTime))
	})
	return m, nil
}

// sockets returns the sockets that the manager has opened, by their names.
func sockets() (map[string]net.Listener, error) {
	all := map[string]net.Listener{}
	for _, f := range activation.Files(true) {
		l, err := net.FileListener(f)
		_ = f.Close() // l has a copy
		if err != nil {
			return nil, fmt.Errorf("listen on the socket named %s: %w", f.Name(), err)
		}
		if all[f.Name()] != nil {
			return nil, snowfence.NewError(snowfence.ClassUsage, "two sockets are named "+f.Name()+", and a front has one: see FileDescriptorName= of systemd")
		}
		all[f.Name()] = l
	}
	return all, nil
}

// stands tells the manager how the daemon stands, and that it lives. The daemon's own loop calls it after it has looked at
// every generator, by the locks that requests take. So no message comes of a process that is stopped or hangs. One whose
// store is away goes on sending: a restart would mend nothing. Nor does a client matter, however many connections it has.
func (m *manager) stands(s daemon.Stand) {
	text := systemd.SdNotifyWatchdog
	if !m.ending.Load() {
		text += "\nSTATUS=" + page.Visible(s.Text, "")
	}
	switch {
	case m.ready.Load():
	case s.Ready:
		m.ready.Store(true)
		text += "\n" + systemd.SdNotifyReady
	default: // it waits for a store, and may for long
		text += "\n" + longer(3*m.every)
	}
	m.tell("%s", text)
}

// reloads tells the manager that files are read again, and returns what tells it the end of that.
func (m *manager) reloads() (done func()) {
	if !m.ready.Load() {
		return func() {} // READY=1 would say too much
	}
	m.tell("%s\nMONOTONIC_USEC=%d", systemd.SdNotifyReloading, monotonic().Microseconds())
	return func() { m.tell(systemd.SdNotifyReady) }
}

// longer asks the manager to wait for so long from now on, where it waits for a start or an end.
func longer(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// tell sends a message, and does not wait. A manager that is gone misses it.
func (*manager) tell(format string, arguments ...any) {
	_, _ = systemd.SdNotify(false, fmt.Sprintf(format, arguments...))
}
