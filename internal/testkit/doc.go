// Package testkit runs real processes for tests: it builds the program, starts
// daemons on free ports of the loopback interface, kills, pauses and continues
// them, and ends by their own process id whatever a test leaves running.
//
// It starts real servers of the engines, each in a folder of its own, and a
// [Proxy] stands in front of one where connections are to break, fall silent or
// lose replies. [Eventually] waits for a state of a server or a client, and an
// [Authority] issues the certificates of both ends where they speak TLS.
// [Page] holds a document to the program's output.
//
// Its program duplicates looks for equal ids in files of ids, so that a program apart from the test
// judges the collected ids.
package testkit
