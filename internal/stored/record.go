package stored

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"snowfence.example/snowfence/store"
)

// format is the version of the records that this program writes. A program
// that changes what a record means, or adds a field, counts it up.
//
// A record with a field that this program does not know is refused, not
// carried along: a field that is there may bear on safety, and a program that
// can't know so must not claim the register. Programs that know more write a
// greater format, and are refused by that.
const format = 1

// encodeRecord writes a record as JSON, with every field present.
func encodeRecord(record any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(record); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	value := bytes.TrimSuffix(b.Bytes(), []byte("\n"))
	if err := store.ValidateValue(value); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrRecord, err)
	}
	return value, nil
}

// decodeRecord reads a record's fields. What they say is for the caller to
// check, and that the record is written as it must be, for checkText.
func decodeRecord(value []byte, fields any) error {
	if err := store.ValidateValue(value); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if err := json.Unmarshal(value, fields); err != nil {
		return explain(value, err)
	}
	return nil
}

// checkText returns an error unless a record's text is the one that this
// program writes for it, but for blanks between the tokens. So no field is
// missing, null, repeated, unknown or misspelt, and nothing is ever taken for
// zero because it was not understood. Somebody who edits a record by hand
// changes values, not the order of the fields.
func checkText(value []byte, record interface{ Encode() ([]byte, error) }) error {
	again, err := record.Encode()
	if err != nil {
		return err
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, value); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if !bytes.Equal(compact.Bytes(), again) {
		return explain(value, fmt.Errorf("this program would write it as %s", again))
	}
	return nil
}

// explain says why a record can't be used: first of all because a newer
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
		return fmt.Errorf("%w: field %q is %q: must be %d lower-case hexadecimal digits", ErrRecord, field, text, 2*n)
	}
	return nil
}
