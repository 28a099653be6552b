package main

import (
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// A daemon is paused for longer than its window while another claims its
// worker id. When it goes on, the last ids of its old term lie below
// the bound that the store had acknowledged, which is the other's floor; and a
// request that comes 5 ms after it went on, or later, is refused.
func TestDaemonPausedPastItsWindowIssuesNothingOfItsOldTerm(t *testing.T) {
	t.Parallel()
	arguments := []string{"--config", written(t, "generators:\n  default:\n    worker: 7\n    window: 1s\n"), "--data", t.TempDir()}
	tick := func(d *testkit.Daemon) snowfence.Tick {
		t.Helper()
		ids, err := testkit.Mint(t.Context(), testkit.Client(), d.URL, "default", 1, nil)
		if err != nil {
			t.Fatalf("%v\n%s", err, d.Log())
		}
		p, err := snowfence.DefaultLayout().Decompose(ids[0])
		if err != nil {
			t.Fatal(err)
		}
		return p.Tick
	}
	for round := range 3 {
		a := readyDaemon(t, arguments...)
		type answer struct {
			asked time.Time
			ids   []snowfence.ID
			err   error
		}
		answers, underWay := make(chan answer, 1<<20), make(chan struct{})
		go func() {
			defer close(answers)
			client := testkit.Client()
			for n, refusals := 0, 0; refusals < 3; n++ {
				if n == 100 {
					close(underWay)
				}
				asked := time.Now()
				ids, err := testkit.Mint(t.Context(), client, a.URL, "default", 10, nil)
				answers <- answer{asked, ids, err}
				if err != nil {
					refusals++
				}
			}
		}()
		<-underWay
		freeze(t, a)
		stopped := time.Now()
		b := readyDaemon(t, arguments...)
		floor := tick(b)
		a.Signal(syscall.SIGCONT)
		continued := time.Now()

		before, late, refused := 0, 0, 0
		for x := range answers {
			for _, id := range x.ids {
				p, err := snowfence.DefaultLayout().Decompose(id)
				if err != nil {
					t.Fatal(err)
				}
				if p.Tick >= floor {
					t.Errorf("round %d: tick %d of the old term is not below the new term's %d", round, p.Tick, floor)
				}
			}
			switch {
			case x.asked.Before(stopped) && x.err == nil:
				before++
			case x.err == nil && x.asked.After(continued.Add(5*time.Millisecond)):
				late++
			case x.err != nil:
				refused++
			}
		}
		if before == 0 || late > 0 || refused == 0 {
			t.Errorf("round %d: %d answers before the pause, %d with ids later than 5 ms after it, %d refusals", round, before, late, refused)
		}
		tick(b) // it goes on
		t.Logf("round %d: %d answers before the pause, %d refusals after it", round, before, refused)
		a.Kill()
		b.Kill()
	}
}
