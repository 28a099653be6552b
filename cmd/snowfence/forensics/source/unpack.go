package source

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/zstd"
)

// unpacked returns the bytes that a stream holds: it unpacks gzip and zstd, which their first bytes show.
func unpacked(raw *bufio.Reader) (io.Reader, error) {
	head, err := raw.Peek(4)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	p := packed{}
	switch {
	case bytes.HasPrefix(head, []byte("\x1f\x8b\x08")):
		p.name = "gzip"
		p.Reader, err = gzip.NewReader(raw)
	case bytes.HasPrefix(head, []byte("\x28\xb5\x2f\xfd")):
		p.name = "zstd"
		p.Reader, err = zstd.NewReader(raw, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	default:
		return raw, nil
	}
	if err != nil {
		return nil, p.fault(err)
	}
	return p, nil
}

// packed reads a packed stream.
type packed struct {
	io.Reader
	name string
}

func (p packed) Read(b []byte) (int, error) {
	n, err := p.Reader.Read(b)
	if err != nil && err != io.EOF { //nolint:errorlint // a stream that breaks off may wrap it, and is no end
		err = p.fault(err)
	}
	return n, err
}

// fault is the error of a packed stream. It does not wrap io.EOF: a stream that breaks off has not ended.
func (p packed) fault(err error) error {
	return fmt.Errorf("%s: it is damaged or cut off, or other bytes follow its end: %v", p.name, err) //nolint:errorlint // see above
}
