// Package zkstore keeps registers in ZooKeeper, as persistent nodes that are guarded by
// their data version. It keeps the contract of package store, with one exception; see
// Versions. The store is durable, unless its operator declares a loss.
//
//	s, err := zkstore.OpenURL(ctx, "zookeeper://snowfence@zk1,zk2,zk3/snowfence?password-file=/run/secrets/zk")
//
// docs/engines.md is for operators: the settings of an ensemble and their effects, the
// rights of the user, sizes, and backups.
//
// # The ensemble
//
//   - Release 3.6 or later, of an ensemble 3.9.4 or later. An ensemble of 3.9.3 is
//     refused unless a loss is declared. [Store.Warnings] names an earlier one.
//   - Endpoints of one ensemble. Open asks each one, and refuses several servers that
//     stand alone, and two leaders. A single server will do, too.
//   - forceSync left at yes, which no client can read. Else declare a loss.
//   - Disks that keep synced data, and members that are replaced one at a time. Clients can't see this either.
//
// # Loss
//
// An acknowledged swap is in the logs of a majority, and each member syncs its log
// first. So it outlives failovers and losses of power: it survives as long as a
// majority of the disks does. A read is as safe. With forceSync=no a loss of
// power can take swaps away: declare their greatest age, as loss=2s.
//
// # Reads and outcomes
//
// A sync goes before each read, so that a follower catches up with the leader. Only a
// leader that was replaced and has not noticed can make a read stale, which package
// store allows.
//
// Each swap is sent once. When its connection is lost, the outcome is unknown, and the
// error reports it. The client reconnects by itself, to any endpoint. While there is no
// session, calls wait until their context ends, and nothing is sent. Sessions may
// expire: nothing is bound to one.
//
// The client library is without contexts. A call whose context ends returns at once, and
// leaves a goroutine until the server answers or is given up, 64 at most.
//
// # Versions
//
// A version is ZooKeeper's data version of the node, a hash of the key, and 128 random
// bits that each swap writes. So two states have different versions. But ZooKeeper
// compares the number alone. It only grows, unless nodes are removed or takes the
// ensemble back to an earlier state. Then the number comes again, and a guard from
// before can match a later write. This is outside the promise: stop all holders before
// you restore a backup.
//
// The number has 31 bits. A swap that would make it wrap is refused.
//
// # Storage
//
//	/snowfence            the prefix, and the nodes above it
//	/snowfence/00 … ff    256 folders, a register's picked by a hash of its key
//	/snowfence/a7/KEY     one register: "snowfence 1 TOKEN", a line feed, the value
//
// Open creates the prefix. Nothing is ever deleted: a prefix that is gone is
// [store.ErrDamaged]. But a register that was removed looks like one that never
// was, and a new one in its place counts from 0 again.
//
// # The URL
//
//	zookeeper://[user[:password]@]host[:port][,host[:port]…][/prefix][?key=value&…]
//
//	loss=2s   how old a write may be that a failure can take away,
//	          on an ensemble that does not sync its log
//
// The keys user, password-file, tls, ca, cert and key mean the same in every engine. Open
// reads the password file. tls=true goes to the server's secureClientPort. The default
// port is 2181, the default prefix /snowfence.
package zkstore
