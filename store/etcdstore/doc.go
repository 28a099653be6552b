// Package etcdstore keeps registers in etcd, version 3.4.22 or later. It promises
// what package store asks for: an acknowledged swap was agreed upon by a
// majority of the members, and no failure of a minority takes it away.
//
//	etcd://a:2379,b:2379,c:2379/prefix
//	etcds://ids:secret@a:2379/prefix?ca=/etc/pki/ca.pem
//
// # What must be true of the cluster
//
//   - A majority of the members keeps its disks. An etcd member syncs its log
//     before it votes, unless it was started with --unsafe-no-fsync, which can't
//     be seen from outside: then say loss=, the age of what a loss of power to a
//     majority can take away.
//   - Each member runs 3.4.22 or later, of 3.5 it is 3.5.6 or later: those before
//     can lose what they acknowledged when a member is killed. Open refuses them,
//     where it may read the version and no loss is declared. A member that does
//     not answer within 0.2 s of the first that does is not judged.
//   - All endpoints are of one cluster. Open refuses two, and every answer is
//     checked against the cluster that was opened.
//   - The members' data agree. Open refuses a cluster with the alarm CORRUPT.
//     etcd raises it only where its own check is on (--corrupt-check-time, which
//     had --experimental- before it until 3.6; since 3.5.5 also the check of
//     compaction's hashes).
//   - Nobody forces a new cluster from one member's data (--force-new-cluster,
//     snapshot restore) while holders run; see below.
//
// Nothing here rests on etcd's leases, on watches or on any clock.
//
// # What it creates
//
// One key for each register: the prefix, a slash, and the register's key. Its
// value is a random token of 32 hexadecimal digits, a line feed, and the
// register's value. The token is the register's [store.Version]. A swap is one
// transaction that compares the token and puts a new one, so it does not depend
// on revisions, which count the same again after a restore. Keys are never
// deleted and have no lease. Each is some 600 bytes; the history that etcd keeps
// of every put is up to its compaction, which should be on.
//
// # Reads and outcomes
//
// Get and List are confirmed by a majority, so they are not stale. (etcd has
// mended races of that with a pause or a change of the leader, up to 2026. A stale
// read passes, and no decision rests on one.) A member shows what it has applied,
// and it applies what a majority has synced to its logs: no loss of power, not
// even of all members, takes back what was read. A member that is cut off could
// only show the same for as long as it is.
//
// Without a majority calls fail, and nothing is acknowledged: at once on a member
// that knows of no leader, else when the call's context ends. The next call goes
// to another endpoint, so that of the calls some succeed while a member is cut
// off. An election is met in the same way.
//
// Reads are repeated by the client library. A swap is repeated only where it is
// certain that no server looked at its register. A full server (the alarm
// NOSPACE) refuses swaps with an error that says so, until its operator has made
// room; it still reads. Compaction and defragmentation do no harm.
//
// # Rights
//
// With authentication on, the user needs to read and write the keys from
// prefix/ to prefix0, the byte after the slash:
//
//	etcdctl role grant-permission snowfence --prefix=true readwrite prefix/
//
// # Backup and restore
//
// Back up the cluster as etcd's documentation says (etcdctl snapshot save). A
// restored snapshot forgets the bounds that were written since: see docs/engines.md.
//
// # The URL
//
// The scheme etcds, or tls=true, means TLS. The path is the prefix; without one
// it is "snowfence". The keys are those of every engine with servers: ca, cert and
// key, user, password-file (read by Open), loss; docs/engines.md says what they mean. Every endpoint is a member of one
// cluster, and any of them will do.
package etcdstore
