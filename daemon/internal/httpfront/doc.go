// Package httpfront is the HTTP front of the service. It translates requests into calls of package
// front, and their results into answers. It decides nothing about ids. It refuses unknown hosts, web
// pages of other sites, and bodies that are too long.
//
//	POST, GET /v1/generators/{name}/ids?count=n    mint n ids, 1 if count is left out
//	GET       /v1/generators                       the generators and how they stand
//	POST, GET /v1/generators/{name}/reservations   of a series: reserve the next number; list them all
//	POST      …/reservations/{number}/confirm      its document exists
//	POST      …/reservations/{number}/void         its document will never exist
//	GET       /v1/decode/{id}?layout=              the decoded id
//	GET       /livez                               is it running
//	GET       /readyz, /readyz/{name}              do all generators give ids, or stand by; does this one
//	GET       /activez, /activez/{name}            do all generators give ids; does this one
//	GET       /metrics                             Prometheus
//	GET       /, /ui/…                             the page, by package page
//	GET       /openapi.yaml                        this surface, in full
//
// Package compat has the addresses of Leaf (/api, /decodeSnowflakeId, /cache, /db) and tinyid (/tinyid).
//
// Ids are strings. HEAD answers as GET does, without a body; where GET mints, it is refused. Everything that goes wrong is a problem of RFC 9457 with a stable
// type; only requests that the Go server itself refuses to read, such as a header beyond its limit, get
// an answer in plain text. Clients may store the files of the page alone.
//
// # Browsers
//
// A GET mints ids, and so any web page could have a browser on this host use
// them up, or read them by rebinding a name of its own to a loopback address.
// Both are refused. A request that a browser marks as coming from elsewhere
// (Sec-Fetch-Site other than same-origin and none, or else an Origin that is
// not this server's) is a problem of type cross-site, but for a link to the page for people that a
// person followed. And a server on a loopback address without tokens answers to loopback names only,
// and to the hosts that the configuration adds. Programs send neither header, and are not concerned.
package httpfront
