// Package storeurl reads the URLs by which engines are named:
//
//	scheme://[user[:password]@]host[:port][,host[:port]…][/path][?key=value&…]
//
// It promises that every returned text was written there, that a key which the engine
// does not know is refused by its name, and that errors hide passwords.
//
// A URL is taken apart by hand: package net/url has no list of hosts, and its errors repeat their
// input. Names, passwords and the path may hold any byte, written as %XX.
//
// Each engine documents its own keys, and docs/engines.md has the common keys of all engines. Parsing
// does not open files.
package storeurl
