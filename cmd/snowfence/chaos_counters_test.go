//go:build servers

package main

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

// counters are the numbers that the daemons of a chaos test give beside fenced ids, and their callers'
// lists, from all daemons together.
type counters struct {
	mu       sync.Mutex
	segments []int64
	tickets  []countertest.Drawn
	dailies  []string
}

// countersConfig adds the counted generators. Tickets need a durable store.
func countersConfig(lossy bool) string {
	config := "  users:\n    kind: segment\n    settings: {step: \"100\", max-wait: 3s}\n" +
		"  invoices:\n    kind: daily\n    settings: {prefix: I, digits: \"9\", max-wait: 3s}\n"
	if !lossy {
		config += "  tickets:\n    kind: ticket\n    settings: {max-wait: 3s}\n"
	}
	return config
}

// count takes numbers, or wide ids, from whatever daemon the subject is at the moment.
func (c *chaos) count(ctx context.Context, s *subject, generator string) {
	random := rand.New(rand.NewPCG(uint64(s.number), 3))
	client := testkit.Client()
	client.Timeout = 5 * time.Second
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		if d := s.current(); d != nil && d.URL != "" {
			begun := time.Since(c.began)
			// An error says that there are fewer, which is what faults do.
			texts, _ := testkit.MintTexts(ctx, client, d.URL, generator, 1+random.IntN(30))
			if w := c.wides[generator]; w != nil {
				if err := w.add(s.number, texts); err != nil {
					c.t.Errorf("%s: %v", generator, err)
				}
			} else {
				c.counters.add(c.t, generator, texts, begun, time.Since(c.began))
			}
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func (c *counters) add(t interface{ Errorf(string, ...any) }, generator string, texts []string, begun, end time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if generator == "invoices" {
		c.dailies = append(c.dailies, texts...)
		return
	}
	for _, text := range texts {
		id, err := snowfence.Parse(text)
		if err != nil {
			t.Errorf("%s gave %q: %v", generator, text, err)
			return
		}
		if generator == "users" {
			c.segments = append(c.segments, int64(id))
		} else {
			c.tickets = append(c.tickets, countertest.Drawn{Number: int64(id), Begun: begun, End: end})
		}
	}
}

// judge looks for numbers that were given twice, and for tickets out of order.
func (c *counters) judge(ch *chaos) {
	numbers := make([]int64, len(c.tickets))
	for i, d := range c.tickets {
		numbers[i] = d.Number
	}
	for what, err := range map[string]error{
		"segments": countertest.Distinct(c.segments), "tickets": countertest.Distinct(numbers),
		"order of tickets": countertest.Order(c.tickets), "daily numbers": countertest.Distinct(c.dailies),
	} {
		if err != nil {
			ch.t.Errorf("%s: %v", what, err)
		}
	}
	dates := map[string]bool{}
	for _, text := range c.dailies {
		dates[text[1:9]] = true
	}
	ch.t.Logf("%s: %d numbers of segments, %d tickets, %d daily numbers of %d dates: none twice", ch.engine.Name,
		len(c.segments), len(c.tickets), len(c.dailies), len(dates))
	if len(c.segments) == 0 || len(c.dailies) == 0 || len(c.tickets) == 0 && !ch.engine.Lossy {
		ch.t.Error("a counter gave nothing")
	}
}
