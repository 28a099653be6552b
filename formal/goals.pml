/*
 * A model in which nothing happens has no errors. Each goal is something that
 * must be possible; asserting that it never happens must fail. GOAL 0 is none.
 */

#define REACHED assert(false)

#if GOAL == 1 /* two terms of different nodes both issue */
byte issued; /* the nodes that did */
#endif
#if GOAL == 4
byte high;        /* the until that a release lowered */
bool under[NODES]; /* its claim begins below that */
#endif
#if GOAL == 6
byte robbed; /* the node whose acknowledged write was lost, + 1 */
#endif
#if GOAL == 8
byte first[NODES]; /* the until of the claim */
#endif

#if GOAL == 3 /* a write takes effect after its sender has forgotten it */
#define GOAL_TAKES_EFFECT(w) assert(kind[w] != ADRIFT)
#elif GOAL == 4
#define GOAL_TAKES_EFFECT(w) high = (kind[w] == RELEASE && until[w] < until[cur] -> until[cur] : (kind[w] == CLAIM -> high : 0))
#else
#define GOAL_TAKES_EFFECT(w) skip
#endif

#if GOAL == 4
#define GOAL_CLAIM(e, t) under[i] = (t < high)
#else
#define GOAL_CLAIM(e, t) skip
#endif

#if GOAL == 2 /* a write whose reply was lost is found in the register */
#define GOAL_ADOPT REACHED
#else
#define GOAL_ADOPT skip
#endif

#if GOAL == 6
#define GOAL_LOST robbed = (ver[SENDER(cur)] == cur -> SENDER(cur) + 1 : robbed)
#else
#define GOAL_LOST skip
#endif

#if GOAL == 8
#define GOAL_LANDED(w) first[i] = (kind[w] == CLAIM -> until[w] : first[i])
#else
#define GOAL_LANDED(w) skip
#endif

#if GOAL == 1
#define GOAL_STAMP(t) assert((issued & ~(1 << i)) == 0); issued = issued | (1 << i)
#elif GOAL == 4 /* a release lowers until, and what it freed is stamped by the next term */
#define GOAL_STAMP(t) assert(!(under[i] && t < high))
#elif GOAL == 5 /* a tick is stamped: on a lossy store, under a bound that was confirmed */
#define GOAL_STAMP(t) REACHED
#elif GOAL == 6 /* after an acknowledged write was lost, another node issues */
#define GOAL_STAMP(t) assert(robbed == 0 || robbed == i + 1)
#elif GOAL == 7 /* a node issues while its worker id is another's already */
#define GOAL_STAMP(t) assert(ver[i] != GONE)
#elif GOAL == 8 /* a tick is stamped that only an extension made usable */
#define GOAL_STAMP(t) assert(t < first[i])
#else
#define GOAL_STAMP(t) skip
#endif
