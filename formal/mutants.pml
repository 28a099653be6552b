/*
 * The bugs that such a protocol invites, by their numbers in the design. Each is
 * put where lease.pml has one of the names below; MUTANT 0 is the true protocol.
 * 11 and 12 are no bugs but the stated limits.
 */

/* To these, what the true protocol forgets still matters. */
#if MUTANT == 1 || MUTANT == 6 || MUTANT == 9 || MUTANT == 11
#define UNTIDY
#endif

/* What a mutant must know besides. */
#if MUTANT == 1
byte term[WRITES + 1];    /* the term that a write writes */
byte swaps[WRITES + 1];   /* the term that it was computed from */
#endif
#if MUTANT == 5 || MUTANT == 72
byte floor[WRITES + 1];   /* the floor that a write writes */
#endif
#if MUTANT == 5 || MUTANT == 6
bool frees[WRITES + 1];   /* it is a release */
#endif
#if MUTANT == 9
byte count[WRITES + 1];   /* the version, counted up */
#endif

/* When a write takes effect: the guard is the version that is shown. */
#if MUTANT == 1 /* the store compares the term only and writes blindly */
#define MATCHES(w) (swaps[w] == term[cur])
#elif MUTANT == 6 /* a blind release that lowers until */
#define MATCHES(w) (guard[w] == cur || frees[w])
#elif MUTANT == 9 /* a version reused after a rollback */
#define MATCHES(w) (count[guard[w]] == count[cur])
#else
#define MATCHES(w) (guard[w] == cur)
#endif

#if MUTANT == 9
#define MUTANT_TAKES_EFFECT(w) count[w] = count[cur0(w)] + 1
#define cur0(w) prev[w]
#else
#define MUTANT_TAKES_EFFECT(w) skip
#endif

/* What a write carries besides. */
#if MUTANT == 1
#define MUTANT_SEND(w, k, g) swaps[w] = term[g]; term[w] = term[g] + (k == CLAIM -> 1 : 0)
#elif MUTANT == 5 || MUTANT == 72
#define MUTANT_SEND(w, k, g) floor[w] = (k == CLAIM -> t : floor[g]); MUTANT_FREES(w, k)
#else
#define MUTANT_SEND(w, k, g) MUTANT_FREES(w, k)
#endif
#if MUTANT == 5 || MUTANT == 6
#define MUTANT_FREES(w, k) frees[w] = (k == RELEASE)
#else
#define MUTANT_FREES(w, k) skip
#endif

/* The floor of a claim: any tick from the guarded until on. */
#if MUTANT == 2 /* floor below the guarded until */
#define FLOOR_FROM(e) 0
#else
#define FLOOR_FROM(e) until[e]
#endif

#if MUTANT == 3 /* the new bound used before its acknowledgement */
#define MUTANT_EXTEND(u) use[i] = (use[i] > 0 && u > use[i] -> u : use[i])
#else
#define MUTANT_EXTEND(u) skip
#endif

#if MUTANT == 10 /* on a lossy store, a bound used before it is confirmed */
#define UNCONFIRMED
#endif

/* What may be stamped: ticks below the bound. */
#if MUTANT == 4 /* tick <= until */
#define LAST_STAMP (use[i] < TICKS -> use[i] : TICKS - 1)
#else
#define LAST_STAMP (use[i] - 1)
#endif
#define CAN_STAMP (use[i] > 0 && nxt[i] <= LAST_STAMP)

/* The seal of a generator: nothing is stamped after it. */
#if MUTANT == 71 /* lowering while still issuing */
#define SEAL sealed[i] = true
#else
#define SEAL sealed[i] = true; use[i] = 0
#endif

/* Where a release brings until: above what the term stamped, or to its floor. */
#if MUTANT == 72 /* lowering below the term's floor: to 0 if nothing was stamped */
#define RELEASED (nxt[i] == floor[ver[i]] -> 0 : nxt[i])
#else
#define RELEASED nxt[i]
#endif

/* What a failover can take away. */
#if MUTANT == 11 /* the store rolled back beyond what it declares */
#define LOSABLE (cur != 0)
#define MUTANT_LOST(w) firm[w] = false; base = (base == w -> cur : base)
#define FORGET_PREV(w) skip
#else
#define LOSABLE (cur != base)
#define MUTANT_LOST(w) skip
#define FORGET_PREV(w) prev[w] = 0
#endif

/* No guard ever matches the version of a write that was lost. */
#if MUTANT == 9
#define STRIKE(w) skip
#define VERSION_STANDS(w) true
#else
#define VERSION_STANDS(w) stands[w]
inline STRIKE(w) {
	for (x : 1 .. WRITES) {
		if
		:: kind[x] != FREE && guard[x] == w -> guard[x] = GONE
		:: else
		fi
	}
	for (x : 0 .. NODES - 1) {
		if
		:: ver[x] == w -> ver[x] = GONE
		:: else
		fi
	}
	x = 0
}
#endif

/* Steps that the true protocol does not have. */
#if MUTANT == 5 /* "same owner name, so resume" after a restart */
#define MUTANT_STEPS \
	:: atomic { ver[i] == 0 && open[i] == 0 && cur != 0 && SENDER(cur) == i && !frees[cur] -> \
		printf("node %d: finds its name in the register, and resumes\n", i); \
		d_step { ver[i] = cur; nxt[i] = floor[cur]; use[i] = until[cur] } }
#elif MUTANT == 8 /* adopting the proposed bound after an unknown outcome */
#define MUTANT_STEPS \
	:: atomic { open[i] != 0 && kind[open[i]] == EXTEND && use[i] > 0 && until[open[i]] > use[i] -> \
		printf("node %d: has no answer to write %d, and uses its bound\n", i, open[i]); \
		use[i] = until[open[i]] }
#elif MUTANT == 12 /* process memory cloned */
#define MUTANT_STEPS \
	:: atomic { ver[i] == 0 && open[i] == 0 && use[(i + 1) % NODES] > 0 -> \
		e = (i + 1) % NODES; \
		printf("node %d: is a clone of node %d\n", i, e); \
		d_step { ver[i] = ver[e]; nxt[i] = nxt[e]; use[i] = use[e]; e = 0 } }
#elif MUTANT == 102 /* loss counted from the confirming swap's acknowledgement */
#define MUTANT_STEPS \
	:: atomic { open[i] != 0 && pend[i] != 0 && aged[i] != pend[i] -> \
		printf("node %d: loss has passed since all that was acknowledged to it\n", i); \
		d_step { \
			for (z : i * REQUESTS + 1 .. (i + 1) * REQUESTS) { \
				if \
				:: (pend[i] & BIT(z)) -> aged[i] = aged[i] | BIT(z); settle(z) \
				:: else \
				fi \
			} \
			z = 0; tidy() } }
#else
#define MUTANT_STEPS
#endif
