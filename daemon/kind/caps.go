package kind

import (
	"context"
	"iter"
	"time"
)

// Capable is implemented by minters that can do more than mint.
type Capable interface {
	// Caps returns what the minter can do. The daemon calls it once, before the generator serves.
	Caps() Caps
}

// Caps is what a [Minter] can do beside minting. A field that is nil is something that it can't do, so the zero Caps are
// those of a minter that only mints. The functions are safe for concurrent use.
type Caps struct {
	// Most is how many ids one call of Mint can be asked for. 0 sets no limit beside the daemon's.
	Most int

	// Check returns why Mint would fail now, or nil. It uses nothing up and does not block.
	Check func() error

	// Ready returns nil while ids can be minted and will be for some time yet, and else the reason: a lease about to
	// end, a server out of reach. It does not block.
	Ready func() error

	Lease    func() Lease   // of a minter that holds a worker id
	Counter  func() Counter // of a minter whose ids a store counts
	Segments Segments       // of a minter that gives whole segments, too
	Series   Series         // of a minter whose numbers are reserved, and can't be minted
	Shows    Shower         // of a minter that shows the ids of another generator

	// Lend returns what lends worker ids beside the minter's own, or why it can't now.
	Lend func() (Lender, error)

	// Row reads the row of leaf_alloc that the minter counts on.
	Row func(ctx context.Context) (Row, error)
}

// CapsOf returns what a minter can do.
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
	// Of is the name of the other generator. It never changes.
	Of() string
	Show(id string) (text string, err error)
	Read(text string) (id string, err error)
}
