package rediscount

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"math"
	"sort"
	"strconv"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/stored"
)

// Client sends one command to Redis.
type Client interface {
	// Do returns the reply: an integer as an int64, a list as a []any. All arguments are
	// strings. It must be safe for concurrent use.
	Do(ctx context.Context, args ...any) (any, error)
}

// Func is a function that is a [Client].
type Func func(ctx context.Context, args ...any) (any, error)

// Do calls the function.
func (f Func) Do(ctx context.Context, args ...any) (any, error) { return f(ctx, args...) }

// Config names the keys that are counted on. Client, Prefix and Length must be given.
type Config struct {
	// Client reaches the primary.
	Client Client

	// Prefix begins the keys: 1 to 512 bytes.
	Prefix string

	// Length is how many digits the sequence has: 1 to 10.
	Length int

	// Zone is the time zone of the dates. Nil means UTC.
	Zone *time.Location

	// Keep is how long a date may still be counted on after its end. Its key may expire an
	// hour later. Zero means 10 days.
	Keep time.Duration

	// Timeout bounds each reservation. Zero means 5 s.
	Timeout time.Duration

	// Clock is the source of the date. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock
}

func (c Config) complete() (Config, error) {
	c.Keep, c.Timeout = cmp.Or(c.Keep, 10*24*time.Hour), cmp.Or(c.Timeout, 5*time.Second)
	c.Zone, c.Clock = cmp.Or(c.Zone, time.UTC), cmp.Or(c.Clock, snowfence.SystemClock())
	return c, cmp.Or(
		stored.RefuseIf(c.Client == nil, "client", "nil", "must be given"),
		stored.RefuseIf(c.Prefix == "" || len(c.Prefix) > 512, "prefix", c.Prefix, "must be 1 to 512 bytes"),
		stored.RefuseIf(c.Length < 1 || c.Length > 10, "length", c.Length, "must be from 1 to 10"),
		stored.RefuseIf(c.Keep < 0, "keep", c.Keep, "must not be negative"),
		stored.RefuseIf(c.Timeout < 0, "timeout", c.Timeout, "must not be negative"),
	)
}

// dateForm is how dates are written, in keys and in numbers.
const dateForm = "20060102"

const (
	// margin is how long a key lives after its date is refused. Clocks of several servers differ.
	margin = time.Hour

	// retired is how many dates get their expiry at the first reservation of a new one.
	retired = 31
)

// script reserves numbers: KEYS[1] is the key; ARGV is how many, the greatest sequence, and until
// when the date is accepted, in seconds. It returns how many it has reserved, the last of them,
// and the time. It reserves 0 when the sequence is used up, and -1 when the date is over.
//
//go:embed reserve.lua
var script string

// Source is a counter for each date. It is a [counter.Source], safe for concurrent use.
type Source struct {
	config Config
	base   int64 // 10^length

	mu    sync.Mutex
	last  int64  // the greatest number that was reserved, of the present date
	swept string // the date on which earlier keys got their expiry
}

var _ counter.Source = (*Source)(nil)

// New returns a source. It sends nothing.
//
// A *[counter.ConfigError] is returned for a setting that can't be used.
func New(c Config) (*Source, error) {
	c, err := c.complete()
	if err != nil {
		return nil, err
	}
	return &Source{config: c, base: int64(math.Pow10(c.Length))}, nil
}

// Reserve implements [counter.Source]. The numbers of a range are of one date.
//
// A *[counter.FullError] is returned when the sequence of today has outgrown its length, a
// *[counter.DateError] for a date whose key may have expired, a *[counter.BackwardsError] when
// the key went back, and otherwise the client's own error.
func (s *Source) Reserve(ctx context.Context, need func() int64) (counter.Range, error) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	n := need()
	now := s.config.Clock.Wall().In(s.config.Zone)
	name := now.Format(dateForm)
	date, err := strconv.ParseInt(name, 10, 64)
	if err != nil || date > 99991231 {
		return counter.Range{}, stored.Refuse("the clock's date", name, "must lie in the years 0 to 9999")
	}
	key := s.config.Prefix + ":" + name
	s.mu.Lock()
	last := s.last
	s.mu.Unlock()

	count, sequence, redisNow, err := s.call(ctx, key, n, endOf(now).Add(s.config.Keep))
	number := date*s.base + sequence
	first := number - count + 1
	switch {
	case err != nil:
		return counter.Range{}, fmt.Errorf("redis key %s: %w", key, err)
	case count < 0:
		return counter.Range{}, &counter.DateError{Counter: key, Date: name, Oldest: redisNow.Add(-s.config.Keep).In(s.config.Zone).Format(dateForm)}
	case count == 0:
		return counter.Range{}, &counter.FullError{Counter: key, Date: name, Limit: s.base - 1}
	case last/s.base == date && first <= last:
		return counter.Range{}, &counter.BackwardsError{Counter: key, Next: first, Mark: last, By: "this process", Remedy: s.Remedy(last)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if number > s.last || s.last/s.base != date {
		s.last = number
	}
	if s.swept != name {
		s.swept = name
		go s.retire(context.WithoutCancel(ctx), now)
	}
	return counter.Range{First: first, Increment: 1, Count: count}, nil
}

// endOf returns the first instant after which the zone of t never shows the date of t again.
// It may show midnight twice, or not at all, and then it is no use to ask for that time.
func endOf(t time.Time) time.Time {
	year, month, day := t.Date()
	const step = 30 * time.Minute // no change of a zone lets a date come back for less
	later := func(t time.Time) bool {
		y, m, d := t.Date()
		return cmp.Or(cmp.Compare(y, year), cmp.Compare(m, month), cmp.Compare(d, day)) > 0
	}
	begin := time.Date(year, month, day+2, 0, 0, 0, 0, t.Location())
	for later(begin) {
		begin = begin.Add(-step)
	}
	seconds := sort.Search(int(step/time.Second), func(n int) bool { return later(begin.Add(time.Duration(n) * time.Second)) })
	return begin.Add(time.Duration(seconds) * time.Second)
}

// retire lets the keys of early dates expire: of dates that are refused by this process's clock, as
// they are by Redis'. So a step of Redis' clock alone deletes no key of a date that may be counted
// on. A failure is mended on the next date.
func (s *Source) retire(ctx context.Context, now time.Time) {
	ctx, cancel := context.WithTimeout(ctx, s.config.Timeout)
	defer cancel()
	year, month, day := now.Add(-s.config.Keep).Date()
	for ago := range retired {
		date := time.Date(year, month, day-1-ago, 12, 0, 0, 0, s.config.Zone)
		at := strconv.FormatInt(endOf(date).Add(s.config.Keep+margin).Unix(), 10)
		if _, err := s.config.Client.Do(ctx, "EXPIREAT", s.config.Prefix+":"+date.Format(dateForm), at); err != nil {
			return
		}
	}
}

// Remedy describes how an operator sets the key of a date above a number that is in use, for a
// *[counter.BackwardsError].
func (s *Source) Remedy(mark int64) string {
	date, today := strconv.FormatInt(mark/s.base, 10), s.config.Clock.Wall().In(s.config.Zone).Format(dateForm)
	if date != today {
		return fmt.Sprintf("today is %s, and that number is not of today: is the clock right?", today)
	}
	return fmt.Sprintf("set key %s:%s to %d or more", s.config.Prefix, date, mark%s.base)
}

// call runs the script.
func (s *Source) call(ctx context.Context, key string, n int64, until time.Time) (count, sequence int64, now time.Time, err error) {
	text := func(n int64) string { return strconv.FormatInt(n, 10) }
	reply, err := s.config.Client.Do(ctx, "EVAL", script, "1", key,
		text(min(max(n, 1), s.base-1)), text(s.base-1), text(until.Unix()))
	if err != nil {
		return 0, 0, now, err
	}
	var numbers []int64
	list, _ := reply.([]any)
	for _, item := range list {
		if number, ok := item.(int64); ok {
			numbers = append(numbers, number)
		}
	}
	if len(numbers) < 3 || len(numbers) != len(list) {
		return 0, 0, now, fmt.Errorf("the client returned %T %v: must be a []any of three int64", reply, reply)
	}
	count, sequence = numbers[0], numbers[1]
	if count > 0 && (sequence < count || sequence >= s.base) {
		return 0, 0, now, fmt.Errorf("the sequence is %d: must be from %d to %d", sequence, count, s.base-1)
	}
	return count, sequence, time.Unix(numbers[2], 0), nil
}
