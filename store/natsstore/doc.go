// Package natsstore keeps registers in a key-value bucket of NATS JetStream. It
// promises what package store asks for, but that after a failure which a server
// forgets writes by, more rests on this client than on the server: see Versions.
// It is lossy, because NATS acknowledges before it syncs, unless its operator
// asserts otherwise.
//
//	s, err := natsstore.OpenURL(ctx, "nats://snowfence@a,b,c/snowfence?password-file=/run/secrets/nats&replicas=3&durable=true")
//
// # What must be true of the server
//
// NATS 2.9 or later for a bucket on one server, and 2.11 or later, on all of them, for
// one on several: earlier clusters compare the version before they replicate and not
// after, so two swaps at once under one version both take effect
// (https://github.com/nats-io/nats-server/issues/4320), and before 2.11 a new leader
// could compare with what it had not yet applied (nats-server/pull/6194 and /6485).
// Avoid 2.10.20 to 2.10.22, which could lose a stream in a crash
// (https://jepsen.io/analyses/nats-2.12.1). max_payload must be at least 5120.
//
// The bucket must keep what it is given: file storage, history 1, no max_age, and so
// on; docs/engines.md lists the settings. They are looked at for every new connection
// and every half minute. A bucket that may drop a register, or change one, is refused
// with a [*ServerError], and nothing is written. Limits of size are fine, since a full
// bucket refuses.
//
// # Loss
//
// JetStream acknowledges a message when most servers of the bucket have it in the
// system's cache, and syncs every sync_interval: 2 minutes by default
// (https://docs.nats.io/reference/config/jetstream/sync_interval). A crash of the
// process loses nothing. A crash of the machine, or a loss of its power, loses what is
// younger. Three servers do not mend that: they may lose power together, and even one
// machine's crash, with a pause or a partition at the same time, has been seen to take
// acknowledged messages away (the analysis above).
//
// A server of version 2.9 knows no sync_interval: 2.9.10 refuses to start with it, and
// syncs every 120.0 s (strace, five times in a row). It closes a full file, and replaces
// one that it has cleaned up, without a sync: those are safe when the kernel writes
// them back, on Linux after some 35 s unless vm.dirty_expire_centisecs says otherwise.
//
// So the default loss is two and a half minutes: the interval, two syncs, as a write
// may just miss the one before, and a margin. Package fence asks for a window of more
// than three losses, and so refuses this one with its default window of a minute. There
// are four ways out, the best one first:
//
//	sync_interval: always   on every server, with 2.10 or later, and durable=true
//	                        here. A server that is too old for it is refused;
//	                        whether it is set can't be seen by a client.
//	sync_interval: 5s       on every server, with 2.10 or later, and loss=30s here,
//	                        with a window of more than 90 s: the interval, two
//	                        syncs of 10 s on a busy disk, and some more.
//	a longer window         of more than seven and a half minutes
//	unsafe-ignore-loss=true here
//
// The last makes the store pass for durable although it is not. When a machine then
// crashes, a claimant whose clock is ahead can claim a worker id from an older bound
// while its holder still issues: their ids are equal for as long as the forgotten
// bounds reach, up to a window. A test in this package shows it. [Store.Warnings] says
// so to the program, which must say it loudly.
//
// # Reads
//
// Reads ask the leader, never another server of the bucket (direct gets, which a new
// bucket has off). A leader shows what it has applied, and it applies what most servers
// have, so an entry that was not replicated is not seen. Whether they have synced it is
// the same question as for an acknowledgement, and Traits answers it. A leader that was
// replaced and does not know may show an older state, which the contract allows.
//
// # Versions
//
// A version is the message's number in the bucket and a random token of 128 bits in the
// message's header. The server guards a swap by the number
// (Nats-Expected-Last-Subject-Sequence) and knows nothing of the token; after a rollback
// it gives numbers out again. So a swap first reads the register and compares the token.
// Both requests go over one connection, which is never replaced beneath a swap. On a
// lone server that closes the gap: after a rollback the server was started again, which
// ends the connection. In a cluster a gap remains: a failure between the two requests,
// and as many swaps as bring the number back. That is outside of the guarantee, and so
// is a cluster of several servers that forgets: there the leader judges a swap whose
// version is newer than the answer.
//
// A register that the server has and can't read, because its file was altered, is
// [store.ErrDamaged]. The server itself answers that there is none, and would let it be
// created. So a register that is not found is asked for once more, and so before one
// is created: whether the server counts a message there. List fails at such a register.
// What a server gives up when it reads its files after a crash is absent; nothing tells
// it from what never was.
//
// A swap is never sent twice: not when its reply is lost, nor when no server took it.
// Nats-Msg-Id is not used: the server would acknowledge the second of two equal swaps.
//
// A bucket that was deleted and made again is told from the first by the tokens and by
// the time when it was made: calls return [store.ErrDamaged] until the store is opened
// again.
//
// JetStream's answers have no time of the server's in 2.9, so this engine offers no
// [store.Clock].
//
// # What it creates
//
// The bucket, which is the stream KV_<bucket>, if it is missing and was never
// seen, unless the config says that it has to exist. Those who may not create it
// make it from what [BucketJSON] returns: nats stream add --config FILE. It denies
// deleting and purging.
//
// One message for each register, at $KV.<bucket>.<prefix>.<key>, with / written
// as . in it, . as =, and an empty segment as E; its payload is the value, its
// header Snowfence-Write: 1 <token>. Key-value clients show it as it is. They
// must not write there: what is not ours is [store.ErrDamaged], a mark of
// deletion too.
//
// A million registers of 500 bytes cost a server of version 2.9.10 about 320 MB
// of memory, and are listed in 9 s on two cores.
//
// While List runs, a consumer in memory, which is deleted at its end, or by the
// server five minutes after it was last read.
//
// # Rights
//
// Publish, for the default bucket:
//
//	$KV.snowfence.>
//	$JS.API.STREAM.INFO.KV_snowfence
//	$JS.API.STREAM.CREATE.KV_snowfence        unless the bucket exists, or has to
//	$JS.API.STREAM.MSG.GET.KV_snowfence
//	$JS.API.CONSUMER.CREATE.KV_snowfence.>    these three for List
//	$JS.API.CONSUMER.MSG.NEXT.KV_snowfence.*
//	$JS.API.CONSUMER.DELETE.KV_snowfence.*
//
// Subscribe: _INBOX.>
//
// # Connections
//
// One for each store, to any of the endpoints that answers. When it breaks, or
// when two pings in a row, 2 s apart, or any requests for 4 s, are not answered,
// the next call makes another one, for as long as the store is open. A call fails
// at once when none can be made. Nothing is buffered meanwhile, to be sent later
// by surprise: a connection ends with its first write that fails.
//
// # Backup and restore
//
// nats stream backup KV_snowfence FOLDER, and nats stream restore; or a copy of
// the data folder of a server that is stopped. A restored backup takes back
// acknowledged swaps, whatever was asserted: see docs/engines.md.
//
// # The URL
//
//	nats://[user[:password]@]host[:port][,host[:port]…][/bucket][?key=value&…]
//
//	prefix=snowfence         begins every key of ours
//	replicas=3               how many servers keep the bucket; fewer are refused
//	token-file=path          a token
//	creds=path               a user's JWT and seed, as nsc writes them
//	nkey=path                the seed of an nkey
//	loss=2m30s               how old a write may be that a failure takes away
//	durable=true             asserts that none is lost; excludes loss
//	unsafe-ignore-loss=true  see Loss
//
// The keys user, password-file, tls, ca, cert and key are those of every engine; see
// docs/engines.md. The files of secrets are read for every connection. The default
// port is 4222, the default bucket snowfence.
package natsstore
