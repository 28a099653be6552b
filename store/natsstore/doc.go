// Package natsstore keeps registers in a key-value bucket of NATS JetStream. It keeps the contract of
// package store, with one exception; see Versions. The store is lossy, because NATS acknowledges a
// write before it syncs it. Its operator can assert otherwise.
//
//	s, err := natsstore.OpenURL(ctx, "nats://snowfence@a,b,c/snowfence?password-file=/run/secrets/nats&replicas=3&durable=true")
//
// docs/engines.md is for operators: the settings of a server and their effects, the
// rights of the user, sizes, and backups.
//
// # The server
//
//   - NATS 2.9 or later, and 2.11 or later on all servers of a bucket on several.
//     An older server is refused.
//   - A bucket that drops and changes nothing: file storage, history 1, no max_age,
//     and so on. Another one is refused with a [*ServerError] that names the setting.
//     Open and every new connection ask, and a store asks again every half minute.
//   - max_payload of 5120 at least. Less is refused.
//   - sync_interval, which no client can read. It must match your declaration; see Loss.
//
// # Loss
//
// JetStream acknowledges a message when most servers of the bucket have it in the
// system's cache, and syncs it within sync_interval, which is 2 minutes by default. So
// a crash of a process loses nothing, and a crash of a machine loses the writes that
// are not synced yet. A bucket on three servers can lose them, too. The default loss of
// 2.5 minutes covers this, and ids stay unique as long as no older write is lost. But
// package fence refuses a window of three losses or less, and so its default window of
// a minute. There are three ways out, the best one first:
//
//	sync_interval: always on every server (2.10 or later), and durable=true here
//	sync_interval: 5s on every server (2.10 or later), loss=30s here, a window above 90 s
//	a window above 7.5 min
//
// # Versions
//
// A version is the message's number in the bucket and a random token of 128 bits. The
// server compares numbers alone, and gives them out again after it lost writes. So each
// swap first reads the register and compares the token. On one server this is enough.
// In a cluster a gap remains. The number alone decides if servers lose writes between
// the two requests, or if they lost some and one answers the read with an older
// register. This is outside the promise.
//
// A swap is sent once. When its reply is lost, the outcome is unknown, and the error
// reports it. A bucket that was deleted and made again is [store.ErrDamaged] until the
// store is opened again. So is a message that another program wrote, or that the server
// can't read. NATS 2.9 keeps its time to itself, so [store.Clock] is missing.
//
// # Storage
//
// The bucket is the stream KV_<bucket>. Open makes it if it is missing and was never
// seen; [BucketJSON] is for operators who make it by hand. A register is one message, at
// $KV.<bucket>.<prefix>.<key>.
//
// # The URL
//
//	nats://[user[:password]@]host[:port][,host[:port]…][/bucket][?key=value&…]
//
//	prefix=snowfence         begins every key of ours
//	replicas=3               how many servers keep the bucket; fewer are refused
//	creds=path               a user's JWT and seed, as nsc writes them
//	loss=2m30s               how old a write may be that a failure takes away
//	durable=true             asserts that none is lost; excludes loss
//
// The keys user, password-file, tls, ca, cert and key mean the same in every engine. Files
// of secrets are read for every connection. The default port is 4222, the default
// bucket snowfence.
package natsstore
