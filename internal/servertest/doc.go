// Package servertest holds the rules that every engine with a server must keep on a real one: a
// swap is sent once, a silent server ends no call's patience but the context's, a restart is
// survived, no password is shown. An engine joins by an [Engine], its table of differences:
//
//	func TestEtcdKeepsEveryRule(t *testing.T) { servertest.Run(t, etcd()) }
//
// One server is started for all rules. Each rule has a prefix of its own, and leaves the server
// running. The rules about logins and about TLS start servers of their own.
//
// No verdict depends on the machine's speed. Each wait ends by an event, and its limit is one that
// only a hang reaches.
package servertest
