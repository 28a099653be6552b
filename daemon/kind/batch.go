package kind

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"

	"snowfence.example/snowfence"
)

// Form is the form of the ids of a batch.
type Form uint8

const (
	// Number is a 63-bit number. Its text is the canonical decimal, as that of
	// snowfence.ID.String.
	Number Form = iota + 1

	// Wide is 128 bits, the first byte the highest. Its text is that of a UUID
	// (RFC 9562): 32 hexadecimal digits with hyphens. A 128-bit id that is
	// spelt in another way is a Text.
	Wide

	// Text is whatever its minter writes: 1 to MaxText bytes of visible ASCII
	// without a quote or a backslash.
	Text
)

// String returns the form's word: number, wide or text.
func (f Form) String() string {
	switch f {
	case Number:
		return "number"
	case Wide:
		return "wide"
	case Text:
		return "text"
	}
	return fmt.Sprintf("Form(%d)", uint8(f))
}

// MaxText is the greatest length of a text id in bytes. The least is 1.
const MaxText = 255

// Errors of a [Batch].
var (
	// ErrForm is returned when ids of two forms would meet in one batch.
	ErrForm = errors.New("kind: a batch holds ids of one form only")

	// ErrText is returned when a text id is empty, too long, or has a byte
	// that is not visible ASCII, a quote or a backslash.
	ErrText = errors.New(`kind: a text id must have 1 to 255 bytes of visible ASCII without " and \`)
)

// Batch holds ids of one form. Its owner resets it and uses it again; it keeps
// the memory that it has grown to, so a batch in use allocates nothing. The
// zero value is empty and takes the form of the first ids that are added.
//
// A batch is not safe for concurrent use.
type Batch struct {
	form    Form // zero while nothing has been added since Reset
	numbers []snowfence.ID
	wides   []snowfence.WideID
	text    []byte // the text ids, end to end
	ends    []int  // where each of them ends in text
}

// Reset empties the batch and keeps its memory.
func (b *Batch) Reset() {
	b.form = 0
	b.numbers = b.numbers[:0]
	b.wides = b.wides[:0]
	b.text = b.text[:0]
	b.ends = b.ends[:0]
}

// Form returns the form of the ids in the batch, or zero when it is empty.
func (b *Batch) Form() Form { return b.form }

// Len returns how many ids the batch holds.
func (b *Batch) Len() int {
	// Two of the three are always empty.
	return len(b.numbers) + len(b.wides) + len(b.ends)
}

// GrowNumbers adds room for n ids and returns it for the caller to fill at
// once. Until it is filled it may hold anything; a caller that fails to fill
// it takes it back with [Batch.Truncate]. ErrForm is returned when the batch
// holds ids of another form.
func (b *Batch) GrowNumbers(n int) ([]snowfence.ID, error) {
	return grow(b, Number, &b.numbers, n)
}

// GrowWides is [Batch.GrowNumbers] for 128-bit ids.
func (b *Batch) GrowWides(n int) ([]snowfence.WideID, error) {
	return grow(b, Wide, &b.wides, n)
}

func grow[T any](b *Batch, form Form, ids *[]T, n int) ([]T, error) {
	if err := b.become(form); err != nil {
		return nil, err
	}
	had := len(*ids)
	*ids = slices.Grow(*ids, n)[:had+n]
	return (*ids)[had:], nil
}

// AppendText adds a copy of one text id. It returns ErrForm when the batch holds ids of another form,
// and ErrText for an invalid text.
func (b *Batch) AppendText(text []byte) error {
	if err := b.become(Text); err != nil {
		return err
	}
	if !validText(text) {
		return fmt.Errorf("%w: %q", ErrText, text[:min(len(text), MaxText)])
	}
	b.text = append(b.text, text...)
	b.ends = append(b.ends, len(b.text))
	return nil
}

// become makes form the batch's form, if the batch is still free to choose.
func (b *Batch) become(form Form) error {
	if b.form != form && b.Len() > 0 {
		return fmt.Errorf("%w: %s ids were added to a batch of %s ids", ErrForm, form, b.form)
	}
	b.form = form
	return nil
}

func validText(text []byte) bool {
	if len(text) == 0 || len(text) > MaxText {
		return false
	}
	for _, c := range text {
		if c <= ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// Truncate drops every id from the n-th on, counted from 0. A batch of fewer
// ids stays as it is.
func (b *Batch) Truncate(n int) {
	n = max(n, 0)
	if n >= b.Len() {
		return
	}
	switch b.form {
	case Number:
		b.numbers = b.numbers[:n]
	case Wide:
		b.wides = b.wides[:n]
	case Text:
		b.ends = b.ends[:n]
		b.text = b.text[:b.textStart(n)]
	}
}

// textStart returns where the i-th text id begins.
func (b *Batch) textStart(i int) int {
	if i == 0 {
		return 0
	}
	return b.ends[i-1]
}

// AppendID appends the text of the i-th id, counted from 0, to dst. It appends nothing when i is out of
// range.
func (b *Batch) AppendID(dst []byte, i int) []byte {
	if i < 0 || i >= b.Len() {
		return dst
	}
	switch b.form {
	case Number:
		return strconv.AppendUint(dst, uint64(b.numbers[i]), 10)
	case Wide:
		dst, _ = b.wides[i].AppendText(dst) // never fails
		return dst
	default:
		return append(dst, b.text[b.textStart(i):b.ends[i]]...)
	}
}

// Numbers returns the batch's own slice of 63-bit ids, empty in another form.
// It is valid until the batch is changed. Fronts that send numbers as such use
// it to spare the way through text.
func (b *Batch) Numbers() []snowfence.ID { return b.numbers }

// Ranges yields the 63-bit ids of the batch as runs of consecutive ids: the first id of each run, and its length.
func (b *Batch) Ranges() iter.Seq2[snowfence.ID, int] {
	return func(yield func(snowfence.ID, int) bool) {
		for rest := b.numbers; len(rest) > 0; {
			n := 1
			for n < len(rest) && rest[n] == rest[n-1]+1 {
				n++
			}
			if !yield(rest[0], n) {
				return
			}
			rest = rest[n:]
		}
	}
}

// Wides returns the batch's own slice of 128-bit ids, empty in another form.
// It is valid until the batch is changed.
func (b *Batch) Wides() []snowfence.WideID { return b.wides }

// Texts yields the text of each id in order, whatever the form. A yielded text is valid until the next
// step only.
func (b *Batch) Texts() iter.Seq[[]byte] {
	return func(yield func([]byte) bool) {
		var scratch [MaxText]byte
		for i := range b.Len() {
			if !yield(b.AppendID(scratch[:0], i)) {
				return
			}
		}
	}
}
