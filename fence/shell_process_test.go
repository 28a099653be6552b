package fence_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/faultstore"
)

// process is one holder and its callers.
type process struct {
	m      *machine
	pid    int
	link   *link
	pen    *pen
	holder atomic.Pointer[fence.Holder]
	killed chan struct{}
	gone   chan struct{} // closed when Close has returned, or it was killed
	ending atomic.Bool

	waiting atomic.Int64 // calls under way
	asked   atomic.Bool  // to close
	trap    atomic.Bool  // to be closed while it sends
	failed  atomic.Bool  // for good

	losses map[int64]uint64 // when each was told, by term and worker; guarded by w.mu
	ended  uint64           // when Close had returned; guarded by w.mu
	atRest time.Duration    // what Close took; to be read when it has returned
	over   atomic.Int64     // when Close had returned, on the bubble's clock; 0 before

	seen struct { // by those who look; guarded by w.mu
		ready, unready bool
		since, stood   time.Duration
	}

	lines struct { // of its log
		sync.Mutex
		stopped, resumed uint64
		down             bool
		at               time.Duration
	}
}

func (p *process) String() string { return fmt.Sprintf("process %d.%d", p.m.n, p.pid) }

// Write takes the holder's log.
func (p *process) Write(line []byte) (int, error) {
	p.lines.Lock()
	switch {
	case bytes.Contains(line, []byte("issues no ids")):
		p.lines.stopped++
		p.lines.down = true
		p.lines.at = p.m.w.now()
	case bytes.Contains(line, []byte("issues ids again")):
		p.lines.resumed++
		p.lines.down = false
		p.lines.at = p.m.w.now()
	case bytes.Contains(line, []byte("can issue no more ids")):
		p.failed.Store(true)
	}
	p.lines.Unlock()
	text := strings.TrimSpace(string(line))
	if len(text) > 300 {
		text = text[:300] + "…"
	}
	p.m.w.say("%s: %s", p, text)
	return len(line), nil
}

// dice is a random source that may fail.
type dice struct {
	*rand.ChaCha8
	silent *atomic.Bool
}

var errDice = errors.New("no random bits")

func (d dice) Read(b []byte) (int, error) {
	if d.silent.Load() {
		return 0, errDice
	}
	return d.ChaCha8.Read(b)
}

// seeded returns a random source of its own for each use of one seed.
func seeded(seed uint64, use ...int) *rand.ChaCha8 {
	var key [32]byte
	copy(key[:], fmt.Sprintf("%d %v", seed, use))
	return rand.NewChaCha8(key)
}

var _ io.Reader = dice{}

// config is the holder's of this process.
func (m *machine) start() *process {
	w := m.w
	m.pids++
	p := &process{
		m: m, pid: m.pids, killed: make(chan struct{}), gone: make(chan struct{}), losses: make(map[int64]uint64),
	}
	rng := rand.New(seeded(w.plan.seed, m.n, p.pid, 1))
	bottom := &wire{Store: w.memory.Client(), p: p, rng: rng}
	faulty := faultstore.New(bottom, p.weather(faultstore.Seeded(rng.Uint64(), rates(rng, w.plan))), nil)
	p.link = &link{p: p, inner: faulty}
	return p
}

func (p *process) config() fence.Config {
	m, w := p.m, p.m.w
	c := fence.Config{
		Store: p.link, Layout: w.plan.layout, Worker: m.pin, Window: w.plan.window, ClaimWait: w.plan.claimWait,
		RequestTimeout: w.plan.timeout, Clock: m.clock, Rand: dice{seeded(w.plan.seed, m.n, p.pid, 2), &m.silent},
		Policy:  w.plan.policy,
		Process: fence.Process{Host: fmt.Sprintf("host-%d", m.n), PID: p.pid, Started: time.Unix(int64(p.pid), 0)},
		Logger:  slog.New(slog.NewTextHandler(p, &slog.HandlerOptions{ReplaceAttr: plain})),
		OnLoss:  p.lost,
	}
	if m.keeps {
		p.pen = &pen{sheet: m.disk, p: p, gone: make(chan struct{})}
		c.Journal, c.JournalAhead = p.pen, w.plan.ahead
	}
	return c
}

// plain leaves out of a log line what the run's log says already.
func plain(_ []string, a slog.Attr) slog.Attr {
	if a.Key == slog.TimeKey || a.Key == "namespace" {
		return slog.Attr{}
	}
	return a
}

// lost is the holder's OnLoss. Some programs end there.
func (p *process) lost(l fence.Loss) {
	w := p.m.w
	w.mu.Lock()
	key := l.Term<<20 | l.Worker
	if _, twice := p.losses[key]; twice {
		w.broken("counters", "%s was told twice that it lost term %d of worker %d", p, l.Term, l.Worker)
	}
	known := false
	for _, t := range w.held[l.Worker] {
		known = known || t.number == l.Term && t.m == p.m
	}
	if !known {
		w.broken("counters", "%s was told that it lost term %d of worker %d, which it never had", p, l.Term, l.Worker)
	}
	p.losses[key] = w.turn.Add(1)
	quits := w.plan.quits && (l.Term+l.Worker)%3 == 0
	w.mu.Unlock()
	if quits && !w.quiet.Load() {
		if p.holder.Load() != nil { // else Open has not returned yet
			p.close(w.plan.window)
		}
	}
}

// open opens the holder. It returns false if there is none then.
func (p *process) open(limit time.Duration) bool {
	m, w := p.m, p.m.w
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if limit >= 0 {
		ctx, cancel = context.WithTimeout(ctx, limit)
		defer cancel()
	}
	before, begun := m.disk.content(), w.now()
	config := p.config()
	h, err := fence.Open(ctx, config)
	took, most := w.now()-begun, w.plan.openWithin()
	if limit >= 0 {
		most = min(most, limit)
	}
	if err != nil {
		most += time.Second // to give back what is claimed already
	}
	if took > most {
		w.breaks("open", "%s: Open took %s, at most %s was allowed: %v", p, took, most, err)
	}
	switch {
	case err == nil && limit == 0:
		w.breaks("open", "%s: Open succeeds under a context that had ended", p)
	case err != nil && limit == 0 && m.disk.content() != before:
		w.breaks("open", "%s: Open under a context that had ended took the journal's page", p)
	case err != nil && ctx.Err() != nil && !errors.Is(err, context.DeadlineExceeded) && limit == 0:
		w.breaks("open", "%s: Open under a context that had ended: %v", p, err)
	}
	if err != nil {
		w.say("%s: open: %v", p, err)
		close(p.gone)
		if p.pen != nil {
			p.pen.close()
		}
		return false
	}
	w.say("%s is open after %s", p, took)
	p.holder.Store(h)
	return true
}

// close closes the holder, as a program does that was asked to end, and gives it
// so long.
func (p *process) close(limit time.Duration) {
	if p.ending.CompareAndSwap(false, true) {
		p.end(limit, false)
	}
	<-p.gone
}

// kill ends it as a crash does, be it in the midst of a Close: no call to the
// store and no write to the disk gets through any more. What was on its way still
// may.
func (p *process) kill() {
	close(p.killed)
	if p.pen != nil {
		p.pen.close()
	}
	if p.ending.CompareAndSwap(false, true) {
		p.end(0, true)
	} else {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = p.holder.Load().Close(ctx) // the other Close has the first word
	}
	<-p.gone
}

func (p *process) end(limit time.Duration, killed bool) {
	m, w := p.m, p.m.w
	p.asked.Store(true)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	begun := w.now()
	stood, _ := m.clock.standing()
	err := p.holder.Load().Close(ctx)
	after, _ := m.clock.standing()
	lasted := w.now() - begun
	took := lasted - (after - stood)
	ended := w.turn.Add(1)
	p.over.Store(int64(w.now()))
	if !killed {
		w.say("%s is closed after %s of %s: %v", p, took, limit, err)
	}
	p.atRest = took
	own := 2 * w.plan.timeout
	if took > min(limit, own) {
		w.breaks("close", "%s: Close took %s, its context %s and two timeouts %s", p, took, limit, own)
	}
	if err != nil && ctx.Err() == nil && lasted < own && p.link.alive() == nil {
		w.breaks("close", "%s: Close failed before its time was over: %v", p, err)
	}
	if _, err := p.holder.Load().Next(context.Background()); !errors.Is(err, fence.ErrClosed) {
		w.breaks("closed", "%s: a call after Close returned ends with: %v", p, err)
	}
	if s := p.holder.Load().Status(); s.Ready {
		w.breaks("status", "%s is ready after Close returned", p)
	}
	if p.pen != nil {
		p.pen.close()
	}
	w.mu.Lock()
	p.ended = ended
	w.mu.Unlock()
	close(p.gone)
}

// swaps is told of every swap that is sent, and closes the holder in the midst of
// one that is no claim of a namespace, if it is to.
func (p *process) swaps(key string) {
	if p.holder.Load() != nil && key != stored.NamespaceKey(stored.DefaultNamespace) && p.trap.CompareAndSwap(true, false) {
		p.m.w.struck("closed while it writes", "%s", p)
		go p.close(p.m.w.plan.window)
	}
}
