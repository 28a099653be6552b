// Package metrics has the daemon's metrics for Prometheus. Nothing is counted
// here that the service counts already: a scrape reads the service's own
// figures, so that minting pays nothing for being watched. Only the store's
// requests are timed as they happen, by [Timed].
package metrics
