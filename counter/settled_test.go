package counter_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

// TestCounterThatAFailoverTookAtItsFirstNumberIsBegunAgain takes the record of a new counter away before
// its first number is confirmed. A failover may do that. Another process may begin the record again.
func TestCounterThatAFailoverTookAtItsFirstNumberIsBegunAgain(t *testing.T) {
	for name, others := range map[string]int{"alone": 0, "with a process that begins it again": 1} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				memory := memstore.NewWith(memstore.Config{Loss: 5 * time.Second})
				var all []*counter.Daily
				for range 1 + others {
					d, _ := openDaily(t, memory.Client(), "UTC", func(c *counter.DailyConfig) { c.MaxWait = 30 * time.Second })
					all = append(all, d)
				}
				got := make(chan string)
				next := func(d *counter.Daily) {
					text, err := d.Next(t.Context())
					if err != nil {
						t.Error(err)
					}
					got <- text
				}
				go next(all[0])
				synctest.Wait()
				at(time.Now(), 1000)
				if lost, err := memory.Failover(2 * time.Second); err != nil || lost == 0 {
					t.Fatalf("the failover lost %d writes (%v)", lost, err)
				}
				for _, d := range all[1:] {
					go next(d)
				}
				texts := map[string]bool{}
				for range all {
					texts[<-got] = true
				}
				if len(texts) != len(all) {
					t.Errorf("%d processes got %v", len(all), texts)
				}
			})
		})
	}
}

// TestRecordThatIsGoneIsRefusedOnceItIsSettled empties the store below a process that gave a number, and
// one that has only seen the record.
func TestRecordThatIsGoneIsRefusedOnceItIsSettled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		memory := memstore.NewWith(memstore.Config{Loss: 5 * time.Second})
		empty := memory.Snapshot()
		first, _ := openDaily(t, memory.Client(), "UTC", nil)
		next(t, first)
		synctest.Wait()
		at(time.Now(), 10_000) // the step ahead is confirmed
		second, clock := openDaily(t, memory.Client(), "UTC", nil)
		memory.Restore(empty)
		if text, err := second.Next(t.Context()); !errors.Is(err, counter.ErrReplaced) {
			t.Errorf("a process that has seen the record: %s, %v", text, err)
		}
		third, _ := openDaily(t, memory.Client(), "UTC", nil)
		if _, err := third.Next(t.Context()); err != nil { // a process that starts knows nothing
			t.Fatal(err)
		}
		clock.set(clock.Wall().AddDate(0, 0, 1))
		if text, err := second.Next(t.Context()); !errors.Is(err, counter.ErrReplaced) {
			t.Errorf("when another one was begun: %s, %v", text, err)
		}
	})
}

// TestNumberThatACallerHasIsNotLostByAFailover lets the store lose as much as it may, at the moment at which a
// caller gets a number.
func TestNumberThatACallerHasIsNotLostByAFailover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const loss = 10 * time.Second
		memory := memstore.NewWith(memstore.Config{Loss: loss})
		given := map[string]bool{}
		for range 3 {
			d, _ := openDaily(t, memory.Client(), "UTC", func(c *counter.DailyConfig) { c.MaxWait = time.Minute })
			text, err := d.Next(t.Context())
			if err != nil || given[text] {
				t.Fatalf("%s was given before: %t (%v)", text, given[text], err)
			}
			given[text] = true
			if _, err := memory.Failover(loss); err != nil {
				t.Fatal(err)
			}
		}
	})
}
