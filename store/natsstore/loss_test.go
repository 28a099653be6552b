package natsstore

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

const (
	lossWindow = 3 * time.Second
	lossKnown  = 900 * time.Millisecond
)

// ahead is a clock that shows a later time.
type ahead struct {
	snowfence.Clock
	by time.Duration
}

func (a ahead) Wall() time.Time { return a.Clock.Wall().Add(a.by) }

// lossless is a store with the false claim that it loses nothing. Open itself refuses such a claim, as for NATS 2.9.
type lossless struct{ *Store }

func (lossless) Traits(context.Context) (store.Traits, error) {
	return store.Traits{Engine: "nats", Durable: true}, nil
}

// TestFolderReplacedByAnEarlierCopy is the crash of a machine that had not synced: the server's folder
// is replaced by a copy from before the last acknowledgement. The holder is cut off at that moment and
// lives on its acknowledged bound, and a claimant whose clock is ahead takes its worker id as soon as
// the bound that is left allows it.
//
// With the loss declared no id repeats. Where it is asserted falsely that nothing is lost, ids do.
func TestFolderReplacedByAnEarlierCopy(t *testing.T) {
	for name, ignored := range map[string]bool{"the loss is declared": false, "the loss is ignored": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			repeated := 0
			// Ids repeat if the claim does not take longer than the holder's window, which it may on a busy machine.
			for try := 0; try == 0 || ignored && repeated == 0 && try < 10; try++ {
				repeated = replaceFolder(t, ignored)
			}
			if (repeated > 0) != ignored {
				t.Errorf("%d ids repeat", repeated)
			}
		})
	}
}

// replaceFolder is the crash. It returns how many ids the holder and the claimant have both issued.
func replaceFolder(t *testing.T, ignored bool) (repeated int) {
	t.Helper()
	server := testkit.NATS(t)
	proxy := testkit.NewProxy(t, server.Addr())
	layout := servertest.Layout()
	over := func(address string) store.Store {
		s := open(t, of(address, func(c *Config) { c.Loss = lossKnown }))
		if ignored {
			return lossless{s}
		}
		return s
	}
	hold := func(s store.Store, host string, clock snowfence.Clock) *fence.Holder {
		t.Helper()
		c := servertest.HolderOf(s, lossWindow, host)
		c.Clock = clock
		return servertest.Hold(t, c)
	}
	holder := hold(over(proxy.Addr()), "holder", snowfence.SystemClock())
	// Copies are taken until the holder extends within half a second of one.
	watcher := open(t, of(server.Addr()))
	backup := filepath.Join(t.TempDir(), "jetstream")
	left, forgotten := crashAfterExtension(t, server, proxy, holder, watcher, backup)
	// The holder, which knows nothing, goes on for as long as it can, while the folder is replaced and later.
	issued := make(chan []snowfence.ID, 1)
	go func() {
		var ids []snowfence.ID
		batch := make([]snowfence.ID, layout.Sequences())
		for holder.Fill(t.Context(), batch) == nil {
			ids = append(ids, batch...)
		}
		issued <- ids
	}()

	if forgotten.Until <= left.Until {
		t.Fatalf("the rest ends at %d, the forgotten part at %d", left.Until, forgotten.Until)
	}
	if err := copyFolder(backup, folderOf(server)); err != nil {
		t.Fatal(err)
	}
	server.Start()

	// The claimant's clock has just passed the bound that is left.
	wall := snowfence.SystemClock()
	clock := ahead{Clock: wall, by: layout.TimeOf(left.Until).Sub(wall.Wall()) + 50*time.Millisecond}
	claimant := hold(over(server.Addr()), "claimant", clock)
	claimed := claimant.Status()
	if claimed.Floor < left.Until {
		t.Errorf("the claimant begins at %d, below the bound that it read, %d", claimed.Floor, left.Until)
	}
	theirs := make([]snowfence.ID, layout.Sequences()*300)
	if err := claimant.Fill(t.Context(), theirs); err != nil {
		t.Fatalf("the claimant issues nothing: %v", err)
	}
	var mine []snowfence.ID
	select {
	case mine = <-issued:
	case <-time.After(testkit.Hang):
		t.Fatal("the holder issues without end")
	}
	repeated = servertest.Repeated(mine, theirs)
	t.Logf("the holder issued %d ids after the crash, the claimant %d, and %d of them are equal", len(mine), len(theirs), repeated)
	if len(mine) == 0 {
		t.Error("the holder issued nothing after the crash")
	}
	return repeated
}

// crashAfterExtension kills the server when the register has changed since the
// last copy of its folder, and returns the copy's content and the missing part.
func crashAfterExtension(t *testing.T, server *testkit.Server, proxy *testkit.Proxy, holder *fence.Holder, s *Store, backup string) (left, forgotten stored.Register) {
	t.Helper()
	every := time.NewTicker(5 * time.Millisecond)
	defer every.Stop()
	for range 50 {
		before := servertest.Register(t, s)
		heard := holder.Status().Extensions
		server.Pause()
		copied := time.Now()
		err := copyFolder(folderOf(server), backup)
		server.Resume()
		if err != nil {
			t.Fatal(err)
		}
		for time.Since(copied) < 500*time.Millisecond {
			<-every.C
			if next := servertest.Register(t, s); next.Until > before.Until {
				// The holder is to have heard of it.
				for holder.Status().Extensions == heard && time.Since(copied) < lossKnown {
					<-every.C
				}
				proxy.Cut()
				server.Kill()
				if took := time.Since(copied); took >= lossKnown {
					t.Fatalf("the copy is %v old: older than the loss", took)
				}
				return before, next
			}
		}
	}
	t.Fatal("the holder never extends within half a second of a copy")
	return left, forgotten
}

// TestLossThatIsTooGreatForTheWindowIsRefused shows the error for an operator who changes nothing: the
// default loss with the default window.
func TestLossThatIsTooGreatForTheWindowIsRefused(t *testing.T) {
	server := testkit.NATS(t)
	for loss, window := range map[time.Duration]time.Duration{0: 0, time.Second: 3 * time.Second} {
		s := open(t, of(server.Addr(), func(c *Config) { c.Loss = loss }))
		if h, err := fence.Open(t.Context(), fence.Config{Store: s, Window: window}); err == nil || !strings.Contains(err.Error(), "can lose") {
			t.Errorf("a loss of %v with a window of %v: %+v, %v", loss, window, h, err)
		}
	}
}

// TestDefaultLossOutlastsTheIntervalAndTwoSyncs is about a server with nothing set:
// it syncs a write that just missed a sync with the next one.
func TestDefaultLossOutlastsTheIntervalAndTwoSyncs(t *testing.T) {
	if needed := lossNeeded(2 * time.Minute); DefaultLoss < needed {
		t.Errorf("the default loss is %v: must be at least %v", DefaultLoss, needed)
	}
}

// TestDocumentedLossOutlastsItsIntervalAndTwoSyncs takes the interval, the loss and
// the window from each document that names them.
func TestDocumentedLossOutlastsItsIntervalAndTwoSyncs(t *testing.T) {
	duration := func(text []byte) time.Duration {
		d, err := time.ParseDuration(string(text))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for _, document := range []string{"doc.go", "../../docs/engines.md"} {
		text, err := os.ReadFile(document)
		if err != nil {
			t.Fatal(err)
		}
		advice := regexp.MustCompile(`sync_interval: (\d+s)\b.*\bloss=(\d+s)\b.* a window above (\d+) s`).FindSubmatch(text)
		if advice == nil {
			t.Errorf("%s names no interval with its loss and window", document)
			continue
		}
		interval, loss, window := duration(advice[1]), duration(advice[2]), duration(append(advice[3], 's'))
		if needed := lossNeeded(interval); loss < needed || window < 3*loss {
			t.Errorf("%s: an interval of %v with a loss of %v and a window of %v: the loss must be at least %v, the window three times as much", document, interval, loss, window, needed)
		}
	}
}

// lossNeeded is the least loss for an interval: two syncs of a busy disk, and a
// monotonic clock of ours that is fast, come on top.
func lossNeeded(interval time.Duration) time.Duration {
	const slowSync = 10 * time.Second
	needed := interval + 2*slowSync
	return needed + needed/2000
}
