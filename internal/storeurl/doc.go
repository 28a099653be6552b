// Package storeurl reads the URLs by which engines are named:
//
//	scheme://[user[:password]@]host[:port][,host[:port]…][/path][?key=value&…]
//
// It promises that what it returns was written there, that a key which the engine
// does not know is refused by its name, and that no error shows a password.
//
// A URL is taken apart by hand: package net/url knows no list of hosts, and its
// errors show what they could not parse. Names, passwords and the path may hold
// any byte, written as %XX.
//
// Each engine says in its own documentation which keys it knows, and docs/engines.md
// has those that mean the same for every engine. Parsing opens no file.
package storeurl
