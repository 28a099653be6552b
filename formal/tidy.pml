/*
 * Bookkeeping, no protocol: what can have no effect any more is struck out, so that
 * states that differ in that alone are one state, and numbers of writes are free
 * again. With UNTIDY nothing is; a smaller search shows that this changes nothing.
 */

/* The write x can have no effect any more. y is its sender. */
inline strike(x) {
	guard[x] = GONE; until[x] = 0; took[x] = false;
	stands[x] = false; firm[x] = false; prev[x] = 0;
#ifdef LIFE
	kind[x] = SPENT
#else
	kind[x] = FREE;
	spare[y]++
#endif
}

/* After each step. */
inline tidy() {
#ifndef UNTIDY
	for (x : 1 .. WRITES) { /* versions that never come back guard nothing */
		if
		:: guard[x] != GONE && (firm[x] || PAST(guard[x])) -> guard[x] = GONE
		:: else
		fi
	}
	for (x : 0 .. NODES - 1) {
		if
		:: ver[x] != 0 && ver[x] != GONE && PAST(ver[x]) -> ver[x] = GONE
		:: else
		fi;
		if /* nothing that it sends will confirm them */
		:: ver[x] == GONE && open[x] == 0 -> pend[x] = 0; aged[x] = 0
		:: else
		fi
	}
	for (x : 1 .. WRITES) {
		y = SENDER(x);
		if
		:: kind[x] == FREE || kind[x] == SPENT
		:: else ->
			if
			:: open[y] == x && guard[x] == GONE && !took[x] ->
				until[x] = 0; /* waited for in vain */
				aged[y] = 0;
				nxt[y] = (kind[x] == CLAIM -> 0 : nxt[y])
			:: open[y] == x || ver[y] == x || (pend[y] & BIT(x)) || (stands[x] && !PAST(x))
			:: kind[x] != ADRIFT && guard[x] != GONE /* it may take effect again */
			:: kind[x] == ADRIFT && !stands[x] && guard[x] != GONE ->
				took[x] = false; /* nobody waits for the reply */
				for (z : y * REQUESTS + 1 .. x - 1) { /* of equal ones, one will do */
					if
					:: kind[z] == ADRIFT && !stands[z] && guard[z] == guard[x] && until[z] == until[x] -> strike(x)
					:: kind[z] == ADRIFT && !stands[z] && guard[z] == guard[x] && until[z] > until[x] ->
						s = until[z]; until[z] = until[x]; until[x] = s; s = 0
					:: else
					fi
				}
				z = 0
			:: else -> strike(x)
			fi
		fi;
		y = 0
	}
	x = 0
#else
	skip
#endif
}
