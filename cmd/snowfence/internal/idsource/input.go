package idsource

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
)

const (
	// blockSize is how much is read ahead at a time, and blocks how many of them
	// there are: one is filled while the other is read. Of a small file less is read
	// at a time, but leastBlock: there may be very many of them.
	blockSize  = 256 << 10
	leastBlock = 16 << 10
	blocks     = 2
	// maxLine is the longest line or record.
	maxLine = 1 << 20
)

// input is a file or stream, read ahead by a goroutine of its own: bytes are
// fetched and decompressed while others are parsed, and a stream that is silent
// does not keep a reader from seeing that its context ended.
type input struct {
	name string
	file *os.File // nil: standard input
	size int64    // zero where it is not known
	done atomic.Int64

	filled chan block    // closed after one with an error
	empty  chan []byte   // what may be filled again
	quit   chan struct{} // closed by Close
	ended  chan struct{} // closed when nothing is read any more

	window []byte // bytes that are not yet parsed are window[low:high]
	low    int
	high   int
	err    error // why there is no more, after window
}

// block is a piece of the stream, and the error that followed it.
type block struct {
	bytes []byte
	err   error
}

// openInput opens a file, or standard input, and reads ahead. The context is for the
// opening alone.
func openInput(ctx context.Context, name string, o Options) (*input, error) {
	in := &input{
		name: Shown(name), filled: make(chan block), empty: make(chan []byte, blocks),
		quit: make(chan struct{}), ended: make(chan struct{}),
	}
	source := o.Stdin
	if name == "-" {
		in.name = "standard input"
		if source == nil {
			return nil, errors.New("there is no standard input")
		}
	} else {
		f, err := openPath(ctx, name)
		if err != nil {
			return nil, pathFault(name, err)
		}
		info, err := f.Stat()
		if err == nil && info.IsDir() {
			err = fmt.Errorf("%s: is a directory", in.name)
		}
		if err != nil {
			return nil, errors.Join(err, f.Close())
		}
		in.file, source = f, f
		if info.Mode().IsRegular() {
			in.size = info.Size()
		}
	}
	size := blockSize
	if in.size > 0 {
		size = int(min(max(4*in.size, leastBlock), blockSize)) // gzip may hold more than its size
	}
	in.window = make([]byte, 2*size)
	for range blocks {
		in.empty <- make([]byte, size)
	}
	go in.readAhead(source, o.Gzip)
	return in, nil
}

// openPath opens a file. A pipe opens when somebody writes to it: until then it is
// waited for by a goroutine, because nothing can wake that.
func openPath(ctx context.Context, name string) (*os.File, error) {
	if info, err := os.Stat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
		return os.Open(name)
	}
	type result struct {
		file *os.File
		err  error
	}
	opened := make(chan result)
	go func() {
		f, err := os.Open(name)
		select {
		case opened <- result{f, err}:
		case <-ctx.Done():
			if err == nil {
				_ = f.Close() // nothing was read
			}
		}
	}()
	select {
	case r := <-opened:
		return r.file, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// counted counts the bytes of the source as it is stored.
type counted struct {
	r    io.Reader
	done *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.done.Add(int64(n))
	return n, err
}

// readAhead fills blocks until there is no more.
func (in *input) readAhead(source io.Reader, g Gzip) {
	defer close(in.ended)
	defer close(in.filled)
	r, err := uncompressed(counted{source, &in.done}, g)
	for err == nil {
		var b []byte
		select {
		case b = <-in.empty:
		case <-in.quit:
			return
		}
		var n int
		n, err = r.Read(b[:cap(b)])
		select {
		case in.filled <- block{bytes: b[:n]}:
		case <-in.quit:
			return
		}
	}
	select {
	case in.filled <- block{err: err}:
	case <-in.quit:
	}
}

// uncompressed returns the bytes within, should they be compressed.
func uncompressed(r io.Reader, g Gzip) (io.Reader, error) {
	if g == GzipNever {
		return r, nil
	}
	magic := [...]byte{0x1f, 0x8b, 8}
	head := make([]byte, len(magic))
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	rest := io.MultiReader(newHead(head[:n]), r)
	if n < len(magic) || [3]byte(head) != magic {
		if g == GzipAlways {
			return nil, fmt.Errorf("gzip: it is not compressed: must begin with % x", magic)
		}
		return rest, nil
	}
	z, err := gzip.NewReader(rest)
	if err != nil {
		return nil, gzipFault(err)
	}
	return inflated{z}, nil
}

// head is what was read to see whether a stream is compressed.
type head struct{ bytes []byte }

func newHead(b []byte) *head { return &head{b} }

func (h *head) Read(p []byte) (int, error) {
	if len(h.bytes) == 0 {
		return 0, io.EOF
	}
	n := copy(p, h.bytes)
	h.bytes = h.bytes[n:]
	return n, nil
}

// inflated says of errors that they are gzip's.
type inflated struct{ z *gzip.Reader }

func (i inflated) Read(p []byte) (int, error) {
	n, err := i.z.Read(p)
	return n, gzipFault(err)
}

func gzipFault(err error) error {
	switch {
	case err == nil || errors.Is(err, io.EOF):
		if err != nil {
			return io.EOF
		}
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		// Not the error itself: a stream that breaks off is no end.
		return errors.New("gzip: it is cut off: the end of the stream is missing")
	default:
		return fmt.Errorf("read gzip: %w", err)
	}
}

// more adds bytes to the window, and returns the error after which there are
// none, [io.EOF] in the best case. A window that is full grows: the caller has
// looked at maxLine of it at most.
func (in *input) more(ctx context.Context) error {
	if in.err != nil {
		return in.err
	}
	select {
	case b := <-in.filled:
		if b.err != nil {
			in.err = b.err
			if !errors.Is(b.err, io.EOF) {
				in.err = fmt.Errorf("read %s: %w", in.name, b.err)
			}
			return in.err
		}
		if len(in.window)-in.high < len(b.bytes) {
			unparsed := in.window[in.low:in.high]
			if need := len(unparsed) + len(b.bytes); need > len(in.window) {
				in.window = make([]byte, max(need, min(2*len(in.window), maxLine+blockSize)))
			}
			in.low, in.high = 0, copy(in.window, unparsed)
		}
		in.high += copy(in.window[in.high:], b.bytes)
		in.empty <- b.bytes
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Name implements Source.
func (in *input) Name() string { return in.name }

// Progress implements Source.
func (in *input) Progress() Progress { return Progress{Done: in.done.Load(), Size: in.size} }

// Close implements Source. A goroutine that waits for standard input is left to
// wait: nothing can wake it. Whoever keeps the source, for its places, keeps no
// buffers.
func (in *input) Close() error {
	close(in.quit)
	in.window = nil
	if in.file == nil {
		return nil
	}
	err := in.file.Close()
	<-in.ended
	in.filled, in.empty = nil, nil
	return err
}
