package daemon

import (
	"context"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

func TestEndIsSaidWhenItComesNearOnceADayAndWhenItIsThere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const day = 24 * time.Hour
		lasting := func(d time.Duration) Generator {
			l := snowfence.DefaultLayout()
			l.Epoch = time.Now().Add(d - time.Duration(l.HorizonTick())*time.Millisecond)
			return Generator{Layout: l, Namespace: "lasts-" + d.String(), Window: 12 * time.Hour}
		}
		s := settings(t.TempDir(), map[string]Generator{
			"far": lasting(400 * day), "near": lasting(300 * day), "next": lasting(366*day + 12*time.Hour), "short": lasting(36 * time.Hour),
			"tickets": {Kind: "ticket", Settings: map[string]string{"limit": "10", "max-wait": "1m"}},
		})
		s.Store, s.HTTP = "mem://", ""
		log := new(syncBuffer)
		ctx, stop := context.WithCancel(t.Context())
		d, err := newDaemon(ctx, Config{Settings: s, Logger: slog.New(slog.NewTextHandler(log, nil))}, nil)
		if err != nil {
			t.Fatal(err)
		}
		d.open(ctx, func(err error) { t.Error(err) })
		d.opening.Wait()
		watched := make(chan struct{})
		go func() {
			defer close(watched)
			d.watch(ctx)
		}()
		began := time.Now()
		at := func(after time.Duration) {
			expired, _ := d.clock.After(after - time.Since(began))
			<-expired
			synctest.Wait()
		}
		count := func(parts ...string) (n int) {
		next:
			for line := range strings.Lines(log.String()) {
				for _, part := range parts {
					if !strings.Contains(line, part) {
						continue next
					}
				}
				n++
			}
			return n
		}
		want := func(when string, near, next, short, tickets, ended int) {
			t.Helper()
			for generator, n := range map[string]int{"far": 0, "near": near, "next": next, "short": short, "tickets": tickets} {
				if got := count("level=WARN", "ends soon", "see=docs/running-out.md", "generator="+generator+" "); got != n {
					t.Errorf("%s: logged %d times of %s that it ends soon, want %d", when, got, generator, n)
				}
			}
			if got := count("level=ERROR", "has ended", "see=docs/running-out.md"); got != ended {
				t.Errorf("%s: logged %d times that one has ended, want %d", when, got, ended)
			}
		}
		mint := func(n int) {
			t.Helper()
			if err := d.minters["tickets"].Mint(ctx, n, new(kind.Batch)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		want("at the start", 1, 0, 1, 0, 0)
		mint(9)
		at(2 * time.Minute)
		want("when few numbers are left", 1, 0, 1, 1, 0)
		at(day - time.Minute)
		want("before a day is over", 1, 0, 1, 1, 0)
		at(day + 5*time.Second)
		want("a day later", 2, 0, 2, 1, 0)
		at(36*time.Hour + 2*time.Minute)
		want("when a layout has ended and another comes near", 2, 1, 2, 2, 1)
		mint(1)
		at(36*time.Hour + 4*time.Minute)
		want("when no number is left", 2, 1, 2, 2, 2)
		at(3*day - time.Minute)
		want("before three days are over", 3, 2, 2, 2, 4)
		if count("generator=near", `layout=ms41-worker10-seq12@`, `left="299 days"`, "ends=2000-10-27") == 0 || count("generator=tickets", "counter=tickets", "limit=10", `left="1 number"`) == 0 {
			t.Errorf("a line lacks the generator, the time of its end, or the rest:\n%s", log)
		}
		if n := count("time bits run out"); n != 1 || count("time bits run out", "generator=short") != 1 {
			t.Errorf("the fences log %d times that a layout ends, want once, at its horizon:\n%s", n, log)
		}
		stop()
		<-watched
		if err := d.end(context.Background()); err != nil {
			t.Error(err)
		}
	})
}
