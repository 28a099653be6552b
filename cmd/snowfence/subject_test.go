package main

import (
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// subject is a daemon that faults are done to: it is killed, stopped and started again, its clock is set, and its way
// to the engine is cut.
type subject struct {
	t         *testing.T
	binary    string
	number    int
	offset    string         // the file of its clock's offset
	proxy     *testkit.Proxy // its way to the engine; nil when there is none
	front     *testkit.Proxy // the way of borrowers to it; nil when there are none
	arguments []string

	busy   sync.Mutex // held by the fault that is done to it
	mu     sync.Mutex
	daemon *testkit.Daemon
	starts int

	minted atomic.Int64 // ids, for callers who wait for more
	ids    []snowfence.ID
}

// newSubject returns a subject with the arguments of its daemon, which is not started yet.
func newSubject(t *testing.T, number int, arguments ...string) *subject {
	t.Helper()
	s := &subject{t: t, binary: executable(t, "faultclock"), number: number, offset: filepath.Join(t.TempDir(), "offset"), arguments: arguments}
	s.setClock(0)
	return s
}

// use gives the daemon a store, by a proxy if the engine has a server.
func (s *subject) use(engine testkit.Engine, loss time.Duration) {
	address := ""
	if engine.Server != nil {
		s.proxy = testkit.NewProxy(s.t, engine.Server.Addr())
		address = s.proxy.Addr()
	}
	s.arguments = append(s.arguments, "--store", engine.URL(address, loss))
}

// start starts the daemon, the first time or again.
func (s *subject) start() *testkit.Daemon {
	s.t.Helper()
	d := testkit.StartDaemon(s.t, s.binary, []string{"SNOWFENCE_CLOCK_OFFSET_FILE=" + s.offset}, s.arguments...)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.daemon = d
	s.starts++
	return d
}

// reach leads borrowers to a daemon that has started.
func (s *subject) reach(d *testkit.Daemon) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.front != nil {
		s.front.SetTarget(strings.TrimPrefix(d.URL, "http://"))
	}
}

// current returns the daemon, which may have ended.
func (s *subject) current() *testkit.Daemon {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.daemon
}

// log returns the last lines of the daemon's log.
func (s *subject) log() string {
	lines := strings.Split(s.current().Log(), "\n")
	return strings.Join(lines[max(0, len(lines)-40):], "\n")
}

// setClock sets the daemon's wall clock off.
func (s *subject) setClock(offset time.Duration) { setOffset(s.t, s.offset, offset.String()) }

// setOffset replaces the file of a clock's offset whole, so that a program which starts never finds it empty.
func setOffset(t *testing.T, file, text string) {
	t.Helper()
	write(t, file+".next", text)
	if err := os.Rename(file+".next", file); err != nil {
		t.Error(err)
	}
}

func (s *subject) signal(number syscall.Signal) { s.current().Signal(number) }

// mint takes ids from whatever daemon the subject is at the moment: at most so many by a request, with a pause after each.
func (s *subject) mint(ctx context.Context, most int, pace time.Duration) {
	random := rand.New(rand.NewPCG(uint64(s.number), 2))
	client := testkit.Client()
	client.Timeout = 5 * time.Second
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		rest := 20 * time.Millisecond
		if d := s.current(); d != nil && d.URL != "" {
			had := len(s.ids)
			var err error // it means fewer ids, as in every fault
			if s.ids, err = testkit.Mint(ctx, client, d.URL, "default", 1+random.IntN(most), s.ids); err == nil {
				rest = pace
			}
			s.minted.Add(int64(len(s.ids) - had))
		}
		pause(ctx, rest)
	}
}

// await waits until the subject has issued that many ids.
func (s *subject) await(total int64, limit time.Duration) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	look := time.NewTicker(5 * time.Millisecond)
	defer look.Stop()
	for s.minted.Load() < total {
		select {
		case <-look.C:
		case <-late.C:
			return false
		}
	}
	return true
}

// freeze stops a daemon.
func freeze(t testing.TB, d *testkit.Daemon) {
	t.Helper()
	d.Signal(syscall.SIGSTOP)
	pause(t.Context(), 10*time.Millisecond) // until each of its threads has stopped
}

// pause lets the fault or the pace last.
func pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func between(random *rand.Rand, least, most time.Duration) time.Duration {
	return least + time.Duration(random.Int64N(int64(most-least)))
}
