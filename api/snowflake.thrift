// The service of Twitter's Snowflake, as clients have called it since 2010. Snowfence answers it on
// port 7609, to framed and buffered transports, in the binary and the compact protocol.
//
// An error is a TApplicationException of type INTERNAL_ERROR, since no method declares another one.

namespace py snowflake

service Snowflake {
  // The worker number, without the datacenter, of the worker id that the server holds.
  i64 get_worker_id()

  // The server's clock, in milliseconds since 1970-01-01T00:00:00Z.
  i64 get_timestamp()

  // A new id. The user agent is a letter, and then letters, digits and hyphens. The server counts
  // the ids of each.
  i64 get_id(1: string useragent)

  // The datacenter of the worker id; 0 if the layout has none.
  i64 get_datacenter_id()
}
