// Package thriftfront is the front for clients of Twitter's Snowflake of 2010. It translates its
// Thrift service into calls of package front and what comes back into answers.
//
//	i64 get_id(1: string useragent)   mints one id; counted for the user agent
//	i64 get_worker_id()               the worker number without its datacenter
//	i64 get_datacenter_id()           0 if the layout has none
//	i64 get_timestamp()               this clock, in ms since 1970
//
// One port serves framed and buffered transports, and the binary and the compact protocol. The front
// tells them apart by the first bytes of each message. It refuses THeader, whose transforms would let
// a small frame use much memory. A message is at most 2 KiB, and is never read into more.
//
// The protocol names no generator: all ids are of the one that the settings name. It has no tokens.
// Where tokens are asked for, a client shows a TLS certificate instead.
//
// No method declares an exception. So an error is an application exception of type INTERNAL_ERROR, which
// every client knows. Its message begins with the name of Twitter's exception where there was one.
package thriftfront
