/*
 * The lease protocol of one worker id, for the model checker spin.
 *
 * README.md beside this file lists what was searched and what is left out, and
 * docs/proof.md explains the protocol. model.sh runs it. The protocol itself is
 * internal/lease; the Go functions are named where their counterparts stand.
 *
 * Switches, set by -D:
 *
 *	NODES    how many processes want the worker id
 *	TICKS    ticks 0 to TICKS-1; TICKS is the horizon
 *	REQUESTS how many requests of each node there may be at a time
 *	LOSSY    the store may lose acknowledged writes that are young
 *	LIFE     REQUESTS counts those of a node's whole life
 *	UNTIDY   keep what can have no effect any more; only with LIFE
 *	MUTANT   a bug, by its number in the design; 71 and 72 are the two of 7, 102 is 10b
 *	GOAL     something good that must be found possible; see goals.pml
 */

#ifndef NODES
#define NODES 2
#endif
#ifndef TICKS
#define TICKS 6
#endif
#ifndef REQUESTS
#define REQUESTS 2
#endif
#ifndef MUTANT
#define MUTANT 0
#endif
#ifndef GOAL
#define GOAL 0
#endif
#define WRITES (NODES * REQUESTS)

/* ------------------------------------------------------------- the ids */

/* One tick that was stamped is remembered; spin tries each, so one is enough.
 * By whom: 0 for none yet, n+1 for the present term of node n, OVER for a term
 * that has ended. */
byte tick;
byte who;
#define OVER 255

/* ----------------------------------------------------------- the writes */

/* A write is one swap of the register: its bytes and its guard. It is in the
 * network from when it is sent; see Wire. Number 0 is no write: the register
 * before the first one. Numbers stand for the bytes, and for the version. */
#define FREE    0 /* this number is not in use */
#define CLAIM   1
#define EXTEND  2
#define RELEASE 3
#define ADRIFT  4 /* its sender has forgotten it; it may still arrive */
#define SPENT   5 /* it can have no effect any more, and its number is not used again */

byte kind[WRITES + 1];
byte guard[WRITES + 1];  /* the version that it swaps */
byte until[WRITES + 1];  /* the bound that it writes */
bool took[WRITES + 1];   /* it took effect once: there may be a reply */
bool stands[WRITES + 1]; /* its effect stands: it was not rolled back */
bool firm[WRITES + 1];   /* its effect can't be lost any more */
byte prev[WRITES + 1];   /* what the register showed before it */
#define GONE 255 /* a version that the register will never show again */

#define SENDER(w) (((w) - 1) / REQUESTS)
#define BIT(w)    (1 << (((w) - 1) % REQUESTS))

/* --------------------------------------------------------- the register */

byte cur;  /* the write that it shows: its version and its content */
byte base; /* the last one that can't be lost */

/* A version that was followed by one that can't be lost never comes back. */
#define PAST(v) (firm[v] && (v) != base)

/* ------------------------------------------------------------ the nodes */

/* The memory of a node's process: lease.State and its generator. */
byte spare[NODES];  /* how many requests it may still make */
byte open[NODES];   /* State.write: the write whose outcome is not known; 0 none */
byte ver[NODES];    /* term.version: what was last acknowledged; 0 without a term */
byte nxt[NODES];    /* the generator: the lowest tick that it may stamp next */
byte use[NODES];    /* term.usable: the bound of the generator; 0 while it has none */
bool sealed[NODES]; /* State.releasing: a release was asked for */
byte pend[NODES];   /* term.pending: acknowledged, but not usable yet; a set of BITs */
byte aged[NODES];   /* those that were old enough when the open write was sent */

/* Nodes are numbered in the order of their first claims; else spin would search
 * each schedule once for every way to number them. */
byte begun;
#define MY_TURN (i <= begun)

byte x, y, z, s; /* scratch of the inlines; always 0 between steps */

#include "mutants.pml"
#include "goals.pml"

/* ------------------------------------------------------ the store's part */

/* b, and all that it follows, can't be lost any more. */
inline settle(b) {
	if
	:: stands[b] && !firm[b] ->
		base = b;
		x = b;
		do
		:: !firm[x] ->
			firm[x] = true;
			y = prev[x];
			FORGET_PREV(x);
			x = y
		:: else -> break
		od;
		x = 0; y = 0
	:: else
	fi
}

#include "tidy.pml"

/* The wire of one write. What it carries may arrive at once, late, never, after
 * others that were sent later, or again; each is a step that spin may take now
 * or leave for later. If the register shows the guarded version, the write takes effect:
 * Store.Swap. If not, nothing happens, and so there is no step for it. */
proctype Wire(byte w) {
end:	do
	:: atomic { kind[w] != FREE && kind[w] != SPENT && !stands[w] && MATCHES(w) ->
		printf("store: write %d of node %d takes effect: until is %d, was %d\n", w, SENDER(w), until[w], until[cur]);
		d_step {
			GOAL_TAKES_EFFECT(w);
			prev[w] = cur;
			cur = w;
			took[w] = true;
			stands[w] = true;
			MUTANT_TAKES_EFFECT(w);
#ifndef LOSSY
			settle(w);
#endif
			tidy()
		} }
	od
}

#ifdef LOSSY
/* A failure of the store: the last write is lost. More are lost by more such steps. */
proctype Failover() {
	byte w;
end:	do
	:: atomic { LOSABLE ->
		printf("store: a failover loses write %d: until is %d, was %d\n", cur, until[prev[cur]], until[cur]);
		d_step {
			GOAL_LOST;
			w = cur;
			cur = prev[w];
			stands[w] = false;
			prev[w] = 0;
			MUTANT_LOST(w);
			STRIKE(w);
			tidy();
			w = 0
		} }
	od
}
#endif

/* ----------------------------------------------------------- the node's part */

/* Take the first free number for a write: write.go, send. Its wire has it from here on. */
inline send(k, g, u) {
	d_step {
		w = i * REQUESTS + 1;
		do
		:: kind[w] != FREE -> w++
		:: else -> break
		od;
		kind[w] = k; guard[w] = g; until[w] = u;
		MUTANT_SEND(w, k, g);
		spare[i]--;
		open[i] = w
	}
}

/* The bound of b goes to the generator. It must be one that the store keeps. */
inline grant(b) {
#if MUTANT == 0
	assert(firm[b]);
#endif
	if
	:: until[b] > use[i] -> use[i] = until[b]
	:: else
	fi
}

/* term.go, acknowledge: what the acknowledgement of w makes usable. */
inline acknowledge(w) {
#if !defined(LOSSY) || defined(UNCONFIRMED)
	grant(w)
#else
	z = until[w];
	for (y : i * REQUESTS + 1 .. (i + 1) * REQUESTS) {
		if
		:: (aged[i] & BIT(y)) -> grant(y); pend[i] = pend[i] & ~BIT(y)
		:: (pend[i] & ~aged[i] & BIT(y)) && until[y] >= until[w] -> z = 0 /* known before */
		:: else
		fi
	}
	aged[i] = 0;
	if
	:: z > use[i] && ver[i] != GONE -> pend[i] = pend[i] | BIT(w)
	:: else
	fi;
	y = 0; z = 0
#endif
}

/* write.go, landed: a write took effect. */
inline landed(w) {
	open[i] = 0;
	if
	:: kind[w] == RELEASE -> forget()
	:: else ->
		ver[i] = (VERSION_STANDS(w) -> w : GONE);
		if
		:: sealed[i]
		:: else -> acknowledge(w); GOAL_LANDED(w)
		fi;
		tidy()
	fi
}

/* end.go, revoke and stop; or a crash, which forgets as much. The writes that were
 * sent are not taken back. What the node does next is a new term. */
inline forget() {
	for (x : i * REQUESTS + 1 .. (i + 1) * REQUESTS) {
		if
		:: kind[x] != FREE && kind[x] != SPENT -> kind[x] = ADRIFT
		:: else
		fi
	}
	x = 0;
	who = (who == i + 1 -> OVER : who);
	open[i] = 0; ver[i] = 0; nxt[i] = 0; use[i] = 0;
	sealed[i] = false; pend[i] = 0; aged[i] = 0;
	tidy()
}

/* One node: a process, and those that are started after it has crashed. Each
 * alternative is a step; between any two of them it may pause for ever. */
proctype Node(byte i) {
	byte w, e, t, u;
end:	do

	/* probe.go and term.go, claim: read the register, and swap what was read. The clock
	 * shows anything, so that the floor is any tick from until on, and the window any. */
	:: atomic { ver[i] == 0 && open[i] == 0 && spare[i] > 0 && MY_TURN ->
		e = cur;
		do /* the read may be late */
		:: e != base -> e = prev[e]
		:: break
		od;
		if
		:: until[e] < TICKS ->
			select(t : FLOOR_FROM(e) .. TICKS - 1);
			select(u : (t > until[e] -> t : until[e]) + 1 .. TICKS);
			GOAL_CLAIM(e, t);
			begun = (i == begun -> i + 1 : begun);
			send(CLAIM, e, u);
			nxt[i] = t;
			printf("node %d: claims by write %d: swaps version %d, ticks %d to %d\n", i, w, e, t, u - 1)
		:: else /* used up to the horizon */
		fi;
		w = 0; e = 0; t = 0; u = 0 }

	/* term.go, extend: the same or a higher bound, guarded by the version last seen.
	 * On a lossy store loss may have passed since some bounds were acknowledged;
	 * if it has, the store can't lose them any more. */
	:: atomic { ver[i] != 0 && ver[i] != GONE && open[i] == 0 && !sealed[i] && spare[i] > 0 ->
		select(u : until[ver[i]] .. TICKS);
#if defined(LOSSY) && !defined(UNCONFIRMED)
		do /* which of them: the bound of e and those before it */
		:: e < REQUESTS -> e++
		:: break
		od;
		if
		:: e > 0 && (pend[i] & (1 << (e - 1))) ->
			e = i * REQUESTS + e;
			d_step {
				for (z : i * REQUESTS + 1 .. (i + 1) * REQUESTS) {
					if
					:: (pend[i] & BIT(z)) && until[z] <= until[e] -> aged[i] = aged[i] | BIT(z); settle(z)
					:: else
					fi
				}
				z = 0
			}
			printf("node %d: loss has passed since write %d was acknowledged\n", i, e)
		:: else
		fi;
		e = 0;
#endif
		send(EXTEND, ver[i], u);
		MUTANT_EXTEND(u);
		printf("node %d: extends by write %d: swaps version %d, until %d\n", i, w, ver[i], u);
#ifdef LOSSY
		d_step { tidy() };
#endif
		w = 0; u = 0 }

	/* The store acknowledges. Or, write.go, settle: there is no reply, or a conflict, so it
	 * reads the register, and finds its own bytes there. (The version that guarded them: it
	 * sends them again, and the wire has them already. Anything else: the term is
	 * lost, as below.) */
	:: atomic { open[i] != 0 && took[open[i]] ->
		if
		:: printf("node %d: write %d is acknowledged\n", i, open[i])
		:: stands[open[i]] -> GOAL_ADOPT; printf("node %d: reads its write %d in the register\n", i, open[i])
		fi;
		d_step { w = open[i]; landed(w); w = 0 } }

	/* A crash, a lost term, a clock that ended it, a claim given up. */
	:: atomic { open[i] != 0 || ver[i] != 0 ->
		printf("node %d: crashes, or gives up\n", i);
		d_step { forget() } }

	/* end.go, releaseAsked, while a write is open: the generator is sealed, and that is
	 * never undone. Its outcome is awaited first. */
	:: atomic { open[i] != 0 && !sealed[i] ->
		printf("node %d: is asked to release\n", i);
		d_step { SEAL; pend[i] = 0; aged[i] = 0; tidy() } }

	/* end.go, release: sealed, and nothing else is open. until comes down to above what
	 * was stamped. */
	:: atomic { ver[i] != 0 && ver[i] != GONE && open[i] == 0 && spare[i] > 0 ->
		d_step { SEAL; pend[i] = 0; aged[i] = 0 }
		u = RELEASED;
		u = (u < until[ver[i]] -> u : until[ver[i]]);
		send(RELEASE, ver[i], u);
		printf("node %d: releases by write %d: swaps version %d, until %d\n", i, w, ver[i], u);
#ifdef LOSSY
		d_step { tidy() };
#endif
		w = 0; u = 0 }

	/* The generator stamps a tick. Nobody else may have stamped it. */
	:: atomic { CAN_STAMP ->
		select(t : nxt[i] .. LAST_STAMP);
		printf("node %d: stamps tick %d\n", i, t);
		GOAL_STAMP(t);
		nxt[i] = t + 1;
		if
		:: who == 0 -> tick = t; who = i + 1; printf("it is remembered\n")
		:: who == 0 || t != tick
		:: who != 0 && t == tick -> assert(who == i + 1)
		fi;
		t = 0 }

	MUTANT_STEPS
	od
}

init {
	byte n;
	atomic {
		firm[0] = true; /* that there is no register can't be lost */
		for (n : 0 .. NODES - 1) {
			spare[n] = REQUESTS
		}
		for (n : 1 .. WRITES) {
			run Wire(n)
		}
#ifdef LOSSY
		run Failover();
#endif
		for (n : 0 .. NODES - 1) {
			run Node(n)
		}
		n = 0
	}
}
