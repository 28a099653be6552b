package counter

import (
	"context"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// Tickets gives numbers one by one from a store, in the order of time: a ticket is greater than
// every ticket that was returned, on any host, before it was asked for. Its methods are safe for
// concurrent use.
//
// Each costs a swap of the store. The callers that wait in one process share one, so throughput
// grows with load. There are gaps only after failures: of the store, or of a caller that went
// away.
type Tickets struct{ queue *queue }

// OpenTickets opens a counter of tickets. The store must be durable.
//
// [ErrLossy] is returned for a store that can lose what it acknowledged, otherwise a
// *[ConfigError] or *[MismatchError], or the store's own error.
func OpenTickets(ctx context.Context, c Config) (*Tickets, error) {
	r, err := open(ctx, c, stored.Ticket)
	if err != nil {
		return nil, err
	}
	return NewTickets(&lane{r, ""}, r.Config), nil
}

// NewTickets returns tickets of a source that reserves in the order of time. Of the config it
// uses Name, MaxWait and Clock.
func NewTickets(source Source, c Config) *Tickets {
	return &Tickets{newQueue(source, c, nil)}
}

// Next returns the next ticket. Its errors are the ones of [Segments.Next].
func (t *Tickets) Next(ctx context.Context) (snowfence.ID, error) {
	var one [1]snowfence.ID
	err := t.queue.fill(ctx, one[:])
	return one[0], err
}

// Fill fills ids, in increasing order. When it fails, no id of the batch may be used.
func (t *Tickets) Fill(ctx context.Context, ids []snowfence.ID) error { return t.queue.fill(ctx, ids) }

// Close ends the counter.
func (t *Tickets) Close(ctx context.Context) error {
	t.queue.close(ctx, time.Second)
	return nil
}
