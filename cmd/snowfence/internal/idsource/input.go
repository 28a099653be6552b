package idsource

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync/atomic"
)

const (
	// mostBuffer is how much is read at a time. Of a small file less is read, but
	// leastBuffer: there may be very many of them.
	mostBuffer  = 256 << 10
	leastBuffer = 16 << 10
	// maxLine is the longest line or record.
	maxLine = 1 << 20
)

// input is a file or stream. A goroutine reads and decompresses it, one buffer ahead of
// the parser, so a silent stream does not keep a reader from seeing its context end.
type input struct {
	*bufio.Reader
	name  string
	file  *os.File // nil: standard input
	done  atomic.Int64
	in    *io.PipeReader
	out   *io.PipeWriter
	ended chan struct{} // closed when nothing is read any more
	long  []byte        // a line that is longer than the buffer
}

// openInput opens a file, or standard input. The context is for the opening alone.
func openInput(ctx context.Context, name string, o Options) (*input, error) {
	in := &input{name: Shown(name), ended: make(chan struct{})}
	source, buffer := o.Stdin, mostBuffer
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
		if size := info.Size(); size > 0 {
			buffer = int(min(max(4*size, leastBuffer), mostBuffer)) // gzip may hold more than its size
		}
	}
	in.in, in.out = io.Pipe()
	in.Reader = bufio.NewReaderSize(in.in, buffer)
	go func() {
		defer close(in.ended)
		err := in.pump(source, o, buffer)
		if err != nil {
			err = fmt.Errorf("read %s: %w", in.name, err)
		}
		_ = in.out.CloseWithError(err) // it never fails
	}()
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

// pathFault is an error about a path, with the path as it may be shown. Where there
// is no such file, what looks like an option may have been meant for one.
func pathFault(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		if wrong := unknownOption(name, "is none, and no file has the whole name"); wrong != nil {
			return wrong
		}
	}
	var fault *fs.PathError
	if errors.As(err, &fault) && fault.Path == name {
		return &fs.PathError{Op: fault.Op, Path: Shown(name), Err: fault.Err}
	}
	return err
}

// counted counts the bytes of the source as it is stored.
type counted struct {
	io.Reader
	done *atomic.Int64
}

func (c counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.done.Add(int64(n))
	return n, err
}

// pump moves the bytes, unpacked if they are packed, to the parser.
func (in *input) pump(source io.Reader, o Options, buffer int) error {
	r, err := unpacked(bufio.NewReaderSize(counted{source, &in.done}, buffer), o)
	if err == nil {
		// However much it is, the parser takes it in bounded memory.
		_, err = io.CopyBuffer(in.out, r, make([]byte, buffer))
	}
	return err
}

// until lets reading end with a context, until the func that it returns is called.
func (in *input) until(ctx context.Context) (stop func() bool) {
	return context.AfterFunc(ctx, func() {
		_ = in.out.CloseWithError(context.Cause(ctx)) // it never fails
	})
}

// line takes the next line with its end, if it has one. It is valid until the next
// call. An error that wraps a *lengthError is returned for one that is too long.
func (in *input) line() ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		in.long = in.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(in.long) <= maxLine {
			in.long = append(in.long, line...)
			line, err = in.ReadSlice('\n')
		}
		in.long = append(in.long, line...)
		line = in.long
	}
	switch {
	case len(bytes.TrimSuffix(line, []byte("\n"))) > maxLine:
		return line, &lengthError{}
	case errors.Is(err, io.EOF) && len(line) > 0:
		return line, nil
	}
	return line, err
}

func (in *input) Done() int64 { return in.done.Load() }

// Close implements Source. A goroutine that waits for standard input is left to
// wait: nothing can wake it. A source that is kept for its places keeps no buffers.
func (in *input) Close() error {
	in.Reader, in.long = nil, nil
	err := in.in.Close()
	if in.file != nil {
		err = in.file.Close()
		<-in.ended
	}
	return err
}

// formatOf returns the format of a file or stream.
func formatOf(name string, o Options) (Format, error) {
	if scheme, _, ok := strings.Cut(name, "://"); ok && !strings.ContainsAny(scheme, "/.") {
		return "", fmt.Errorf("%s://: ids are read from files, standard input, postgres:// and mysql://", Shown(scheme))
	}
	format := cmp.Or(o.Format, Text)
	if o.Format == "" && o.Column != "" {
		format = CSV
	}
	if o.Column != "" && format != CSV && o.Table == "" {
		return "", &OptionError{"column", fmt.Sprintf("%s: must not be given with --format %s", Shown(name), format)}
	}
	return format, nil
}

// openFile opens a file or standard input.
func openFile(ctx context.Context, name string, o Options) (Source, error) {
	format, err := formatOf(name, o)
	if err != nil {
		return nil, err
	}
	in, err := openInput(ctx, name, o)
	if err != nil {
		return nil, err
	}
	switch format {
	case CSV:
		r, err := newRecords(in, o)
		if err != nil {
			return nil, errors.Join(err, in.Close())
		}
		return r, nil
	case Binary, BinaryLittle:
		return &words{input: in, reading: newReading(in.name, "id", o), little: format == BinaryLittle}, nil
	default:
		return &lines{input: in, reading: newReading(in.name, "line", o)}, nil
	}
}
