package snowfence

import (
	"database/sql/driver"
	"encoding"
	"encoding/binary"
	"fmt"
	"log/slog"
	"math"
	"strconv"
	"time"
)

// ID is a unique 64-bit number. The [Layout] of its namespace gives its bits their meaning:
//
//	 63 62                                     0
//	+--+----------------------------------------+
//	| 0| time · datacenter · worker · sequence  |   one order of many
//	+--+----------------------------------------+
//
// Ids are minted in 63 bits, so they are never negative and order as signed and as unsigned numbers
// alike. A few other systems number with the 64th bit too (see [Layout.Unsigned]); their late ids
// are negative as an int64. Every form takes such an ID as its unsigned number:
//
//   - [ID.String] and the hex, base 32, base 62 and binary forms write it, and
//     the last four read it back and keep the order.
//   - [Parse], text and JSON are for ids of 63 bits: they refuse it in both
//     directions, so that a stray negative number is noticed where it leaves
//     or enters a program. [ParseUnsigned] reads it.
//   - A database's signed 64-bit column stores and returns its bits unchanged.
//
// The zero ID is an id like any other. An ID is a plain value: copy, compare and convert it freely.
type ID int64

// MaxID is the largest ID that is ever minted, 2^63 - 1.
const MaxID ID = math.MaxInt64

// Parse reads an id as [ID.String] writes it: decimal digits, 0 to 9223372036854775807,
// without sign, leading zero or blank. So an id has one spelling only. An *[IDError] is
// returned for anything else.
func Parse(s string) (ID, error) { return parseNumber(s, math.MaxInt64) }

// ParseUnsigned is [Parse] for the ids of systems with a 64th bit: it reads 0 to
// 18446744073709551615. A number above [MaxID] becomes a negative ID. An *[IDError] is
// returned for anything else.
func ParseUnsigned(s string) (ID, error) { return parseNumber(s, math.MaxUint64) }

// text is what the parsers read: strings and byte slices without a copy.
type text interface{ ~string | ~[]byte }

// parseNumber reads canonical decimal digits up to limit.
func parseNumber[T text](s T, limit uint64) (ID, error) {
	const form = "decimal"
	if len(s) == 0 {
		return 0, &IDError{form, "", -1, "is empty"}
	}
	var n uint64
	for i := 0; i < len(s); i++ {
		digit := uint64(s[i] - '0')
		if digit > 9 {
			return 0, badByte(form, s, i, "decimal digit")
		}
		// n*10 + digit <= limit, without overflowing on the way.
		if n > (limit-digit)/10 {
			return 0, newIDError(form, s, -1, fmt.Sprintf("is above %d", limit))
		}
		n = n*10 + digit
	}
	if s[0] == '0' && len(s) > 1 {
		return 0, newIDError(form, s, 0, "has a leading zero")
	}
	return ID(n), nil
}

// String writes the id in decimal, as [Parse] reads it. A negative ID is
// written as its unsigned number, which only [ParseUnsigned] reads.
func (id ID) String() string { return strconv.FormatUint(uint64(id), 10) }

// LogValue logs the id as a string, so that no reader of JSON logs rounds it.
func (id ID) LogValue() slog.Value { return slog.StringValue(id.String()) }

// AppendText appends the form of [ID.String]. An *[IDError] is returned, and
// nothing appended, for a negative ID, which UnmarshalText would refuse.
func (id ID) AppendText(dst []byte) ([]byte, error) {
	if id < 0 {
		return dst, &IDError{"text", id.String(), -1, "has the 64th bit set; the limit is 63 bits"}
	}
	return strconv.AppendInt(dst, int64(id), 10), nil
}

// MarshalText returns the form of [ID.AppendText], with its errors.
func (id ID) MarshalText() ([]byte, error) {
	return id.AppendText(make([]byte, 0, decimalWidth))
}

// UnmarshalText reads as [Parse] does, with its errors.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := parseNumber(text, math.MaxInt64)
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// MarshalJSON writes the id as a JSON string of decimal digits: JSON numbers above 2^53 are rounded
// by JavaScript and by many other readers. An *[IDError] is returned for a negative ID.
func (id ID) MarshalJSON() ([]byte, error) {
	dst := append(make([]byte, 0, decimalWidth+2), '"')
	dst, err := id.AppendText(dst)
	if err != nil {
		return nil, err
	}
	return append(dst, '"'), nil
}

// UnmarshalJSON reads a JSON string as [Parse] does, without escapes, or a JSON integer, exactly:
// 9007199254740993 stays 2^53 + 1. An *[IDError] is returned for anything else, a fraction or an
// exponent included, and for null, which only a [NullID] can hold.
func (id *ID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return &IDError{"JSON", "null", -1, "null is no id; read it into a NullID"}
	}
	if n := len(data); n >= 2 && data[0] == '"' && data[n-1] == '"' {
		data = data[1 : n-1]
	}
	return id.UnmarshalText(data)
}

// binaryWidth is the length of the binary form in bytes.
const binaryWidth = 8

// AppendBinary appends the id's 8 bytes, the highest first, so that binary keys
// sort as the numbers do. It never fails.
func (id ID) AppendBinary(dst []byte) ([]byte, error) {
	return binary.BigEndian.AppendUint64(dst, uint64(id)), nil
}

// MarshalBinary returns the form of [ID.AppendBinary]. It never fails.
func (id ID) MarshalBinary() ([]byte, error) {
	return id.AppendBinary(make([]byte, 0, binaryWidth))
}

// UnmarshalBinary reads the form of MarshalBinary. An *[IDError] is returned
// when there are not exactly 8 bytes.
func (id *ID) UnmarshalBinary(data []byte) error {
	if len(data) != binaryWidth {
		return newIDError("binary", data, -1, fmt.Sprintf("has %d bytes, not %d", len(data), binaryWidth))
	}
	*id = ID(binary.BigEndian.Uint64(data))
	return nil
}

// Value hands the id to a database as a signed 64-bit integer, for BIGINT columns. It
// implements [driver.Valuer] and never fails.
func (id ID) Value() (driver.Value, error) { return int64(id), nil }

// Scan reads an id from a database. It takes the 64 bits of an integer as they are, and
// reads a text as [Parse] does. It implements [database/sql.Scanner]. An *[IDError] is
// returned for anything else. NULL needs a [NullID], and floating point can't hold every id.
func (id *ID) Scan(src any) error {
	switch v := src.(type) {
	case int64:
		*id = ID(v)
		return nil
	case uint64: // MySQL's unsigned columns
		*id = ID(v)
		return nil
	}
	return scanText(src, id, "an id", "NullID")
}

// scanText reads a database's text, and refuses all else.
func scanText(src any, into encoding.TextUnmarshaler, what, null string) error {
	const form = "database value"
	switch v := src.(type) {
	case []byte:
		return into.UnmarshalText(v)
	case string:
		return into.UnmarshalText([]byte(v))
	case nil:
		return &IDError{form, "NULL", -1, "NULL is no id; scan it into a " + null}
	}
	return newIDError(form, fmt.Sprint(src), -1, fmt.Sprintf("a %T can't hold %s", src, what))
}

// NullID is an [ID] that may be missing: NULL in a database, null in JSON.
type NullID struct {
	ID    ID   // 0 when not Valid
	Valid bool // whether there is an id
}

// Value returns the id as [ID.Value] does, or nil when there is none.
func (n NullID) Value() (driver.Value, error) {
	if !n.Valid {
		return nil, nil
	}
	return n.ID.Value()
}

// Scan reads NULL, or an id as [ID.Scan] does, with its errors.
func (n *NullID) Scan(src any) error {
	if src == nil {
		*n = NullID{}
		return nil
	}
	return n.set(n.ID.Scan(src))
}

// MarshalJSON writes null, or the id as [ID.MarshalJSON] does.
func (n NullID) MarshalJSON() ([]byte, error) {
	if !n.Valid {
		return []byte("null"), nil
	}
	return n.ID.MarshalJSON()
}

// UnmarshalJSON reads null, or an id as [ID.UnmarshalJSON] does, with its errors.
func (n *NullID) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		*n = NullID{}
		return nil
	}
	return n.set(n.ID.UnmarshalJSON(data))
}

// set makes n valid if its id could be read.
func (n *NullID) set(err error) error {
	if err == nil {
		n.Valid = true
	}
	return err
}

// Parts are an id taken apart. Parts without a field in the layout are 0.
type Parts struct {
	Tick       Tick
	Datacenter int64
	Worker     int64
	Sequence   int64
	Random     int64 // of wide layouts only
}

// Value returns the part of that kind, 0 for an unknown one.
func (p Parts) Value(kind FieldKind) int64 { return *p.at(kind) }

// at returns the place of the part of that kind, and another one for an unknown kind.
func (p *Parts) at(kind FieldKind) *int64 {
	switch kind {
	case Time:
		return (*int64)(&p.Tick)
	case Datacenter:
		return &p.Datacenter
	case Worker:
		return &p.Worker
	case Sequence:
		return &p.Sequence
	case Random:
		return &p.Random
	}
	return new(int64)
}

// Compose puts an id together. A *[RangeError] is returned for a part that does not fit its
// field, or is not 0 without a field. A tick fits below [Layout.HorizonTick], so a composed
// ID is never negative. A *[LayoutError] is returned for a layout that is invalid or wide.
func (l Layout) Compose(p Parts) (ID, error) {
	if err := l.validateNarrow(); err != nil {
		return 0, err
	}
	if err := l.check(p); err != nil {
		return 0, err
	}
	return l.joinID(p), nil
}

// check reports the first part that does not fit.
func (l Layout) check(p Parts) error {
	if limit := l.HorizonTick(); p.Tick < 0 || p.Tick >= limit {
		return &RangeError{"tick", int64(p.Tick), int64(limit - 1)}
	}
	for _, kind := range [...]FieldKind{Datacenter, Worker, Sequence, Random} {
		value, limit := p.Value(kind), count(l.Bits(kind))
		if value < 0 || value >= limit {
			return &RangeError{kind.String(), value, limit - 1}
		}
	}
	return nil
}

// joinID is join for a layout of at most 64 bits.
func (l Layout) joinID(p Parts) ID { return ID(l.join(p).low) }

// Decompose takes an id apart. It is the reverse of [Layout.Compose], and reads the ids of an
// Unsigned layout past the horizon too. An *[IDError] is returned for an id with a bit set above
// the layout's fields, and a *[LayoutError] for a layout that is invalid or wide.
func (l Layout) Decompose(id ID) (Parts, error) {
	if err := l.validateNarrow(); err != nil {
		return Parts{}, err
	}
	p, _, above := l.split(uint128{0, uint64(id)})
	if above != (uint128{}) {
		return Parts{}, &IDError{"layout " + l.String(), id.String(), -1, "is above " + ID(uint64(1)<<l.TotalBits()-1).String()}
	}
	return p, nil
}

// WorkerNumber returns the one number of a datacenter and a worker: datacenter·2^w + worker,
// with w the worker's bits. The order of the fields does not matter. A *[RangeError] is
// returned for a part that does not fit its field.
func (l Layout) WorkerNumber(datacenter, worker int64) (int64, error) {
	if err := l.check(Parts{Datacenter: datacenter, Worker: worker}); err != nil {
		return 0, err
	}
	return datacenter<<l.Bits(Worker) | worker, nil
}

// SplitWorker is the reverse of [Layout.WorkerNumber]. A *[RangeError] is
// returned for a number that is not below [Layout.Workers].
func (l Layout) SplitWorker(number int64) (datacenter, worker int64, err error) {
	if limit := l.Workers(); number < 0 || number >= limit {
		return 0, 0, &RangeError{"worker number", number, limit - 1}
	}
	w := l.Bits(Worker)
	return number >> w, number & (1<<w - 1), nil
}

// Bounds returns the smallest and the largest id that can carry the tick of an instant, both
// inclusive. So the ids stamped from one instant to another lie from the first's lo to the second's
// hi. [ErrWorkerAboveTime] is returned when the datacenter or the worker is above the time. A
// *[RangeError] is returned for an instant before the epoch or past the horizon, and a
// *[LayoutError] for a layout that is invalid or wide.
func (l Layout) Bounds(t time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	if l.Fields[0].Kind != Time {
		return 0, 0, ErrWorkerAboveTime
	}
	p := Parts{Tick: l.TickAt(t)}
	if err := l.check(p); err != nil {
		return 0, 0, err
	}
	lo = l.joinID(p)
	return lo, lo | (1<<l.Shift(Time) - 1), nil
}

// WorkerBounds returns the smallest and the largest id of a worker number with the tick of an
// instant, both inclusive. It serves every order of fields. Where the datacenter or the worker is
// below the sequence, ids of other workers lie between the bounds too. The errors are those of
// [Layout.Bounds], except for ErrWorkerAboveTime, and those of [Layout.SplitWorker].
func (l Layout) WorkerBounds(worker int64, t time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	p := Parts{Tick: l.TickAt(t)}
	if p.Datacenter, p.Worker, err = l.SplitWorker(worker); err != nil {
		return 0, 0, err
	}
	if err := l.check(p); err != nil {
		return 0, 0, err
	}
	lo = l.joinID(p)
	p.Sequence = l.Sequences() - 1
	return lo, l.joinID(p), nil
}

// Between returns the smallest and the largest id of a span of time, both inclusive. An id
// belongs to the span if its tick begins at or after from, and before to. So
// `WHERE id BETWEEN lo AND hi` selects exactly the ids of the span. A span that begins before
// the epoch or ends past the horizon is cut there.
//
// An error that wraps [ErrNoTick] is returned when no tick is left: the span is outside of the
// layout's life, is shorter than a tick, or ends before it begins. [ErrWorkerAboveTime] and a
// *[LayoutError] are returned as by [Layout.Bounds].
func (l Layout) Between(from, to time.Time) (lo, hi ID, err error) {
	if err := l.validateNarrow(); err != nil {
		return 0, 0, err
	}
	first, last, err := l.between(from, to)
	return ID(first.low), ID(last.low), err
}

// between returns the bounds of a span. Every bit below the time is 0 in lo, and 1 in hi.
func (l Layout) between(from, to time.Time) (lo, hi uint128, err error) {
	if l.Fields[0].Kind != Time {
		return lo, hi, ErrWorkerAboveTime
	}
	first, end := l.tickFrom(from), l.tickFrom(to)
	if first >= end {
		text := func(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
		return lo, hi, fmt.Errorf("%w from %s to %s: the layout's ticks of %s begin from %s on, and before %s",
			ErrNoTick, text(from), text(to), unitText(l.Unit), text(l.Epoch), text(l.Horizon()))
	}
	shift := uint(l.Shift(Time))
	return at128(uint64(first), shift), at128(uint64(end-1), shift).or(at128(1, shift).less()), nil
}

// tickFrom returns the first tick that begins at or after an instant, from 0 to the horizon.
func (l Layout) tickFrom(t time.Time) Tick {
	return min(max(l.TickAt(t.Add(-1)), -1), l.HorizonTick()-1) + 1
}
