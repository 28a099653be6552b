// Package zkstore keeps registers in ZooKeeper, as persistent nodes that are
// guarded by their data version. It promises what package store asks for, but
// for one thing: ZooKeeper compares a number, and an ensemble that is rolled
// back counts it again; see Versions.
//
//	s, err := zkstore.OpenURL(ctx, "zookeeper://snowfence@zk1,zk2,zk3/snowfence?password-file=/run/secrets/zk")
//
// # What must be true of the ensemble
//
// A swap is acknowledged when a majority has it in its log, and each member syncs its
// log to the disk first. So an acknowledged swap survives as long as a majority of the
// disks does, and the store is durable. That needs
//
//   - forceSync left at yes. With forceSync=no a loss of power can take acknowledged
//     swaps. Clients can't see that setting: the operator ensures it, or declares how
//     much can be lost, as loss=2s.
//   - disks that keep what they have synced, and that are not emptied: a member that
//     comes back with an empty disk is a part of the majority that forgot.
//   - members that are replaced one at a time, by ZooKeeper's own rules.
//   - in an ensemble, release 3.9.4 or later. A member of a release before 3.9.3 that
//     restarts, or changes its leader, can miss in its log what it acknowledged
//     (ZOOKEEPER-4785, ZOOKEEPER-4712, ZOOKEEPER-3911); no 3.8 has all that mends it.
//     [Store.Warnings] names those. 3.9.3 can lose more (ZOOKEEPER-4925), and Open
//     refuses it unless a loss is declared. A single server is not concerned.
//   - endpoints of one ensemble. Open refuses several servers that stand alone, and
//     two that still lead a second later. Afterwards nothing shows whose server
//     answers.
//
// Open asks each endpoint, with the word srvr, which every server answers unless
// 4lw.commands.whitelist leaves it out. What does not answer within 0.2 s of the first
// that does is not judged: a member may be away. A single server will do, too, and is
// as durable as its disk. Observers may be among the endpoints. Read-only mode is never
// used: this client does not ask for it, and a server in it does not take it.
//
// # What a read shows
//
// A server answers reads from what it has applied, which a majority has synced to its
// logs: nothing that a failure can still take away, not even a loss of power to all
// members (but see the releases above). A follower may lag behind, so a sync goes
// before each read and makes it catch up with the leader: the read shows what was
// acknowledged before it began. That does not make reads linearizable: a leader that
// was replaced and has not noticed (syncLimit ticks at most) takes itself for the last
// word. Such a read is stale, and that passes. No decision rests on it: the leader of a
// majority decides the swap that follows.
//
// # Connections and outcomes
//
// The client reconnects by itself, to any of the endpoints. Sessions may expire:
// nothing is bound to one, no node is ephemeral. While there is no session, calls wait
// until their context ends, and nothing is sent.
//
// Each request is sent once. When its connection is lost the outcome is unknown and the
// error says so; neither the client library nor this package sends a swap again. (The
// first register of a folder is created after a create that ZooKeeper has refused
// because there was no folder: a refused request is decided.) Reads are tried again.
//
// The client library takes no context. A call whose context ends returns at once and
// leaves a goroutine behind until the server answers or is given up: at most 64 at a
// time, for two thirds of the session timeout after the connection fell silent. Later
// calls wait for their turn. A request that is handed over at the very moment of a loss
// is sent on the next connection, however late that comes, and its goroutine waits as
// long.
//
// # Versions
//
// A version is ZooKeeper's data version of the node, a hash of the key, and 128 random
// bits that each swap writes into the node. So a version belongs to one register, and
// two states never have the same one. ZooKeeper checks the number alone. As long as
// nobody removes nodes or takes the ensemble back to an earlier state, that is enough:
// the number only grows. After a rollback the number comes again, and a guard from
// before can match what was written after. This engine does not promise otherwise. In
// part ZooKeeper prevents it: a server that is behind what a client has seen refuses
// that client, until it has caught up or the client is started again.
//
// The number has 31 bits. A swap that would make it wrap is refused before it is sent:
// at one swap in 20 seconds, after 1,360 years.
//
// # What it creates
//
//	/snowfence            the prefix, and the nodes above it
//	/snowfence/00 … ff    256 folders, a register's picked by a hash of its key
//	/snowfence/a7/KEY     one register: "snowfence 1 TOKEN", a line feed, the value
//
// In a name a slash of the key is a colon; the keys "." and ".." are "!" and
// "!!". The prefix is created by Open, unless the config says that it has to
// exist, and the folders when they are needed. A million registers are some
// 4,000 nodes a folder, whose names ZooKeeper sends within its default
// jute.maxbuffer of 1 MiB; with keys of 30 bytes there is room for seven
// millions. ZooKeeper holds all nodes in memory. Nothing is ever deleted. A prefix
// that is gone is [store.ErrDamaged], and so is a folder or register that goes while
// List reads, and a node that is not persistent. But a register that somebody
// removed looks as one that never was, and the one that is made in its place counts
// from 0 again: see Versions.
//
// Two prefixes do not see each other, even if one is within the other.
//
// # Rights
//
// The user needs read, write and create on the prefix and below it, and on the
// nodes above it nothing if the prefix exists. Nodes are created with the acl
//
//	open           anyone may read, write, create and administer; without a user
//	creator        the same for the user who created it alone; with a user
//	creator-read   as creator, and anyone may read
//
// and in no case with the right to delete: a slip of a hand does not empty a
// store. To remove one on purpose, change the ACL first (setAcl -R, then
// deleteall, in zkCli.sh). Users are ZooKeeper's digest scheme, which sends the
// password as it is: use TLS. SASL is not supported.
//
// # Backup and restore
//
// Copy version-2 (snapshots and logs) of a member's data folders while that
// member is stopped. A restored backup is a rollback: it takes back acknowledged
// swaps, and guards from before may match: see docs/engines.md.
//
// # The URL
//
//	zookeeper://[user[:password]@]host[:port][,host[:port]…][/prefix][?key=value&…]
//
//	acl=creator             who may access what is created
//	session-timeout=4s      what is asked of the server, from 300 ms to 1 min
//	loss=2s                 how old a write may be that a failure can take away,
//	                        on an ensemble that does not sync its log
//
// The keys user, password-file, tls, ca, cert and key are those of every engine; see
// docs/engines.md. Open reads the password file. tls=true goes to the server's
// secureClientPort. The default port is 2181, the default prefix /snowfence.
package zkstore
