package lend

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"time"

	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/stored"
)

// Claim is a claim for a borrower under way: a holder of package lease up to its first bound, whose wall clock is the
// borrower's. The bound needs no confirmation here, on a lossy store neither: the borrower waits for that itself.
type Claim struct {
	terms    Terms
	secret   [16]byte      // of the last register that was to be claimed
	ahead    time.Duration // of the daemon's clock, before the borrower's
	state    lease.State
	begun    bool
	awaiting bool // an answer
}

// mostPatience is how long a claim asks a store that does not answer. Its borrower's wait is shorter.
const mostPatience = 10 * time.Second

// Claim begins a claim; now is the daemon's wall clock. A *[stored.ConfigError] is returned for what can't be claimed by, and a
// *[lease.ClockError] for a clock that is too far off.
func (t Terms) Claim(b Borrower, now time.Time) (*Claim, error) {
	if err := b.check(); err != nil {
		return nil, err
	}
	if err := judge(b.Now, now, t.EngineClock); err != nil {
		return nil, err
	}
	config := t.Config
	config.Loss, config.JournalAhead, config.Process = 0, 0, b.process()
	config.ClaimWait, config.RequestTimeout = mostPatience, mostPatience
	config.Lent = &lease.Lent{Known: t.Known, Ahead: now.Sub(b.Now)}
	state, err := lease.New(config)
	if err != nil {
		return nil, err
	}
	return &Claim{terms: t, ahead: now.Sub(b.Now), state: state}, nil
}

// judge returns a *[lease.ClockError] for a borrower's clock that is too far from this machine's. Where the engine has a
// clock that one is asked instead.
func judge(borrower, now time.Time, engine bool) error {
	offset := borrower.Sub(now)
	if engine || offset.Abs() <= stored.ClockTolerance {
		return nil
	}
	return &lease.ClockError{Offset: offset, Reference: "the daemon's clock"}
}

// Next takes the answer to the call before, or the end of a pause, and returns the next step. The moment is the
// daemon's; its random bits are never used twice.
func (c *Claim) Next(reply lease.Reply, now lease.Moment) Step {
	var event lease.Event = reply
	switch {
	case !c.begun:
		c.begun, event = true, lease.Started{}
	case !c.awaiting:
		event = lease.Woken{}
	}
	// The nonce of a register is the hash of its secret, so the register does not reveal it. Each step has another one: a claim
	// that goes on to another worker id may have left its nonce in the register before.
	secret := [16]byte(now.Random[:16])
	holder := sha256.Sum256(secret[:])
	copy(now.Random[:16], holder[:16])
	now.Wall = now.Wall.Add(-c.ahead)
	state, requests := c.state.Step(event, now)
	c.state, c.awaiting = state, false
	step := Step{}
	for _, request := range requests {
		switch r := request.(type) {
		case lease.Call:
			step.Call, c.awaiting = r, true
			if written, err := stored.DecodeRegister(r.Value); err == nil && written.Holder == hex.EncodeToString(holder[:16]) {
				c.secret = secret
			}
		case lease.Start:
			return Step{Done: true}
		case lease.Report:
			switch r.What {
			case lease.GaveUp, lease.Broken:
				return Step{Done: true, Err: r.Err}
			case lease.Waiting:
				if errors.Is(r.Err, lease.ErrNoWorker) {
					return Step{Done: true, Err: r.Err} // the borrower comes again, and holds no connection meanwhile
				}
			}
		}
	}
	if at, ok := state.Wake(); ok && !c.awaiting {
		step.Pause = max(0, at-now.Monotonic)
	}
	return step
}

// Answer is that of a claim that is done without an error.
func (c *Claim) Answer() Answer {
	v := c.state.View()
	return c.terms.answer(of(v.Register, v.Worker, v.Version, c.secret), v.Register.Floor, "")
}
