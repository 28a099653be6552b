// Package systemd reports to systemd how a daemon stands, by the protocol of sd_notify(3), and takes the sockets that
// systemd has opened for the daemon. It does nothing where systemd has not started the program.
package systemd

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
)

// manager is the service manager that started the program.
type manager struct {
	every  time.Duration // between two messages
	ready  atomic.Bool   // READY=1 was sent
	ending atomic.Bool
}

// storeTime is more than a daemon waits for its stores when it ends.
const storeTime = 10 * time.Second

// Follow makes a daemon, which ends when ctx ends, report to the manager and listen on the manager's sockets. An error is
// returned for variables or sockets of the manager that are wrong.
func Follow(ctx context.Context, c *daemon.Config) error {
	watchdog, err := systemd.SdWatchdogEnabled(false)
	if err != nil {
		return fmt.Errorf("read the service manager's watchdog: %w", err)
	}
	if c.Listeners, err = sockets(); err != nil {
		return err
	}
	m, limits := &manager{every: 10 * time.Second}, c.Settings.Limits
	if watchdog > 0 {
		m.every = min(m.every, watchdog/2)
	}
	c.Stands, c.StandsEvery = m.stands, m.every
	context.AfterFunc(ctx, func() {
		m.ending.Store(true)
		m.tell("%s\nSTATUS=ending\n%s", systemd.SdNotifyStopping, longer(limits.Linger+limits.Drain+storeTime))
	})
	return nil
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

// stands reports to the manager how the daemon stands, and that it lives. The daemon's own loop calls it after a look at every
// generator, by the locks that requests take. So a process that is stopped or hangs sends no message. A daemon whose store
// is away goes on sending, because a restart would mend nothing. The number of connections does not matter.
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
	default: // it waits for a store, perhaps for long
		text += "\n" + longer(3*m.every)
	}
	m.tell("%s", text)
}

// longer asks a manager that waits for a start or an end to wait for so long from now on.
func longer(d time.Duration) string { return fmt.Sprintf("EXTEND_TIMEOUT_USEC=%d", d.Microseconds()) }

// tell sends a message, and does not wait. A manager that is gone misses the message.
func (*manager) tell(format string, arguments ...any) {
	_, _ = systemd.SdNotify(false, fmt.Sprintf(format, arguments...))
}
