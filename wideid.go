package snowfence

import (
	"context"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"math/bits"
	"slices"
	"strings"
	"time"
)

// WideID is a unique number of up to 128 bits, for a wide [Layout]. Its bytes stand with the
// highest first, so they sort as the numbers do. Under the preset uuid8 it is a UUID of version 8:
//
//	 127                  80 79  76 75       64 63 62 61      42 41       0
//	+----------------------+------+------------+-----+----------+----------+
//	| time: 48 bits of ms  | 1000 | sequence:12| 10  |worker: 20|random: 42|
//	+----------------------+------+------------+-----+----------+----------+
//
// Under the preset objectid the low 96 bits are an ObjectID of MongoDB:
//
//	 127       96 95            64 63              24 23        0
//	+------------+----------------+------------------+-----------+
//	|     0      | time: 32 bits s|    worker: 40    |sequence:24|
//	+------------+----------------+------------------+-----------+
//
// Time, worker number and sequence make it unique. The random bits only make it hard to guess:
// with 42 of them, one guess in 4·10^12 is right. They are no secret, see [GeneratorConfig].
//
// A WideID is a plain value, and converts to and from the [16]byte types of UUID packages. Text,
// JSON and databases have it as a UUID; see [Layout.Text] for the other spelling.
type WideID [16]byte

// uuidWidth is the length of a UUID's text.
const uuidWidth = 36

// ParseWide reads a WideID: 32 hexadecimal digits with the hyphens of a UUID, or up to 32 digits
// without, in either case. An *[IDError] is returned for anything else.
func ParseWide(s string) (id WideID, err error) {
	const form = "wide"
	digits := s
	if len(s) == uuidWidth {
		for _, i := range [...]int{8, 13, 18, 23} {
			if s[i] != '-' {
				return WideID{}, badByte(form, s, i, "hyphen")
			}
		}
		digits = s[:8] + s[9:13] + s[14:18] + s[19:23] + s[24:]
	}
	if len(digits) == 0 || len(digits) > 2*len(id) {
		return WideID{}, newIDError(form, s, -1, "must be a UUID, or 1 to 32 hexadecimal digits")
	}
	digits = strings.Repeat("0", 2*len(id)-len(digits)) + digits
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil {
		return WideID{}, newIDError(form, s, -1, "has a byte that is no hexadecimal digit")
	}
	return id, nil
}

// Text returns an id of the layout as its readers expect it: a UUID for a layout with a version,
// otherwise as many hexadecimal digits as the layout's bits need, so 24 for an ObjectID. Those
// texts sort as the ids do. [ParseWide] reads both. No text has 16 bytes, which [WideID.Scan] takes
// as they are: where 16 digits are needed, there are 17.
func (l Layout) Text(id WideID) string {
	return string(l.AppendID(make([]byte, 0, uuidWidth), id))
}

// AppendID appends the form of [Layout.Text].
func (l Layout) AppendID(dst []byte, id WideID) []byte {
	if l.UUID() {
		dst, _ = id.AppendText(dst)
		return dst
	}
	var digits [2 * len(id)]byte
	hex.Encode(digits[:], id[:])
	width := (l.TotalBits() + 3) / 4
	if width == len(id) {
		width++ // databases give a text and the bytes of an id in the same way
	}
	return append(dst, digits[len(digits)-width:]...)
}

// String returns the text of a UUID: 32 lower-case hexadecimal digits with hyphens.
func (id WideID) String() string {
	text, _ := id.AppendText(make([]byte, 0, uuidWidth))
	return string(text)
}

// AppendText appends the form of [WideID.String]. It never fails.
func (id WideID) AppendText(dst []byte) ([]byte, error) {
	from := 0
	for _, to := range [...]int{4, 6, 8, 10, 16} {
		if from > 0 {
			dst = append(dst, '-')
		}
		dst = hex.AppendEncode(dst, id[from:to])
		from = to
	}
	return dst, nil
}

// MarshalText returns the form of [WideID.String]. It never fails. JSON has it as a string.
func (id WideID) MarshalText() ([]byte, error) { return id.AppendText(nil) }

// UnmarshalText reads as [ParseWide] does, with its errors.
func (id *WideID) UnmarshalText(text []byte) (err error) {
	*id, err = ParseWide(string(text))
	return err
}

// UnmarshalJSON reads a JSON string as [ParseWide] does, without escapes. An *[IDError] is returned
// for anything else, and for null, which only a *WideID can hold.
func (id *WideID) UnmarshalJSON(data []byte) error {
	n := len(data)
	switch {
	case string(data) == "null":
		return &IDError{"JSON", "null", -1, "null is no id; read it into a *WideID"}
	case n < 2 || data[0] != '"' || data[n-1] != '"':
		return newIDError("JSON", data, -1, "must be a string: a number would be rounded")
	}
	return id.UnmarshalText(data[1 : n-1])
}

// Value hands the id to a database as a UUID's text, for columns of type UUID or CHAR(36). It
// implements [driver.Valuer] and never fails. For a column of 16 bytes give id[:].
func (id WideID) Value() (driver.Value, error) { return id.String(), nil }

// Scan reads an id from a database: 16 bytes as they are, a text as [ParseWide] does. It
// implements [database/sql.Scanner]. An *[IDError] is returned for anything else, and for NULL;
// a sql.Null[WideID] holds that.
func (id *WideID) Scan(src any) error {
	if v, ok := src.([]byte); ok && len(v) == len(id) {
		copy(id[:], v)
		return nil
	}
	return scanText(src, id, "a wide id", "sql.Null[WideID]")
}

// ComposeWide is [Layout.Compose] for a wide layout. A *[LayoutError] is returned for a layout
// that is invalid or not wide.
func (l Layout) ComposeWide(p Parts) (WideID, error) {
	if err := l.needWide(); err != nil {
		return WideID{}, err
	}
	if err := l.check(p); err != nil {
		return WideID{}, err
	}
	return l.join(p).id(), nil
}

// join composes parts that were checked.
func (l Layout) join(p Parts) uint128 {
	var w uint128
	for _, f := range l.Fields {
		w = w.or(at128(l.value(p, f.Kind), uint(l.Shift(f.Kind))))
	}
	return w
}

// value returns the bits of a field: a part, or a UUID's version or variant.
func (l Layout) value(p Parts, kind FieldKind) uint64 {
	switch kind {
	case Version:
		return uuidVersion
	case Variant:
		return uuidVariant
	}
	return uint64(p.Value(kind))
}

// DecomposeWide is the reverse of [Layout.ComposeWide]. It reads ticks past the horizon too. An
// *[IDError] is returned for an id with a bit set above the layout's fields, or with another
// version or variant. A *[LayoutError] is returned for a layout that is invalid or not wide.
func (l Layout) DecomposeWide(id WideID) (Parts, error) {
	if err := l.needWide(); err != nil {
		return Parts{}, err
	}
	p, foreign, rest := l.split(id.number())
	switch {
	case foreign != 0:
		return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "has another " + foreign.String() + " than a UUID of version 8"}
	case rest != (uint128{}):
		return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "has more than " + countBits(l.TotalBits())}
	}
	return p, nil
}

// split is the reverse of join. It returns the field that is another than a UUID's, 0 for none,
// and the bits above the fields.
func (l Layout) split(w uint128) (p Parts, foreign FieldKind, rest uint128) {
	for _, f := range slices.Backward(l.Fields) {
		value := w.low & (1<<f.Bits - 1)
		w = w.shiftRight(uint(f.Bits))
		if f.Kind != Version && f.Kind != Variant {
			*p.at(f.Kind) = int64(value)
		} else if want := l.value(p, f.Kind); value != want && foreign == 0 {
			foreign = f.Kind
		}
	}
	return p, foreign, w
}

// BetweenWide is [Layout.Between] for a wide layout. In the bounds every bit below the time is 0,
// or 1. So those of the preset uuid8 hold for UUIDs of version 7 too, and for a column of both.
// A *[LayoutError] is returned for a layout that is invalid or not wide.
func (l Layout) BetweenWide(from, to time.Time) (lo, hi WideID, err error) {
	if err := l.needWide(); err != nil {
		return lo, hi, err
	}
	first, last, err := l.between(from, to)
	return first.id(), last.id(), err
}

// wideShape is how a generator of a wide layout makes an id of a slot.
type wideShape struct {
	prefix                 uint128 // worker, datacenter, version and variant, in place
	time, sequence, random uint128 // the factors that put a number in its place
	mask                   uint64  // of the random bits
}

func newWideShape(l Layout, prefix Parts) *wideShape {
	place := func(kind FieldKind) uint128 { return at128(1, uint(l.Shift(kind))) }
	return &wideShape{l.join(prefix), place(Time), place(Sequence), place(Random), 1<<l.Bits(Random) - 1}
}

// NextWide is [Generator.Next] for a wide layout. A *[LayoutError] is returned when the layout is not wide.
func (g *Generator) NextWide(ctx context.Context) (id WideID, err error) {
	slot, err := g.next(ctx, wideLane)
	if err == nil {
		g.composeWide(uint64(slot), &id)
	}
	return id, err
}

// FillWide is [Generator.Fill] for a wide layout. A *[LayoutError] is returned when the layout
// is not wide.
func (g *Generator) FillWide(ctx context.Context, ids []WideID) error {
	return g.FillWideWithin(ctx, g.policy.MaxWait, ids)
}

// FillWideWithin is [Generator.FillWithin] for a wide layout. A *[LayoutError] is returned when
// the layout is not wide.
func (g *Generator) FillWideWithin(ctx context.Context, limit time.Duration, ids []WideID) error {
	if err := g.refuseLane(wideLane); err != nil {
		return err
	}
	if len(ids) == 0 {
		return nil
	}
	if slot, ok := g.reserve(uint64(len(ids))); ok {
		for i := range ids {
			g.composeWide(slot+uint64(i), &ids[i])
		}
		return nil
	}
	slots := make([]ID, len(ids)) // under a wide layout an ID is a slot
	if err := g.acquire(ctx, limit, slots); err != nil {
		return err
	}
	for i, slot := range slots {
		g.composeWide(uint64(slot), &ids[i])
	}
	return nil
}

// composeWide makes the id of a slot.
func (g *Generator) composeWide(slot uint64, id *WideID) {
	s := g.wide
	w := s.prefix.or(s.time.times(slot >> (g.seqBits & 63))).or(s.sequence.times(slot & g.mask))
	if s.mask != 0 {
		w = w.or(s.random.times(g.rand() & s.mask))
	}
	binary.BigEndian.PutUint64(id[:8], w.high)
	binary.BigEndian.PutUint64(id[8:], w.low)
}

// uint128 is a number of 128 bits.
type uint128 struct{ high, low uint64 }

// at128 returns value·2^shift. Bits beyond the 128th are lost.
func at128(value uint64, shift uint) uint128 {
	// A shift by 64 or more gives zero, and so does one that wrapped around.
	return uint128{value<<(shift-64) | value>>(64-shift), value << shift}
}

func (w uint128) or(v uint128) uint128 { return uint128{w.high | v.high, w.low | v.low} }

// less returns w - 1.
func (w uint128) less() uint128 {
	low, borrow := bits.Sub64(w.low, 1, 0)
	return uint128{w.high - borrow, low}
}

// shiftRight is for less than 64 bits.
func (w uint128) shiftRight(n uint) uint128 {
	return uint128{w.high >> n, w.low>>n | w.high<<(64-n)}
}

// times returns w·n modulo 2^128.
func (w uint128) times(n uint64) uint128 {
	high, low := bits.Mul64(n, w.low)
	return uint128{high + n*w.high, low}
}

// id returns the number as bytes.
func (w uint128) id() (id WideID) {
	binary.BigEndian.PutUint64(id[:8], w.high)
	binary.BigEndian.PutUint64(id[8:], w.low)
	return id
}

func (id WideID) number() uint128 {
	return uint128{binary.BigEndian.Uint64(id[:8]), binary.BigEndian.Uint64(id[8:])}
}
