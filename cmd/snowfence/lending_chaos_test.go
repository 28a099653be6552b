//go:build servers

package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

var (
	lendingEngines = flag.String("lending.engines", "file", "engines of the test of borrowers, separated by commas, as of the chaos test")
	lendingFaults  = flag.Int("lending.faults", 12, "faults that the test of borrowers does on each engine")
)

// Programs in Python, JavaScript and Java with borrowed worker ids, and daemons, share a namespace of 64 worker ids, while
// all of them are killed and paused, their clocks are set, and daemons, the engine and the ways between them fail. No id
// comes twice, and when the faults end all issue again.
func TestBorrowersNeverRepeatAnID(t *testing.T) {
	t.Parallel()
	for name := range strings.SplitSeq(*lendingEngines, ",") {
		t.Run(name, func(t *testing.T) {
			l := newLending(t, name, 6, 50, map[string]int{"python": 3, "node": 3, "java": 2})
			l.run()
			l.recover()
			l.end()
			if err := l.repeated(); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestBorrowerThatMindsNoBoundIsFound is the test above with a rule broken: a borrower goes on when its lease has lapsed. There
// are few worker ids, so that one that starts again gets another's.
func TestBorrowerThatMindsNoBoundIsFound(t *testing.T) {
	l := newLending(t, "file", 3, 100, map[string]int{"careless": 6})
	r := rand.New(rand.NewPCG(2, uint64(time.Now().UnixNano())))
	testkit.Eventually(t, func(ctx context.Context) error {
		l.ills()["killed"](l.borrowers[r.IntN(len(l.borrowers))], r)
		if l.repeated() == nil {
			return fmt.Errorf("no duplicate after %s", time.Since(l.began))
		}
		return ctx.Err()
	})
	l.end()
}

// lending is a run with borrowers.
type lending struct {
	*chaos
	borrowers []*borrower
	done      bool // all programs have ended
}

// borrower is a program that faults are done to.
type borrower struct {
	t        *testing.T
	number   int
	language string
	command  func(context.Context) *exec.Cmd
	offset   string // the file of its clock's offset, in milliseconds

	busy   sync.Mutex // held by the fault that is done to it
	issued atomic.Int64

	mu     sync.Mutex
	ids    []snowfence.ID
	starts int
	now    *exec.Cmd
	said   strings.Builder // to standard error
}

// newLending starts two daemons and the borrowers, and waits until all issue.
func newLending(t *testing.T, engine string, workerBits, share int, languages map[string]int) *lending {
	t.Helper()
	c, ctx := beginChaos(t, engine, fmt.Sprintf("ms41-worker%d-seq12@2026-01-01T00:00:00Z", workerBits))
	l := &lending{chaos: c}
	c.faults = *lendingFaults
	c.serve(ctx, 2, fmt.Sprintf("    lend-share: %d\n", share))
	var urls []string
	for _, s := range c.subjects {
		front := testkit.NewProxy(t, strings.TrimPrefix(s.current().URL, "http://"))
		s.mu.Lock()
		s.front = front
		s.mu.Unlock()
		urls = append(urls, "http://"+front.Addr())
		for name, begin := range map[string]func(){
			"daemon cut off from borrowers": front.Cut, "daemon silent to borrowers": front.Drop, "answers to borrowers lost": front.LoseReplies,
			"requests and answers late": func() { front.Delay(chaosWindow/4, chaosWindow/2) },
		} {
			c.more = append(c.more, trouble{name, func(_ *subject, r *rand.Rand) { c.disturb(front, begin, r) }})
		}
	}
	for _, language := range slices.Sorted(maps.Keys(languages)) {
		for range languages[language] {
			b := &borrower{t: t, number: len(l.borrowers), language: language, offset: filepath.Join(t.TempDir(), "offset")}
			b.setClock(0)
			b.command = borrowing(t, language, b.offset, urls)
			l.borrowers = append(l.borrowers, b)
			c.running.Go(func() { l.keep(ctx, b) })
		}
	}
	for name, do := range l.ills() {
		ill := trouble{"borrower: " + name, func(_ *subject, r *rand.Rand) {
			b := l.borrowers[r.IntN(len(l.borrowers))]
			b.busy.Lock()
			defer b.busy.Unlock()
			do(b, r)
		}}
		c.more = append(c.more, ill, ill)
	}
	l.recover()
	return l
}

// borrowing returns the command of a program that borrows a worker id.
func borrowing(t *testing.T, language, offset string, urls []string) func(context.Context) *exec.Cmd {
	t.Helper()
	const clients = "../../clients/"
	program := map[string][]string{
		"python":   {"python3", "testdata/lending/borrow.py", offset, "no"},
		"careless": {"python3", "testdata/lending/borrow.py", offset, "yes"},
		"node":     {"node", "testdata/lending/borrow.mjs", "../../../../clients/javascript/snowfence.mjs", offset},
	}[language]
	if language == "java" {
		program = []string{"java", "-XX:TieredStopAtLevel=1", "-Xmx64m", "-cp", compiled(t, "Borrow"), "Borrow", offset}
	}
	return func(ctx context.Context) *exec.Cmd {
		command := exec.CommandContext(ctx, program[0], append(program[1:], urls...)...)
		command.Env = append(command.Environ(), "PYTHONPATH="+clients+"python", "PYTHONDONTWRITEBYTECODE=1")
		return command
	}
}

// keep starts a borrower, and again each time it has ended.
func (l *lending) keep(ctx context.Context, b *borrower) {
	for ctx.Err() == nil {
		command := b.command(ctx)
		out, err := command.StdoutPipe()
		if err == nil {
			command.Stderr = &b.said
			err = command.Start()
		}
		if err != nil {
			l.t.Errorf("start a borrower: %v", err)
			return
		}
		b.mu.Lock()
		b.now, b.starts = command, b.starts+1
		b.mu.Unlock()
		b.read(out)
		if err := command.Wait(); err != nil && ctx.Err() == nil && command.ProcessState.ExitCode() >= 0 {
			l.t.Errorf("a borrower in %s ended by itself: %v\n%s", b.language, err, b.said.String())
			return
		}
		pause(ctx, 50*time.Millisecond)
	}
}

// read takes the ids that came whole.
func (b *borrower) read(out io.Reader) {
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return // a line cut short is not issued
		}
		id, err := snowfence.Parse(strings.TrimSpace(line))
		if err != nil {
			b.t.Errorf("a borrower in %s printed %q: %v", b.language, line, err)
			return
		}
		b.mu.Lock()
		b.ids = append(b.ids, id)
		b.mu.Unlock()
		b.issued.Add(1)
	}
}

func (b *borrower) setClock(offset time.Duration) {
	setOffset(b.t, b.offset, strconv.FormatInt(offset.Milliseconds(), 10))
}

// signal sends a signal to the borrower's process.
func (b *borrower) signal(s syscall.Signal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	_ = b.now.Process.Signal(s)
}

// recover expects every daemon and every borrower to issue again.
func (l *lending) recover() {
	for _, s := range l.subjects {
		if !s.await(s.minted.Load()+1, testkit.Hang) {
			l.t.Errorf("daemon %d issues nothing after the faults:\n%s", s.number, s.log())
		}
	}
	for _, b := range l.borrowers {
		before := b.issued.Load()
		testkit.Eventually(l.t, func(context.Context) error {
			if b.issued.Load() == before {
				return fmt.Errorf("borrower %d, in %s, issues nothing", b.number, b.language)
			}
			return nil
		})
	}
}

// end ends all programs, and prints the counts.
func (l *lending) end() {
	l.stop()
	l.running.Wait()
	l.done = true
	for _, b := range l.borrowers {
		l.t.Logf("borrower %d, in %s: %d ids, started %d times", b.number, b.language, len(b.ids), b.starts)
	}
	l.report()
	l.t.Logf("%s, %s", l.engine.Name, time.Since(l.began).Round(time.Second))
}

// repeated returns an error if two ids of all that were issued are equal.
func (l *lending) repeated() error {
	var ids []snowfence.ID
	for _, b := range l.borrowers {
		b.mu.Lock()
		ids = append(ids, b.ids...)
		b.mu.Unlock()
	}
	if l.done { // else they are being collected
		for _, s := range l.subjects {
			ids = append(ids, s.ids...)
		}
	}
	return countertest.Distinct(ids)
}
