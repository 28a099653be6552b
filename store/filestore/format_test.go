package filestore

import (
	"bytes"
	"errors"
	"testing"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// FuzzDecodeRegister holds that only the encoder's output is taken for a register, bit by bit, and that
// everything else gets an error of a kind.
func FuzzDecodeRegister(f *testing.F) {
	f.Add([]byte(nil))
	f.Add([]byte(magic))
	f.Add(encodeRegister("k", storeclient.Token{}, nil))
	f.Add(encodeRegister("default/0001", storeclient.Token{1, 2, 3}, []byte("value")))
	f.Add(encodeRegister("default/0001", storeclient.Token{1, 2, 3}, make([]byte, store.MaxValue)))
	f.Add(encodeRegister("KEY", storeclient.Token{}, nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		before := bytes.Clone(b)
		e, err := decodeRegister("", b)
		if !bytes.Equal(b, before) {
			t.Fatal("decoding changes the file's bytes")
		}
		if err != nil {
			var fileError *FileError
			if !errors.As(err, &fileError) || e.Key != "" || e.Value != nil || e.Version != "" {
				t.Fatalf("entry %+v, error %v", e, err)
			}
			return
		}
		if store.ValidateKey(e.Key) != nil || store.ValidateValue(e.Value) != nil {
			t.Fatalf("invalid entry %+v", e)
		}
		var version storeclient.Token
		copy(version[:], b[len(magic)+1:])
		if again := encodeRegister(e.Key, version, e.Value); !bytes.Equal(again, b) || e.Version != store.Version(version.String()) {
			t.Fatalf("%x decodes to %+v, which encodes to %x", b, e, again)
		}
	})
}

func FuzzParseMarker(f *testing.F) {
	f.Add([]byte(marker(1)))
	f.Add([]byte(marker(2)))
	f.Add([]byte(markerHead + "3\n"))
	f.Add([]byte(markerHead))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		var fileError *FileError
		n, err := parseMarker(b)
		if (err == nil) != (n > 0 && string(b) == marker(n)) || err != nil && !errors.As(err, &fileError) {
			t.Errorf("parseMarker(%q) = %d, %v", b, n, err)
		}
	})
}
