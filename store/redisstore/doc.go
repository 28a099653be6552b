// Package redisstore keeps registers in Redis. It promises what package store
// asks for, on one primary with or without replicas; it is lossy, because
// replicas are asynchronous, unless its operator asserts otherwise.
//
//	s, err := redisstore.OpenURL(ctx, "redis://snowfence@redis.internal:6379/0?password-file=/run/secrets/redis&loss=15s")
//
// # What must be true of the server
//
// It is Redis or Valkey, 6.2 or later.
//
// The server must drop no register, and lose no acknowledged swap that is older than
// the declared loss. Every new connection reads the server's settings before anything
// else. A connection lasts a minute, so a server is judged again after a failover and
// after a change of its settings. docs/engines.md lists them. Refused with a
// [*ServerError] are
//
//   - a replica, since its primary decides, and a server that still loads its disk
//   - cluster mode: a swap writes a register and the index together, which a
//     cluster can only do within one slot
//   - maxmemory with a maxmemory-policy other than noeviction. With noeviction a full
//     server refuses swaps, and loses nothing. noeviction=true asserts what neither
//     INFO nor CONFIG GET shows.
//   - no append-only file, or a hidden one, and one that is not synced within the loss.
//     replicated=true excuses that: it asserts that a replica always takes a lost
//     primary's place, and that the primary never comes back with its own disk.
//   - what does not keep to the loss; see below
//
// # Loss
//
// A failover to a replica loses the writes that had not reached it. Loss is the
// greatest age of such a write: 15 s unless said otherwise. Two settings bound it: a
// primary refuses writes when fewer replicas than min-replicas-to-write have answered
// within min-replicas-max-lag. It counts the lag in whole seconds and looks once a
// second, so it refuses up to 2 s late: with the default lag of 10 s, 9.2 to 11.8 s
// after the replica fell silent, and 12.4 s on a machine that was far too busy
// (measured, Redis 7.0). Therefore these are refused:
//
//   - a loss of less than min-replicas-max-lag and 3 s, where min-replicas-to-write
//     is at least 1: 13 s for the default lag. More is better, for a server that is
//     later than those.
//   - the default loss, where a failover can come and nothing that is seen bounds
//     the lag: the default would be a guess. A failover can come with a connected
//     replica, Sentinel, several endpoints or replicated=true. Nothing bounds the lag
//     where either setting is 0 or hidden, or fewer replicas have to answer than there
//     are: another one may lag without end, and be promoted.
//
// An explicit loss asserts that no replica is promoted that lags further. So say
// loss= before you add a replica to a lone server; [Store.Warnings] says so, too. What
// min-replicas-to-write costs, docs/engines.md says.
//
// The last rule has a grace of ten minutes while a store is open. Each replica that
// joins breaks the rule, also where a replacement adds the new one first. To refuse at
// once would stop ids for that. To go on for good would rest on a lag that nothing
// bounds and no operator asserts. In the grace ids can repeat only if a failover comes, to
// a replica that lags by more than 15 s. The store logs an error when the grace
// begins, with its end; see [Store.LogTo]. After it ids end with their windows.
// min-replicas-to-write takes effect without a restart, within the minute. Open knows
// no grace, and what contradicts an assertion has none.
//
// A replica that alone is cut off, a link that carries its answers and no data, a
// paused primary, and a primary's clock that is set back are the operator's:
// docs/engines.md says what to set. A primary that was replaced and still acknowledges
// to clients that reach it alone is outside this: the settings above bound it, nothing
// in this package does. Package fence uses a bound only when it is older than the
// loss, and asks for a window of more than three losses: 46 s for the default. A
// pinned worker id has one of 5 s by default and is refused.
//
// durable=true asserts that acknowledged swaps are never lost: appendonly yes,
// appendfsync always, no-appendfsync-on-rewrite no, a disk that keeps what it has
// synced, and never a failover to a replica. Other settings are refused, and so is
// Sentinel. Redis answers a write, and a read of it, only after the sync, so what is
// read is as durable as what was acknowledged.
//
// # What it creates
//
// A string for each register, "<prefix>register:<key>", of the form
// "1 <version> <value>", and one sorted set, "<prefix>index:", of all keys with
// score 0, because List must not scan other people's keys. The script swap.lua
// writes both in one step. Open creates nothing. Nothing expires or is deleted: a
// register that the index knows and that is gone is [store.ErrDamaged]. Two prefixes
// and two databases do not see each other.
//
// A version is 128 random bits, written with every swap, so it does not repeat after a
// failover or a restored backup. A register with a value of 500 bytes costs 870 bytes
// of memory (Redis 7.0, measured with a million), 126 of them in the index.
//
// # Rights
//
// All that the user needs, for the default prefix:
//
//	ACL SETUSER snowfence on >password resetchannels ~snowfence:* -@all
//	    +get +mget +set +zadd +zscore +zrange +evalsha +eval +time
//	    +select +info +config|get
//
// +select is needed for databases other than 0. Without +config|get, as on
// managed servers, the settings that INFO does not show are the operator's to
// ensure. HELLO and AUTH need no right. SCRIPT LOAD is not used.
//
// # Endpoints
//
// Several endpoints are servers of which one is the primary: they are tried in turn
// until the primary answers. Two primaries in one list are two stores, and must never
// be. With sentinel=<name> the endpoints are Sentinels, which are asked for the primary
// of that name. Swaps are never repeated: a request goes to another endpoint only if it
// was not sent to the first. With Sentinels the client library writes a line to
// standard error when the primary changes; its logger is the whole program's.
//
// # Backup and restore
//
// Copy the append-only folder and the dump of a stopped server, or take BGSAVE's
// dump. A restored backup takes back acknowledged swaps, whatever was asserted:
// see docs/engines.md. Guards from before a restore match nothing after it.
//
// # The URL
//
//	redis://[user[:password]@]host[:port][,host[:port]…][/database][?key=value&…]
//	rediss://…   the same over TLS
//
//	prefix=snowfence:       begins every key of ours
//	loss=15s                how old a write may be that a failover loses
//	durable=true            asserts that none is lost; excludes loss
//	noeviction=true         asserts what could not be read
//	replicated=true         asserts that no primary comes back from its own disk
//	sentinel=name           the endpoints are Sentinels (port 26379)
//	sentinel-user=name, sentinel-password-file=path
//	                        what the Sentinels ask for, if they do
//
// The keys user, password-file, tls, ca, cert and key are those of every engine; see
// docs/engines.md. The password file is read at every new connection, so it may
// change. The default port is 6379, the default database 0.
package redisstore
