package faultstore

import (
	"hash/fnv"
	"math/rand/v2"
	"time"
)

// A Verb is a method of a store.
type Verb string

// The verbs that can fail. Close is always passed on.
const (
	Get    Verb = "get"
	Swap   Verb = "swap"
	List   Verb = "list"
	Traits Verb = "traits"
)

// A Call is one call of a faulty store, as a [Plan] sees it.
type Call struct {
	Verb Verb
	Key  string // the key, or List's prefix; empty for Traits
	N    uint64 // how many calls of this verb and key there have been, this one included
}

// A Fault is the failure of a call. The zero Fault is none. Its parts combine,
// and happen in the order of the fields.
type Fault struct {
	// Delay holds the call back before it reaches the engine. A context that
	// ends meanwhile ends the call, which then never reaches the engine.
	Delay time.Duration

	// Before fails the call with ErrInjected; it never reaches the engine.
	Before bool

	// Late fails a swap with ErrInjected at once, and keeps it until
	// Store.Deliver carries it out: a request that overtakes its own timeout.
	// Other verbs fail as by Before.
	Late bool

	// Again carries a swap out, and keeps a copy of it until Store.Deliver carries
	// that out, too: a request that the network doubled. It means nothing to other
	// verbs.
	Again bool

	// Stale answers a read from this client's earlier answers: each register as
	// it was one state earlier, if more than one of its states were seen. It
	// means nothing to Swap and Traits.
	Stale bool

	// LostReply carries the call out and then fails it with ErrInjected. A swap
	// took effect then, or met a conflict: its caller can't know. A List fails
	// after its first entry.
	LostReply bool

	// ReplyDelay holds the answer back. A context that ends meanwhile ends the
	// call with the context's error, whatever the engine answered.
	ReplyDelay time.Duration
}

// A Plan chooses the fault of a call. It is called once for each call and must
// be safe for concurrent use.
type Plan func(Call) Fault

// Rates are the probabilities of faults, each from 0 to 1 and drawn on its
// own.
type Rates struct {
	Before    float64
	Late      float64
	Stale     float64
	LostReply float64
	Again     float64

	Delay    float64       // the probability of a delay, for each way
	MaxDelay time.Duration // a delay is drawn evenly from 0 up to this
}

// Seeded returns a plan that draws faults at the given rates. A call's faults
// depend on the seed and the call alone: the same calls meet the same faults,
// in whatever order goroutines make them.
func Seeded(seed uint64, rates Rates) Plan {
	return func(call Call) Fault {
		name := fnv.New64a()
		// A hash's Write never returns an error.
		_, _ = name.Write([]byte(call.Verb))
		_, _ = name.Write([]byte{0})
		_, _ = name.Write([]byte(call.Key))
		draw := rand.New(rand.NewPCG(seed^name.Sum64(), call.N))
		// Each field draws whether or not its rate is zero, so that changing
		// one rate leaves the other faults where they were.
		hits := func(rate float64) bool { return draw.Float64() < rate }
		delay := func() time.Duration {
			length := time.Duration(draw.Float64() * float64(rates.MaxDelay))
			if !hits(rates.Delay) {
				return 0
			}
			return length
		}
		return Fault{
			Delay:      delay(),
			Before:     hits(rates.Before),
			Late:       hits(rates.Late),
			Stale:      hits(rates.Stale),
			LostReply:  hits(rates.LostReply),
			ReplyDelay: delay(),
			Again:      hits(rates.Again),
		}
	}
}

// Always returns the plan that does f to every call.
func Always(f Fault) Plan { return func(Call) Fault { return f } }

// Nth returns the plan that does f to the nth call, counted from 1, of a verb
// and key, and nothing to others.
func Nth(verb Verb, key string, n uint64, f Fault) Plan {
	return Only(Always(f), func(call Call) bool { return call == Call{verb, key, n} })
}

// Only returns the plan that follows p for the calls that it is meant for, and
// does nothing to others.
func Only(p Plan, meant func(Call) bool) Plan {
	return func(call Call) Fault {
		if !meant(call) {
			return Fault{}
		}
		return p(call)
	}
}
