package redisstore_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/redisstore"
)

// TestCountersRefuseAPromotedStaleReplica fails over to a replica that lacks acknowledged
// reservations, where the store was declared durable falsely. The processes that made them
// refuse, and show both numbers.
func TestCountersRefuseAPromotedStaleReplica(t *testing.T) {
	t.Parallel()
	primary := testkit.Redis(t)
	replication := testkit.NewProxy(t, primary.Addr())
	replica := testkit.RedisReplica(t, replication.Addr())
	s := open(t, redisstore.Config{Endpoints: []string{primary.Addr(), replica.Addr()}, Durable: true})
	config := func(name string) counter.Config {
		return counter.Config{Store: s, Name: name, MaxWait: 30 * time.Second, RequestTimeout: time.Second}
	}
	segments, err := counter.OpenSegments(t.Context(), counter.SegmentsConfig{Config: config("segments"), Step: 10, MostStep: 10})
	if err != nil {
		t.Fatal(err)
	}
	tickets, err := counter.OpenTickets(t.Context(), config("tickets"))
	if err != nil {
		t.Fatal(err)
	}
	daily, err := counter.OpenDaily(t.Context(), counter.DailyConfig{Config: config("daily")})
	if err != nil {
		t.Fatal(err)
	}
	draws := map[string]func(ctx context.Context, n int) error{
		"segments": func(ctx context.Context, n int) error { return segments.Fill(ctx, make([]snowfence.ID, n)) },
		"tickets":  func(ctx context.Context, n int) error { return tickets.Fill(ctx, make([]snowfence.ID, n)) },
		"daily":    func(ctx context.Context, n int) error { _, err := daily.Fill(ctx, n); return err },
	}
	draw := func(n int) {
		t.Helper()
		for name, draw := range draws {
			if err := draw(t.Context(), n); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	draw(25)
	replicated(t, primary, replica)
	replication.Drop()
	draw(200)
	primary.Kill()
	command(t, replica, "REPLICAOF NO ONE")
	for name, draw := range draws {
		err := draw(t.Context(), 100)
		var back *counter.BackwardsError
		if !errors.As(err, &back) || back.Mark < 225 || back.Next > back.Mark {
			t.Errorf("%s: %v", name, err)
			continue
		}
		t.Log(back)
	}
	for _, c := range []interface {
		Close(ctx context.Context) error
	}{segments, tickets, daily} {
		if err := c.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
