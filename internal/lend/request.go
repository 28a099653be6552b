package lend

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"math/big"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

// Borrower is who asks, and when.
type Borrower struct {
	// Now is the borrower's wall clock just before this try. Ticks follow from it. A release may leave it out.
	Now time.Time

	// Host, PID and Program are for people; empty and zero are fine. A release repeats the ones of the
	// extension that it calls open.
	Host    string // at most 255 bytes
	PID     int
	Program string // at most 50 bytes
	Token   string // the name of the client's token; the daemon knows it
}

// maxProgram is the greatest length of a program's name in bytes. With the longest name of a token it fits a register.
const maxProgram = 50

// process is how the register shows the borrower.
func (b Borrower) process() stored.Process {
	return stored.Process{Host: b.Host, PID: b.PID, Version: stored.LentTo(b.Program, b.Token)}
}

// check returns a *[stored.ConfigError] for a borrower that no register can show.
func (b Borrower) check() error {
	return cmp.Or(
		stored.RefuseIf(len(b.Program) > maxProgram, "program", b.Program, fmt.Sprintf("must be at most %d bytes", maxProgram)),
		stored.RefuseIf(b.PID < 0, "pid", b.PID, "must be 0 or more"),
		stored.CheckProcess(b.process()),
	)
}

// Extension asks for ticks up to a window from now.
type Extension struct {
	Borrower
	Lease Lease
	Mark  string // 16 hexadecimal digits, new for each extension and the same for its retries
}

// Release gives a worker id back.
type Release struct {
	Borrower
	Lease Lease
	Mark  string // as in an [Extension]

	// Next is above every tick that was stamped, from the floor to the last bound that was answered. Nil means that the
	// worker id rests until that bound has passed.
	Next *snowfence.Tick

	// Open is the mark of an extension without an answer; empty if there is none.
	Open string
}

// checkMark returns a *[stored.ConfigError] unless the text is the mark of a request.
func checkMark(field, text string) error {
	b, err := hex.DecodeString(text)
	wrong := err != nil || len(b) != 8 || hex.EncodeToString(b) != text
	return stored.RefuseIf(wrong, field, text, "must be 16 lower-case hexadecimal digits, from the system's random source")
}

// Answer is the answer to a claim or an extension: all that a borrower needs to mint.
type Answer struct {
	Lease  Lease
	Mark   string // of the extension; empty for a claim
	Layout snowfence.Layout
	Window time.Duration // how far ahead of the borrower's clock the bound lies
	Loss   time.Duration // how much the store can lose; 0 if it loses nothing

	// Floor is the first tick that may be stamped, and Lease.Until the bound above the last.
	Floor snowfence.Tick

	// MaxBehind is how far the borrower's clock may step back before it claims another worker id.
	MaxBehind time.Duration
}

// Base is the bits that all ids of the lease have in common, as a decimal number: worker id, version and variant.
func (a Answer) Base() string { return a.compose(0) }

// Check is the id of the floor's first sequence number, without random bits, as a decimal number. A borrower compares it
// with its own.
func (a Answer) Check() string { return a.compose(a.Floor) }

// Datacenter is the worker number's upper part.
func (a Answer) Datacenter() int64 { return a.Lease.Worker >> a.Layout.Bits(snowfence.Worker) }

// compose returns an id as a decimal number. The tick and the worker number of an answer fit the layout.
func (a Answer) compose(tick snowfence.Tick) string {
	parts := snowfence.Parts{
		Tick: tick, Datacenter: a.Datacenter(), Worker: a.Lease.Worker & (1<<a.Layout.Bits(snowfence.Worker) - 1),
	}
	if !a.Layout.Wide {
		id, _ := a.Layout.Compose(parts)
		return id.String()
	}
	id, _ := a.Layout.ComposeWide(parts)
	return new(big.Int).SetBytes(id[:]).String()
}
