package kind

import (
	"context"
	"iter"
	"time"
)

// Capable is implemented by minters that can do more than mint.
type Capable interface {
	// Caps returns the minter's abilities. The daemon calls it once, before the generator serves.
	Caps() Caps
}

// Caps are the abilities of a [Minter] beside minting. A nil field is a missing ability, so the zero
// Caps belong to a minter that only mints. The functions are safe for concurrent use.
type Caps struct {
	// Most is how many ids one call of Mint can be asked for. 0 means the daemon's limit alone.
	Most int

	// Ready returns nil while ids can be minted and will be for some time yet, and else the reason: a lease about to
	// end, a server out of reach. It does not block.
	Ready func() error

	Lease    func() Lease   // of a minter that holds a worker id
	Counter  func() Counter // of a minter whose ids a store counts
	Segments Segments       // of a minter that gives whole segments, too
	Series   Series         // of a minter whose numbers are reserved, and can't be minted
	Shows    Shower         // of a minter that shows the ids of another generator

	// Lend returns a lender of worker ids beside the minter's own, or the reason why it can't now.
	Lend func() (Lender, error)

	// Row reads the row of leaf_alloc that the minter counts on.
	Row func(ctx context.Context) (Row, error)
}

// CapsOf returns a minter's abilities.
func CapsOf(m Minter) Caps {
	if c, ok := m.(Capable); ok {
		return c.Caps()
	}
	return Caps{}
}

// Segments gives whole segments.
type Segments interface {
	// Segment reserves the next one.
	Segment(ctx context.Context) (Range, error)
	// Step is how many numbers it will have.
	Step() int64
}

// Series gives numbers that are reserved, and then confirmed or voided.
type Series interface {
	// Text is a number as people write it.
	Text(number int64) string
	// Reserve reserves the next number. A timeout of zero means the generator's.
	Reserve(ctx context.Context, tenant string, timeout time.Duration) (Reservation, error)
	Confirm(ctx context.Context, tenant string, number int64, token string) error
	Void(ctx context.Context, tenant string, number int64, token, reason string) error
	// Audit returns every number that was ever reserved.
	Audit(ctx context.Context, tenant string) iter.Seq2[Entry, error]
}

// Shower shows the ids of another generator as texts, and reads them back. The daemon mints by the other generator.
type Shower interface {
	// Of is the name of the other generator. It stays the same.
	Of() string
	Show(id string) (text string, err error)
	Read(text string) (id string, err error)
}
