package stored

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"snowfence.example/snowfence/store"
)

// format is the version of the records that this program writes. A change of a record's
// meaning, or a new field of a register or namespace, needs a greater one. A page or a counter may get a
// field that is left out where it is zero. An earlier program refuses the record while it has that.
//
// A record with an unknown field is refused, not carried along. The field may be one of
// safety, and a program without that knowledge must not claim the register. Newer programs
// write a greater format, and their records are refused for that.
const format = 1

// record is the written object of JSON.
type record interface {
	// text returns a struct for package json to write and to read: every field of
	// the text in its order. It points into the record, for all but the format.
	text() any
	// check returns an error if the record contradicts itself.
	check() error
	// Encode writes the record.
	Encode() ([]byte, error)
}

// encode writes a record of at most limit bytes.
func encode(r record, limit int) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(r.text()); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	text := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	return text, fits(text, limit)
}

// decode reads a record of at most limit bytes into r, which is empty. It returns an
// error unless the text is the one that this program writes for it, but for blanks
// between the tokens. So no field is missing, null, repeated, unknown or misspelt,
// and nothing is ever taken for zero because it was not understood. Somebody who
// edits a record by hand changes values, not the order of the fields.
func decode(text []byte, r record, limit int) error {
	if err := fits(text, limit); err != nil {
		return err
	}
	if err := json.Unmarshal(text, r.text()); err != nil {
		return explain(text, err)
	}
	if err := r.check(); err != nil {
		return explain(text, err)
	}
	again, err := r.Encode()
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, text); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if !bytes.Equal(compact.Bytes(), again) {
		return explain(text, fmt.Errorf("this program would write it as %s", again))
	}
	return nil
}

func fits(text []byte, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%w: it has %d bytes: must be at most %d", ErrRecord, len(text), limit)
	}
	return nil
}

// inner is a record within another one.
type inner struct{ record }

func (i inner) MarshalJSON() ([]byte, error)    { return i.Encode() }
func (i inner) UnmarshalJSON(text []byte) error { return decode(text, i.record, store.MaxValue) }

// quoted is a string in the text; an empty one is nil.
type quoted []byte

func (q quoted) MarshalText() ([]byte, error) { return q, nil }

func (q *quoted) UnmarshalText(text []byte) error {
	*q = append(quoted(nil), text...)
	return nil
}

// duration is written as people write it: "900ms".
type duration time.Duration

func (d duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

func (d *duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	*d = duration(v)
	return err
}

// age is a duration that is left out when it is zero.
type age duration

func (a age) MarshalText() ([]byte, error)     { return duration(a).MarshalText() }
func (a *age) UnmarshalText(text []byte) error { return (*duration)(a).UnmarshalText(text) }
func (a *age) IsZero() bool                    { return *a == 0 }

// optional is a text that is left out when it is empty.
type optional string

func (o *optional) IsZero() bool { return *o == "" }

// explain returns why a record can't be used: first of all because a newer
// program wrote it, if so.
func explain(value []byte, err error) error {
	var header struct {
		Format int64 `json:"format"`
	}
	if json.Unmarshal(value, &header) == nil && header.Format > format {
		err = fmt.Errorf("it has format %d, and this program knows %d: a newer program wrote it", header.Format, format)
	}
	return fmt.Errorf("%w: %w", ErrRecord, err)
}

// checkHex returns an error unless text is n bytes in lower-case hexadecimal.
func checkHex(field, text string, n int) error {
	b, err := hex.DecodeString(text)
	if err != nil || len(b) != n || hex.EncodeToString(b) != text {
		return fmt.Errorf("field %q is %q: must be %d lower-case hexadecimal digits", field, text, 2*n)
	}
	return nil
}
