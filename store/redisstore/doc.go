// Package redisstore keeps registers in Redis or Valkey, on one primary with or
// without replicas. It keeps the contract of package store. The store is lossy,
// because replicas are asynchronous. Its operator can assert otherwise.
//
//	s, err := redisstore.OpenURL(ctx, "redis://snowfence@redis.internal:6379/0?password-file=/run/secrets/redis&loss=15s")
//
// docs/engines.md is for operators: the settings of a server and their effects, the
// rights of the user, sizes, and backups.
//
// # The server
//
// It is of version 6.2 or later. Each new connection reads its settings before anything
// else, and lasts a minute. These are refused with a [*ServerError]:
//
//   - a replica, and a server that is still loading its data
//   - cluster mode
//   - maxmemory with a policy other than noeviction. Where the policy can't be read,
//     noeviction=true         asserts it.
//   - no append-only file, or one that can't be seen; appendfsync no, and everysec with
//     a loss below 2 s; no-appendfsync-on-rewrite yes. replicated=true excuses these: a
//     replica always takes a lost primary's place.
//   - a loss below min-replicas-max-lag plus 3 s, where min-replicas-to-write is set
//   - the default loss, where a replica can take over and min-replicas-to-write or
//     min-replicas-max-lag is 0 or hidden, or the first is below the number of replicas
//
// # Loss
//
// A failover to a replica loses the writes that had not reached it. Loss is the
// greatest age of such a write, 15 s by default. min-replicas-to-write bounds it: a
// primary whose replicas fell silent refuses writes some 12 s later, with the default
// min-replicas-max-lag of 10 s. An explicit loss= asserts that no replica is promoted that lags further.
// Package fence uses a bound only when it is older than the loss, so ids stay unique
// through such a failover. It wants a window above three losses, and refuses the 5 s
// of a pinned worker id. A primary that was replaced and still acknowledges writes is
// outside the promise.
//
// A further replica may join while a store is open. If nothing bounds the loss any more, the next
// connection is refused. So say loss=, or raise min-replicas-to-write, before you add a replica.
//
// durable=true asserts that acknowledged swaps are never lost: appendfsync always, a disk that keeps
// synced data, and never a failover to a replica. Other settings are refused, and so is Sentinel.
//
// # Storage
//
// A register is the string "<prefix>register:<key>", and the sorted set
// "<prefix>index:" holds all keys. A version is 128 random bits that each swap writes.
// So it does not repeat, not even after a restored backup. Nothing expires or is
// deleted: a register that the index knows and that is gone is [store.ErrDamaged].
// Open writes nothing.
//
// # Endpoints
//
// Several endpoints are the primary and its replicas: they are tried in turn
// until the primary answers. Two primaries in one list are two stores, and ids can repeat.
// With sentinel=name the endpoints are Sentinels, which are asked for the primary.
// A swap goes to another endpoint only if it was not sent to the first.
//
// # The URL
//
//	redis://[user[:password]@]host[:port][,host[:port]…][/database][?key=value&…]
//	rediss://…   the same over TLS
//
//	prefix=snowfence:       begins every key of ours
//	loss=15s                how old a write may be that a failover loses
//	durable=true            asserts that none is lost; excludes loss
//	noeviction=true         asserts the setting that could not be read
//	replicated=true         asserts that no primary comes back from its own disk
//	sentinel=name           the endpoints are Sentinels (port 26379)
//	sentinel-user=name, sentinel-password-file=path
//	                        what the Sentinels ask for, if they do
//
// The keys user, password-file, tls, ca, cert and key mean the same in every engine. The
// password file is read at every new connection. The default port is 6379, the default
// database 0.
package redisstore
