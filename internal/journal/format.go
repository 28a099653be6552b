package journal

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence/internal/disk"
)

// A file of the journal, numbers big-endian:
//
//	 0  7  "SNOWJRN"
//	 7  1  format, 1
//	 8  4  length of the entry, n
//	12  n  entry, as JSON
//	 … 32  SHA-256 of all bytes before
//	 …     the rest of a longer entry
//
// A later format keeps the first eight bytes, so that this version can distinguish it from
// damage.
const (
	magic      = "SNOWJRN"
	format     = 1
	headerSize = 12

	// maxFile is the greatest size of a file: a page, quoted, and an entry around
	// it.
	maxFile = 64 << 10
)

// entry is the content of one file.
type entry struct {
	// Number counts the entries of one journal from 1. Odd ones are in one file, even ones
	// in the other.
	Number uint64 `json:"number"`

	// Place is where it was written.
	Place Place `json:"place"`

	// Other is the stamp of the other file, with the entry before this one, taken
	// after that was written.
	Other disk.Stamp `json:"other"`

	// Page is the holder's page. It is empty in the first entry, which only provides a
	// stamp for the second.
	Page string `json:"page"`
}

// encode returns the file of an entry.
func (e entry) encode() ([]byte, error) {
	text, err := json.Marshal(e)
	if err != nil {
		return nil, err
	}
	b := append([]byte(magic), format)
	b = binary.BigEndian.AppendUint32(b, uint32(len(text)))
	b = append(b, text...)
	sum := sha256.Sum256(b)
	b = append(b, sum[:]...)
	if len(b) > maxFile {
		return nil, fmt.Errorf("a page of %d bytes makes a file of %d: must be at most %d", len(e.Page), len(b), maxFile)
	}
	return b, nil
}

// decode reads the file of an entry.
func decode(b []byte) (entry, error) {
	var e entry
	switch {
	case !bytes.HasPrefix(b, []byte(magic)) && !strings.HasPrefix(magic, string(b)):
		return e, errors.New("it is not a journal")
	case len(b) < headerSize:
		return e, errors.New("it is cut short")
	case b[len(magic)] > format:
		return e, fmt.Errorf("it has format %d, and this program knows %d: a newer program wrote it", b[len(magic)], format)
	case b[len(magic)] != format:
		return e, fmt.Errorf("it has format %d", b[len(magic)])
	}
	end := headerSize + int64(binary.BigEndian.Uint32(b[len(magic)+1:]))
	if end+sha256.Size > int64(len(b)) {
		return e, errors.New("it is cut short")
	}
	if sum := sha256.Sum256(b[:end]); !bytes.Equal(sum[:], b[end:end+sha256.Size]) {
		return e, errors.New("its checksum is wrong: it is torn or altered")
	}
	decoder := json.NewDecoder(bytes.NewReader(b[headerSize:end]))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&e); err != nil {
		return entry{}, fmt.Errorf("its entry: %w", err)
	}
	if e.Number < 1 {
		return entry{}, errors.New("its entry has no number")
	}
	return e, nil
}
