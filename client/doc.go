// Package client gets ids from daemons, and makes the network disappear.
//
//	c, err := client.New(client.Config{Servers: []string{"ids-1:7601", "ids-2:7601"}, Generator: "orders"})
//	id, err := c.Next(ctx)
//	err = c.Close(ctx)
//
// Most programs need no more than this. A [Client] is safe for simultaneous use by multiple
// goroutines, and one is enough for a program.
//
// # Rides
//
// One request is in flight at a time. The calls that come meanwhile ride together on the next one,
// so requests grow with the load and no timer makes a call wait. A call's id is minted by a request
// that was sent after the call began. So where the server gives increasing ids, an id is greater
// than every id of a call that returned before this one began.
//
// # Prefetch
//
// With [Config].Prefetch the client keeps a block of ids, and Next costs nanoseconds while it lasts.
// The next block is fetched when half of one is used. A block is thrown away at the age of MaxAge,
// so that the times in ids stay near to now. Ids are unique, but their order over several clients is
// only as good as that age.
//
// # Several servers
//
// The client uses one server until it fails, and then the next. A server that failed is left alone for a
// while, from 10 ms to 1 s. Ids whose answer did not arrive are lost: they are never given out. An
// answer that repeats ids, or with [Config].Strict goes back, is refused, as is one that is no answer.
//
// # A program with a lease of its own
//
// [Source] is what a program needs of this package. A [Client] is one, and so is a holder of package
// fence, which has a lease on a store and needs no daemon.
package client
