package source

import (
	"bufio"
	"bytes"
	"compress/bzip2"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/klauspost/compress/zstd"

	"snowfence.example/snowfence"
)

// packing is a way to pack files that their first bytes tell.
type packing struct {
	name, magic string
	// unpack reads the packed bytes. It is nil if the packing is refused.
	unpack func(io.Reader) (io.Reader, error)
	// command unpacks a file to standard output. A refusal shows it.
	command string
}

// packings returns the packings that are recognised, and formats that are no text in UTF-8.
func packings() []packing {
	return []packing{
		{name: "gzip", magic: "\x1f\x8b\x08", unpack: func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
		{name: "bzip2", magic: "BZh", unpack: func(r io.Reader) (io.Reader, error) { return bzip2.NewReader(r), nil }},
		{name: "zstd", magic: "\x28\xb5\x2f\xfd", unpack: func(r io.Reader) (io.Reader, error) {
			return zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
		}},
		{name: "xz", magic: "\xfd7zXZ\x00", command: "xz -dc FILE"},
		{name: "lz4", magic: "\x04\x22\x4d\x18", command: "lz4 -dc FILE"},
		{name: "lzip", magic: "LZIP", command: "lzip -dc FILE"},
		{name: "lzop", magic: "\x89LZO", command: "lzop -dc FILE"},
		{name: "compress", magic: "\x1f\x9d", command: "gzip -dc FILE"},
		{name: "7z", magic: "7z\xbc\xaf\x27\x1c", command: "7z x -so FILE"},
		{name: "zip, which spreadsheets are, too", magic: "PK\x03\x04", command: "unzip -p FILE"},
		{name: "Parquet", magic: "PAR1", command: "duckdb -csv -c \"SELECT id FROM 'FILE'\""},
		{name: "SQLite", magic: "SQLite format 3\x00", command: "sqlite3 FILE 'SELECT id FROM t'"},
		{name: "a dump of PostgreSQL", magic: "PGDMP", command: "pg_restore -f - FILE"},
		{name: "UTF-16", magic: "\xff\xfe", command: "iconv -f UTF-16 -t UTF-8 FILE"},
		{name: "UTF-16", magic: "\xfe\xff", command: "iconv -f UTF-16 -t UTF-8 FILE"},
	}
}

// leastText is how many bytes are looked at, as far as they are there, to tell a packing, and
// text from ids of 8 bytes each.
const leastText = 256

// unpacked returns what a stream holds, by its first bytes.
func unpacked(raw *bufio.Reader, o Options) (io.Reader, error) {
	if o.Gzip == GzipNever {
		return raw, nil
	}
	head, err := raw.Peek(leastText)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	refused := func(reason string, args ...any) error {
		return bytesError(fmt.Sprintf(reason, args...) + "; --gzip never takes the bytes as they are")
	}
	for _, p := range packings() {
		switch {
		case !bytes.HasPrefix(head, []byte(p.magic)):
		case p.unpack == nil:
			return nil, refused("it looks like %s, which is not read here: '%s | snowfence check -'", p.name, p.command)
		case o.Gzip != GzipAlways || p.name == "gzip":
			r, err := p.unpack(raw)
			if err != nil {
				return nil, packed{nil, p.name}.fault(err)
			}
			return packed{r, p.name}, nil
		}
	}
	other := func(r rune) bool { return (r < ' ' || r > '~') && !strings.ContainsRune("\t\r\n", r) }
	switch {
	case o.Gzip == GzipAlways:
		return nil, errors.New("gzip: it is not compressed: must begin with 1f 8b 08")
	case (o.Format == Binary || o.Format == BinaryLittle) && len(head) >= width && !bytes.ContainsFunc(bytes.TrimPrefix(head, []byte(mark)), other):
		return nil, refused("it looks like text, and --format %s would take each 8 bytes of it for an id: leave that out", o.Format)
	}
	return raw, nil
}

// bytesError is an error of ids about a stream that has none as it is.
type bytesError string

func (e bytesError) Error() string { return string(e) }

func (bytesError) Unwrap() error { return snowfence.ErrInvalidID }

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

// fault says what is wrong with a packed stream. The error does not wrap io.EOF: a stream that breaks off is no end.
func (p packed) fault(err error) error {
	switch {
	case errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrMagicMismatch),
		errors.Is(err, bzip2.StructuralError("bad magic value in continuation file")):
		return fmt.Errorf("%s: bytes follow its end that are not %s: unpack the file by hand, and look at its end", p.name, p.name)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return fmt.Errorf("%s: it is cut off, or some bytes follow its end: '%s -t FILE' says which", p.name, p.name)
	}
	return fmt.Errorf("%s: %w", p.name, err)
}
