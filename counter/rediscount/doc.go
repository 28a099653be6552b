// Package rediscount gives numbers that begin with a date, such as 20261122000001, from one
// counter a day in Redis. Programs that INCR the same keys may count at the same time: each number is
// given once while Redis keeps the keys. A reservation is one round trip.
//
//	source, err := rediscount.New(rediscount.Config{Client: client, Prefix: "orders", Length: 6})
//	tickets := counter.NewTickets(source, counter.Config{Name: "orders"})
//	id, err := tickets.Next(ctx)
//
// The key is prefix:yyyyMMdd. The number is date × 10^length + sequence, and the sequence begins
// at 1. The date is that of the process's clock when the numbers are reserved. So with
// [counter.NewTickets] it is that of the call, and with [counter.NewSegments] it may be an
// earlier one. A wrong clock gives a wrong date.
//
// # Client
//
// The caller brings the client, as a function. It must not send a command to another Redis than
// the one that holds the keys. One that sends a command again makes a gap.
//
//	// go-redis
//	rediscount.Func(func(ctx context.Context, args ...any) (any, error) {
//		return client.Do(ctx, args...).Result()
//	})
//
//	// rueidis: all arguments are strings; the key is the fourth
//	rediscount.Func(func(ctx context.Context, args ...any) (any, error) {
//		words := make([]string, len(args))
//		for i, a := range args {
//			words[i] = a.(string)
//		}
//		return client.Do(ctx, client.B().Arbitrary(words[:3]...).Keys(words[3]).Args(words[4:]...).Build()).ToAny()
//	})
//
//	// redigo
//	rediscount.Func(func(ctx context.Context, args ...any) (any, error) {
//		connection, err := pool.GetContext(ctx)
//		if err != nil {
//			return nil, err
//		}
//		defer connection.Close()
//		return redis.DoContext(connection, ctx, args[0].(string), args[1:]...)
//	})
//
// # Dates that end
//
// A script counts by INCRBY, and within the same step does two things more. The usual
// form of such counters overflows silently into the next day. Here a sequence that would outgrow
// its length is refused with a *[counter.FullError], and the key stays as it is. And a date that
// ended longer than Config.Keep ago, by the clock of Redis, is refused with a *[counter.DateError].
//
// A key may expire an hour later. It gets its expiry when its date is refused by a process's clock
// too: a source that reserves on a date for the first time sends EXPIREAT for the 31 dates before
// those that it accepts. So no date begins again unless both clocks are wrong. A key stays if nobody
// counted in those 31 days. All programs must use the same zone and keep, and none may expire a key
// earlier.
//
// # What is not promised
//
// A Redis that loses writes repeats numbers, as it does for any INCR: by a failover to a replica
// that lags, a crash without appendfsync always, an eviction, or FLUSHALL. A process refuses to
// go below the greatest number that it has seen of the present date, with a
// *[counter.BackwardsError]. It knows nothing of other processes, nor of the time before its
// start. Where that is not enough, use [counter.OpenDaily] on a store that declares what it can
// lose. The clocks of Redis and of its replicas must agree to within an hour.
package rediscount
