// Package respfront is the RESP front: to clients of Redis the daemon is a server whose counters are
// its generators. It speaks RESP2 and RESP3, and translates commands into calls of package front.
//
//	INCR key                          mints one id; a reply of type integer
//	INCRBY key n                      reserves n consecutive numbers of a counter; the last of them. INCR if n is 1
//	ID.NEXT key                       mints one id; a bulk string, which JavaScript reads exactly
//	ID.NEXT key [COUNT n] [RANGES]    mints n; an array, with RANGES of first, count, first, count, …
//	ID.DECODE id [LAYOUT l | GENERATOR key]   the parts of an id
//
// A key is the name of a generator. GET is refused, because caches of clients may answer it twice.
// MULTI keeps commands until EXEC answers them, as in Redis; WATCH watches nothing. Clients
// send the other commands when they connect. The front answers an unknown command or subcommand with one error.
// Within a transaction, that error spoils it.
//
// Errors begin with a word for programs: NOAUTH, WRONGPASS and NOPERM as of Redis; NOLEASE, CLOCK and
// TRYAGAIN where a later call may succeed; else ERR.
//
// # Speed
//
// Each connection has a goroutine. It reads all received commands, answers all of them, and writes the
// answers at once. Adjacent INCRs of one key are minted by one call. Nothing is allocated for a
// command, except for the name of a generator that differs from the one before.
//
// # Bounds
//
// A command has at most 16 KiB in 64 parts, and before the client's token 4 KiB in 10. One that has more ends
// the connection. A length in a command allocates nothing. A connection keeps as much as
// its commands needed, 512 bytes to 16 KiB, and 512 bytes once it is quiet for 30 s. A transaction
// keeps up to 2 MiB, and all of them 128 MiB. Answers are written in pieces of some 32 KiB. A client
// that does not read them is cut off after two write timeouts.
package respfront
