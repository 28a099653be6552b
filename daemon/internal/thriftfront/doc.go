// Package thriftfront is the front for clients of Twitter's Snowflake of 2010. It translates its
// Thrift service into calls of package front, and their results into answers.
//
//	i64 get_id(1: string useragent)   mints one id; counted for the user agent
//	i64 get_worker_id()               the worker number without its datacenter
//	i64 get_datacenter_id()           0 if the layout has none
//	i64 get_timestamp()               this clock, in ms since 1970
//
// One port serves framed and buffered transports, and the binary and the compact protocol. The front
// distinguishes them by the first bytes of each message. It refuses THeader, whose transforms would let
// a small frame use much memory. A message has at most 2 KiB, and so has the buffer that it is read into.
//
// The protocol can't name generators: all ids come from the one that the settings name. It can't carry
// tokens. Where clients need tokens, a client shows a TLS certificate instead.
//
// The service's methods declare no exceptions. So an error is an application exception of type
// INTERNAL_ERROR, which every client knows. Its message begins with the name of Twitter's exception
// where there was one.
package thriftfront
