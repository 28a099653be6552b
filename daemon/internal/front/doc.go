// Package front is the contract between the daemon's service and the fronts, which translate protocols. A front asks
// a [Service] for a [Client] once a connection or a request, and the client for a [Use] once a request.
// The service takes all decisions, so fronts do not import its packages.
//
// A verb is one call through an interface, whatever the number of ids. It fails with a [*Problem], which a front turns
// into the status of its protocol.
package front
