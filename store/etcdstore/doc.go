// Package etcdstore keeps registers in etcd, version 3.4.22 or later. It keeps the contract of package
// store: an acknowledged swap was agreed upon by a majority of the members, and no failure of a
// minority takes it away.
//
//	etcd://a:2379,b:2379,c:2379/prefix
//	etcds://ids:secret@a:2379/prefix?ca=/etc/pki/ca.pem
//
// docs/engines.md is for operators: the settings of a cluster and their effects, the
// rights of the user, sizes, and backups.
//
// # The cluster
//
//   - A majority of the members that keeps its disks. An etcd member syncs its log
//     before it votes, unless it was started with --unsafe-no-fsync, which can't
//     be seen from outside: then say loss=, the age of the writes that a loss of power
//     to a majority can take away.
//   - Members of 3.4.22 or later, of 3.5 it is 3.5.6 or later: earlier ones can lose
//     acknowledged writes when a member is killed. Open refuses them, where it may
//     read the version and no loss is declared. A member that does not answer within
//     0.2 s of the first that does is not judged.
//   - Endpoints of one cluster. Open refuses two, and every answer is checked against
//     the cluster that was opened.
//   - Members whose data agree. Open refuses a cluster with the alarm CORRUPT, which
//     etcd raises only where its own check is on (--corrupt-check-time).
//   - While holders run, operators must not restore a snapshot, or force a new cluster
//     from one member's data: bounds that were written since are forgotten.
//
// Nothing here rests on etcd's leases, on watches or on any clock.
//
// # Storage
//
// A register is one key: the prefix, a slash, and the register's key. Its value is a
// random token of 32 hexadecimal digits, a line feed, and the register's value. The
// token is the [store.Version], and a swap is one transaction that compares it and puts
// a new one. So it does not depend on revisions, which count the same again after a
// restore. Keys are never deleted and have no lease.
//
// # Reads and outcomes
//
// Get and List are confirmed by a majority, so they are not stale, but for races that
// etcd has mended up to 2026. A stale read costs a swap that conflicts. A member
// shows applied writes, and it applies writes that a majority has synced to its logs: no loss of power,
// not even of all members, takes a read value back.
//
// Without a majority calls fail, and nothing is acknowledged: at once on a member
// that knows of no leader, else when the call's context ends. The next call goes
// to another endpoint, so some calls succeed while a member is cut off. An election is
// met in the same way.
//
// The client library repeats reads. A swap is repeated only where it is certain that no
// server looked at its register. A full server (the alarm NOSPACE) refuses swaps with an
// error that names the cause, and still reads.
//
// # The URL
//
// The scheme etcds, or tls=true, means TLS. The path is the prefix; without one it is
// "snowfence". The keys are the common keys of engines with servers: ca, cert and key, user,
// password-file (read by Open), loss.
package etcdstore
