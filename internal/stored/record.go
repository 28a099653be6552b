package stored

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"snowfence.example/snowfence/store"
)

// format is the version of the records that this program writes. A change of a record's
// meaning, or a new field, needs a greater one.
//
// A record with an unknown field is refused, not carried along. The field may be one of
// safety, and a program without that knowledge must not claim the register. Newer programs
// write a greater format, and their records are refused for that.
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

// decodeRecord reads a record's fields. The caller checks their values, and checkText the
// record's spelling.
func decodeRecord(value []byte, fields any) error {
	if err := store.ValidateValue(value); err != nil {
		return fmt.Errorf("%w: %w", ErrRecord, err)
	}
	if err := json.Unmarshal(value, fields); err != nil {
		return explain(value, err)
	}
	return nil
}

// checkText returns an error unless a record's text is this program's own spelling of it,
// but for blanks between the tokens. So no field is missing, null, repeated, unknown or
// misspelt, and no value counts as zero because it was not understood. People who edit a
// record by hand may change values, not the order of the fields.
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
