// Package session serves the connections of a listener, each by a goroutine of its own, and drains
// them. It is for protocols whose clients keep a connection and send one request after the other.
// A request under way when the server drains gets its answer. A connection that waits for its next
// request ends at once. A client that has sent more than is answered still reads its answers.
package session
