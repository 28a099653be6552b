// Package storeurl reads the URLs by which engines are named:
//
//	scheme://[user[:password]@]host[:port][,host[:port]…][/path][?key=value&…]
//
// It promises that what it returns was written there, that a key which nobody
// asked for is refused by its name, and that no error shows a password.
//
// A URL is taken apart by hand: package net/url knows no list of hosts, and its
// errors show what they could not parse. Names, passwords and the path may hold
// any byte, written as %XX.
//
// Each engine says in its own documentation which keys it knows. These mean the
// same wherever they occur:
//
//	tls=true              speak TLS, where the scheme does not say so
//	ca=FILE               trust these certificates (PEM) and not the system's
//	cert=FILE&key=FILE    show this certificate, with its private key (PEM)
//	user=NAME             in place of the user in front of the hosts
//	password-file=FILE    its first line is the password
//	prefix=TEXT           what the engine puts in front of every key
//	loss=15s              the greatest age of an acknowledged write that a failure can take away
//	durable=true          the operator's word that no acknowledged write is ever lost
package storeurl
