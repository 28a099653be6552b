// Package grpcfront is the gRPC front. It translates the calls of api/snowfencev1 into calls of
// package front, and problems into statuses with details.
//
// It also serves reflection, and health without a token, which clients of gRPC expect. A generator's name
// stands for its health, and "" and the name of service Ids for the health of all.
//
// # Streams
//
// The client decides how fast a stream is, by HTTP/2's flow control. A stream mints one message before
// it can send it. It may wait for its client for ever, so there are 1,000 at most.
//
// # Draining
//
// Streams end with UNAVAILABLE, and their clients go on with another server. The other calls are finished.
// Clients that do not read their answers, and connections that have not begun HTTP/2, hold nothing up.
package grpcfront
