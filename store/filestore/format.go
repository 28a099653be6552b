package filestore

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"strconv"
	"strings"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// The content of one version of a register, numbers big-endian:
//
//	 0  7  "SNOWREG"
//	 7  1  format, 1
//	 8 16  version, random
//	24  1  length of the key, k
//	25  2  length of the value, v
//	27  k  key
//	 …  v  value
//	 … 32  SHA-256 of all bytes before
//
// A later format keeps the first eight bytes, so that this version can distinguish it
// from damage.
const (
	magic      = "SNOWREG"
	format     = 1
	headerSize = 27
	sumSize    = sha256.Size

	// maxFile is the size of the largest register's file.
	maxFile = headerSize + store.MaxKey + store.MaxValue + sumSize
)

// encodeRegister returns the content of a version. Key and value must be valid.
func encodeRegister(key string, version storeclient.Token, value []byte) []byte {
	b := make([]byte, 0, headerSize+len(key)+len(value)+sumSize)
	b = append(b, magic...)
	b = append(b, format)
	b = append(b, version[:]...)
	b = append(b, byte(len(key)))
	b = binary.BigEndian.AppendUint16(b, uint16(len(value)))
	b = append(b, key...)
	b = append(b, value...)
	sum := sha256.Sum256(b)
	return append(b, sum[:]...)
}

// decodeRegister reads the content of a version, which was found at path. Its error is a
// *FileError. The value is a part of b.
func decodeRegister(path string, b []byte) (store.Entry, error) {
	switch {
	case len(b) > maxFile:
		return store.Entry{}, foreign(path, "it is longer than any register")
	case !bytes.HasPrefix(b, []byte(magic)) && !strings.HasPrefix(magic, string(b)):
		return store.Entry{}, foreign(path, "it does not begin as a register does")
	case len(b) < headerSize:
		return store.Entry{}, damaged(path, "%d bytes, a register has at least %d", len(b), headerSize+1+sumSize)
	case b[len(magic)] > format:
		return store.Entry{}, newer(path, int(b[len(magic)]), format)
	case b[len(magic)] < format:
		return store.Entry{}, damaged(path, "format %d, the first is %d", b[len(magic)], format)
	}
	var version storeclient.Token
	copy(version[:], b[len(magic)+1:])
	keySize := int(b[24])
	valueSize := int(binary.BigEndian.Uint16(b[25:]))
	if size := headerSize + keySize + valueSize + sumSize; len(b) != size {
		return store.Entry{}, damaged(path, "%d bytes, its header gives %d", len(b), size)
	}
	content, sum := b[:len(b)-sumSize], b[len(b)-sumSize:]
	if want := sha256.Sum256(content); !bytes.Equal(sum, want[:]) {
		return store.Entry{}, damaged(path, "its checksum does not match")
	}
	e := store.Entry{
		Key:     string(content[headerSize : headerSize+keySize]),
		Value:   content[headerSize+keySize:],
		Version: store.Version(version.String()),
	}
	if err := cmp.Or(store.ValidateKey(e.Key), store.ValidateValue(e.Value)); err != nil {
		return store.Entry{}, damaged(path, "%v", err)
	}
	return e, nil
}

// The marker file makes a folder a store. It is written last when a store is
// created, so that where it stands everything else stands too. Its first line
// is for programs, the rest for people who find it.
const (
	markerHead   = "snowfence file store, format "
	markerFormat = 2
	markerBody   = "\n\n" +
		"Snowfence keeps here what it must not forget. Do not edit, copy or sync this\n" +
		"folder while it is in use, and do not restore an old copy of it lightly: ids\n" +
		"that were issued since could be issued again.\n"
)

// marker returns the marker of a format.
func marker(format int) string { return markerHead + strconv.Itoa(format) + markerBody }

// parseMarker returns the format that a marker names. Its error is a *FileError. The marker is
// constant, so a checksum is unnecessary.
func parseMarker(b []byte) (int, error) {
	for n := 1; n <= markerFormat; n++ {
		if string(b) == marker(n) {
			return n, nil
		}
	}
	if rest, ok := strings.CutPrefix(string(b), markerHead); ok {
		number, _, _ := strings.Cut(rest, "\n")
		if n, err := strconv.Atoi(number); err == nil && n > markerFormat {
			return 0, newer(markerName, n, markerFormat)
		}
		return 0, damaged(markerName, "it is not as it was written")
	}
	if strings.HasPrefix(markerHead, string(b)) {
		return 0, damaged(markerName, "%d bytes, it has %d", len(b), len(marker(markerFormat)))
	}
	return 0, foreign(markerName, "it does not begin as a store's does")
}
