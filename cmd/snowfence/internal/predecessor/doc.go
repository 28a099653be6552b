// Package predecessor reads what other systems keep of their worker ids in
// ZooKeeper, for a take-over; see package cmd/snowfence/internal/takeover. It writes nothing there.
//
//	Leaf               /snowflake/NAME/forever/IP:PORT-NNNNNNNNNN   persistent; the number is the
//	                   worker id, the data has a timestamp that is uploaded every 3 s
//	Leaf, recyclable   /snowflake/NAME/recycle/notuse/workId:N and …/inuse/workId:N
//	                   persistent; the timestamp of those in use is uploaded every 3 s
//	Twitter            /snowflake-servers/N   ephemeral; there while its server lives
//
// A recyclable worker id is moved by being deleted and made again, so a crash can
// lose its node, of one that issued ids too: those found are not all there were.
//
// Persistent nodes are read twice, some seconds apart. Whatever changed in
// between shows that somebody lives, whatever the clocks say. A process that has
// lost ZooKeeper issues ids all the same, Leaf for ever and the recyclable one for
// an hour, and shows nothing; so that nobody was seen is no proof.
package predecessor
