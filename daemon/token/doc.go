// Package token holds the tokens of clients, with the rights of each.
//
// Tokens stand in one file, with a line for each:
//
//	# name   hash of the token                 what it allows
//	billing  sha256:8b9d6f866d980f4d1f8be45…   generators=orders,invoices rate=5000
//	ops      sha256:60303ae22b998861bce3b2…
//
// A line holds the token's hash alone, so a reader of the file can't use the token. A plain hash
// is enough, without salt, since [New] makes tokens of 256 random bits.
//
// A [Ring] reads its file again when it changes. A file that can't be read then changes nothing: the
// tokens before stay valid, and the log shows why.
package token
