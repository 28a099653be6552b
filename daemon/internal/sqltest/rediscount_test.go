//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/rediscount"
	"snowfence.example/snowfence/internal/testkit"
)

// wall is the system's clock with another wall time.
type wall struct {
	snowfence.Clock
	now time.Time
}

func (w *wall) Wall() time.Time { return w.now }

// dated is a prefix of keys in a Redis, and a clock that can be set.
type dated struct {
	*redis.Client
	prefix  string
	clock   *wall
	expired chan struct{} // has a place for each EXPIREAT that a source sent
}

// sharedRedis is one for tests with a prefix of their own.
var sharedRedis = sync.OnceValue(func() *testkit.Server { return testkit.Redis(&lifetime) })

func onRedis(t *testing.T) dated { t.Helper(); return onRedisOf(t, sharedRedis()) }

func onRedisOf(t *testing.T, s *testkit.Server) dated {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: s.Addr(), PoolSize: 2 * writers})
	t.Cleanup(func() { _ = client.Close() })
	return dated{client, fmt.Sprint("orders", databases.Add(1)), &wall{snowfence.SystemClock(), time.Now()}, make(chan struct{}, 1000)}
}

// system is the key of the clock's date.
func (d dated) system(s *testkit.Server) system {
	return system{
		sqlServer: sqlServer{server: s}, kind: "rediscount",
		count:  d.sequence,
		lower:  func(t *testing.T) { d.set(t, 0) },
		raise:  func(t *testing.T, mark int64) { d.set(t, mark%1_000_000) },
		remedy: func(mark int64) string { return fmt.Sprintf("set key %s to %d or more", d.key(), mark%1_000_000) },
		open: func(t *testing.T, y system) (counter.Source, error) {
			process := onRedisOf(t, y.server)
			process.prefix, process.clock = d.prefix, d.clock
			return process.open(t, nil), nil
		},
		original: func(*sql.DB, int) draw {
			return func(ctx context.Context) (counter.Range, error) {
				sequence, err := d.Incr(ctx, d.key()).Result()
				return counter.Range{First: d.number(sequence), Increment: 1, Count: 1}, err
			}
		},
	}
}

// open returns a source whose sequences have 6 digits.
func (d dated) open(t *testing.T, change func(*rediscount.Config)) *rediscount.Source {
	t.Helper()
	do := func(ctx context.Context, args ...any) (any, error) {
		reply, err := d.Do(ctx, args...).Result()
		if args[0] == "EXPIREAT" {
			select {
			case d.expired <- struct{}{}:
			default: // the test does not wait for this one
			}
		}
		return reply, err
	}
	c := rediscount.Config{Client: rediscount.Func(do), Prefix: d.prefix, Length: 6, Clock: d.clock}
	if change != nil {
		change(&c)
	}
	source, err := rediscount.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

func (d dated) key() string { return d.prefix + ":" + d.clock.now.UTC().Format("20060102") }

// number is the number of a sequence on the clock's date.
func (d dated) number(sequence int64) int64 {
	year, month, day := d.clock.now.UTC().Date()
	return int64((year*100+int(month))*100+day)*1_000_000 + sequence
}

func (d dated) set(t *testing.T, sequence int64) {
	t.Helper()
	if err := d.Set(t.Context(), d.key(), sequence, 0).Err(); err != nil {
		t.Fatal(err)
	}
}

// sequence returns the key's number; 0 for a missing key.
func (d dated) sequence(t *testing.T) int64 {
	t.Helper()
	n, err := d.Get(t.Context(), d.key()).Int64()
	if err != nil && !errors.Is(err, redis.Nil) {
		t.Fatal(err)
	}
	return n
}

func TestDatedSequenceNeverOutgrowsItsLength(t *testing.T) {
	d := onRedis(t)
	source := d.open(t, nil)
	d.set(t, 999_990)
	got, err := source.Reserve(t.Context(), few(100))
	if want := (counter.Range{First: d.number(999_991), Increment: 1, Count: 9}); err != nil || got != want {
		t.Errorf("the last ones: %+v, %v; want %+v", got, err, want)
	}
	for range 2 {
		_, err := source.Reserve(t.Context(), few(1))
		if full := new(counter.FullError); !errors.As(err, &full) || full.Limit != 999_999 {
			t.Errorf("behind the last one: %v", err)
		}
	}
	if n := d.sequence(t); n != 999_999 {
		t.Errorf("the key was raised to %d", n)
	}
	d.set(t, 1_000_500) // the original overflows
	if _, err := source.Reserve(t.Context(), few(1)); !errors.Is(err, counter.ErrFull) {
		t.Errorf("after an overflow of the original: %v", err)
	}
	d.clock.now = d.clock.now.AddDate(0, 0, 1)
	if got, err := source.Reserve(t.Context(), few(3)); err != nil || got.First != d.number(1) || got.Count != 3 {
		t.Errorf("on the next day: %+v, %v", got, err)
	}
}

// TestDatedKeyExpiresOnlyWhenItsDateIsRefused draws on the days that follow a date. A step of Redis'
// clock deletes the keys that expire, so a key must not expire while its date can be counted on.
func TestDatedKeyExpiresOnlyWhenItsDateIsRefused(t *testing.T) {
	d := onRedis(t)
	today := d.clock.now.UTC().Truncate(24 * time.Hour)
	source := d.open(t, func(c *rediscount.Config) { c.Keep = 48 * time.Hour })
	for days := range 5 {
		for _, of := range []time.Duration{0, 24*time.Hour - time.Second} {
			d.clock.now = today.AddDate(0, 0, days).Add(of)
			if _, err := source.Reserve(t.Context(), few(1)); err != nil {
				t.Fatal(err)
			}
		}
		for range 31 { // after the first reservation of the day
			<-d.expired
		}
		for ago := range days + 1 {
			date := today.AddDate(0, 0, days-ago)
			want := time.Duration(-1) // never
			if ago > 2 {
				want = time.Duration(date.AddDate(0, 0, 3).Add(time.Hour).Unix()) * time.Second
			}
			if at, err := d.ExpireTime(t.Context(), d.prefix+":"+date.Format("20060102")).Result(); err != nil || at != want {
				t.Errorf("on day %d the key of %d days ago expires at %s (%v), want %s", days, ago, at, err, want)
			}
		}
	}
}

func TestDateWhoseKeyMayHaveExpiredIsRefused(t *testing.T) {
	d := onRedis(t)
	today := d.clock.now.UTC().Truncate(24 * time.Hour)
	source := d.open(t, func(c *rediscount.Config) { c.Keep = 48 * time.Hour })
	// The clock is set back. Two days ago is accepted still.
	for days, accepted := range []bool{0: true, 1: true, 2: true, 3: false, 400: false} {
		if days > 3 && days < 400 {
			continue
		}
		d.clock.now = today.AddDate(0, 0, -days)
		_, err := source.Reserve(t.Context(), few(1))
		if accepted {
			if err != nil {
				t.Errorf("%d days ago: %v", days, err)
			}
			continue
		}
		oldest := today.AddDate(0, 0, -2).Format("20060102")
		if date := new(counter.DateError); !errors.As(err, &date) || date.Oldest != oldest || date.Date != d.clock.now.Format("20060102") {
			t.Errorf("%d days ago: %v, want the oldest to be %s", days, err, oldest)
		}
		if n := d.sequence(t); n != 0 {
			t.Errorf("%d days ago: its key was begun", days)
		}
	}
	tickets := counter.NewTickets(source, counter.Config{Name: "orders"})
	defer tickets.Close(t.Context()) //nolint:errcheck // nothing is left behind
	_, err := tickets.Next(t.Context())
	if date := new(counter.DateError); !errors.As(err, &date) || !errors.As(tickets.Status().LastError, &date) {
		t.Errorf("the call returns %v, the status %v", err, tickets.Status().LastError)
	}
}

func TestRemedyForANumberOfTomorrowDoubtsTheClock(t *testing.T) {
	d := onRedis(t)
	if said := d.open(t, nil).Remedy(d.number(1_000_050)); !strings.Contains(said, "is the clock right?") {
		t.Errorf("the remedy is %q", said)
	}
}

func TestDatedCounterThatCannotBeUsedIsRefused(t *testing.T) {
	client := rediscount.Func(func(context.Context, ...any) (any, error) { return "OK", nil })
	for _, c := range []rediscount.Config{
		{Prefix: "orders", Length: 6},
		{Client: client, Length: 6},
		{Client: client, Prefix: "orders"},
		{Client: client, Prefix: "orders", Length: 11},
		{Client: client, Prefix: "orders", Length: 6, Keep: -1},
		{Client: client, Prefix: "orders", Length: 6, Timeout: -1},
	} {
		config := new(counter.ConfigError)
		if _, err := rediscount.New(c); !errors.As(err, &config) {
			t.Errorf("%+v: %v", c, err)
		}
	}
	source, err := rediscount.New(rediscount.Config{Client: client, Prefix: "orders", Length: 6})
	if err != nil {
		t.Fatal(err)
	}
	if r, err := source.Reserve(t.Context(), few(1)); err == nil {
		t.Errorf("from a client that answers anything: %+v", r)
	}
	d := onRedis(t)
	d.set(t, -5)
	if r, err := d.open(t, nil).Reserve(t.Context(), few(1)); err == nil {
		t.Errorf("from a negative sequence: %+v", r)
	}
}
