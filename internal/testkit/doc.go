// Package testkit runs real processes for tests: it builds the program, starts
// daemons on free ports of the loopback interface, kills, pauses and continues
// them, and ends by their own process id whatever a test leaves running.
//
// It starts real servers of the engines, each in a folder of its own, and a
// [Proxy] stands in front of one where connections are to break, fall silent or
// lose replies. [Eventually] waits for what a server or a client comes to, and an
// [Authority] issues the certificates of both ends where they speak TLS.
// [Page] holds a document to what the program makes of it.
//
// Its program duplicates looks for equal ids in files of ids, so that what a
// fault test collected is judged by something other than the test.
package testkit
