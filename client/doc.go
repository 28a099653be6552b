// Package client gets ids from daemons, and makes the network disappear.
//
//	c, err := client.New(client.Config{Servers: []string{"ids-1:7601", "ids-2:7601"}, Generator: "orders"})
//	id, err := c.Next(ctx)
//	err = c.Close(ctx)
//
// One [Client] is enough for a program. It speaks RESP to port 7601, and serves generators whose ids are numbers of up
// to 63 bits. Other ids come by any client of Redis. [Source] is the interface that it shares with a holder of package
// fence, which needs no daemon.
//
// # Rides
//
// One request is in flight at a time. The calls that come meanwhile ride together on the next one, so requests grow
// with the load and no timer makes a call wait. A call's id is minted by a request that was sent after the call began.
// So if the server gives increasing ids, an id is greater than every id of a call that ended before this one began.
// The id of a call that leaves is lost.
//
// # Prefetch
//
// With [Config].Prefetch the client fetches ids ahead, and Next costs nanoseconds while they last. More
// are fetched when half of them are used, as long as calls come. Ids are thrown away at MaxAge, so that
// the times in them stay near to now. Their order over several clients is as good as that age.
//
// # Several servers
//
// The client uses one server until it fails, and then the next. A server that failed is left alone: for 10 ms, doubled
// with each failure in a row, up to 1 s, and to 100 ms if it answers. When the server refuses for good, the call fails
// at once, and the next call begins with another server.
//
// No id is given out twice, and ids whose answer did not arrive are lost. An answer is refused unless it has as many
// ids as were asked for, in increasing order, and none that the server gave lately. With [Config].Strict it must be
// above all ids that this client has given out, whichever server they were from.
package client
