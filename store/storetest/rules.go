package storetest

// Rules returns every rule, the elementary ones first.
func Rules() []Rule {
	return []Rule{
		// registers.go
		{"absent", "Get of a key that was never swapped returns ErrNotFound.", absent},
		{"create", "Swap with the zero version creates a register, and every client comes to see it.", create},
		{"replace", "Swap with the current version replaces the value, and every client comes to see it.", replace},
		{"create-existing", "Swap with the zero version of a register that exists returns ErrConflict.", createExisting},
		{"stale-version", "Swap with a version that is no longer the current one returns ErrConflict.", staleVersion},
		{"version-of-missing", "Swap with a version of a key that does not exist returns ErrConflict.", versionOfMissing},
		{"version-of-another", "Swap with a version of another key returns ErrConflict.", versionOfAnother},
		{"version-not-value", "Swap compares the version and not the value: a value that has come back does not bring its version back.", versionNotValue},
		{"version-shared", "A version is the same to every client, by whichever of Swap, Get and List it came.", versionShared},
		{"version-unique", "A version never repeats for a key, whatever its values, and through a restart.", versionUnique},
		{"version-after-rollback", "A version never repeats for a key, not even after the store was rolled back.", versionAfterRollback},
		{"conflict-final", "A swap that returned ErrConflict did not and never will take effect.", conflictFinal},

		// contents.go
		{"key-limits", "A key has 1 to 200 bytes, and every byte of [a-z0-9._/-] may stand anywhere in it.", keyLimits},
		{"key-bytes", "Keys are compared byte for byte: no two spellings are one key.", keyBytes},
		{"key-refused", "Get, Swap and List return a *KeyError for a text that is not a key or a prefix, and do nothing.", keyRefused},
		{"value-limits", "A value has 0 to 4096 bytes; an empty value is not a missing register.", valueLimits},
		{"value-bytes", "A value may hold any bytes, and comes back as it was.", valueBytes},
		{"value-refused", "Swap returns a *ValueError for a value that is too long, and does nothing.", valueRefused},
		{"value-copied", "The store shares no memory with its callers: neither a value passed in nor one handed out is a window into it.", valueCopied},

		// listing.go
		{"list-prefix", "List yields the registers whose keys begin with the prefix, byte for byte, and no others.", listPrefix},
		{"list-complete", "List yields every register once, with its value and version, however many there are.", listComplete},
		{"list-existing", "List yields no register that was never created.", listExisting},
		{"list-range", "List's sequence may be left early and ranged over again, and its body may call the store.", listRange},

		// concurrency.go
		{"create-once", "Of clients that create one key at once, exactly one succeeds.", createOnce},
		{"contention", "Of swaps that race, each takes effect once or not at all, and none that was acknowledged is lost.", contention},
		{"conflict-true", "ErrConflict is true: the only writer of a register, under its current version, never meets it.", conflictTrue},
		{"lost-reply", "A swap whose reply was lost returns neither ErrConflict, if it took effect, nor success, if it did not; and the engine does not repeat it.", lostReply},
		{"resend", "A swap that is sent again, with the same bytes under the same version, takes effect at most once.", resend},
		{"context-ended", "A call under a context that has ended returns the context's error, and a swap does not take effect.", contextEnded},
		{"context-ends", "A call whose context ends returns soon, and its reported outcome stays true.", contextEnds},

		// lifetime.go
		{"reopen", "Registers and versions outlive their clients and a restart of the store.", reopen},
		{"closed", "After Close every method returns ErrClosed, and Close nil; other clients are not affected.", closed},
		{"traits", "Traits are valid, and the same to every client at any time.", traits},
		{"clock", "An engine's clock, where it has one, shows a time and heeds the context.", clock},
	}
}
