// Package view is how a daemon looks from outside: one [State] for the page, its JSON and the metrics. A namespace is read
// once for all readers, at most every second, and only while somebody looks. So a hundred open pages
// cost a store as much as one.
package view
