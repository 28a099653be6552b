package source

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"snowfence.example/snowfence"
)

const (
	// buffer is how much is read at a time.
	buffer = 256 << 10
	// maxLine is the longest line or record.
	maxLine = 1 << 20
	// mark is put at the beginning of UTF-8 by some programs.
	mark = "\xef\xbb\xbf"
)

// input is a file or stream. A goroutine reads and unpacks it, one buffer ahead of
// the parser, so a silent stream does not keep a reader from seeing its context end.
type input struct {
	*bufio.Reader
	at  uint64 // the line that was taken last
	in  *io.PipeReader
	out *io.PipeWriter
}

// openFile opens a file or standard input. A pipe opens when somebody writes to it, so the goroutine opens it.
func openFile(name string, o Options) (Source, error) {
	if err := Look(name, o); err != nil {
		return nil, err
	}
	if name == "-" && o.Stdin == nil {
		return nil, errors.New("there is no standard input")
	}
	in := &input{}
	in.in, in.out = io.Pipe()
	in.Reader = bufio.NewReaderSize(in.in, buffer)
	var s scanner = &lines{input: in}
	if o.Column != "" {
		var err error
		if s, err = newTable(in, o); err != nil {
			return nil, err
		}
	}
	go func() {
		err := in.pump(name, o.Stdin)
		if err != nil {
			err = fmt.Errorf("read %s: %w", shownFile(name), err)
		}
		_ = in.out.CloseWithError(err) // always nil
	}()
	return newReader(shownFile(name), "line", o, s), nil
}

// pump moves the bytes, unpacked if they are packed, to the parser. However many the
// bytes are, the parser takes them in bounded memory.
func (in *input) pump(name string, stdin io.Reader) (err error) {
	file := io.NopCloser(stdin)
	if name != "-" {
		if file, err = os.Open(name); err != nil {
			return pathFault(name, err)
		}
	}
	defer func() { _ = file.Close() }() // it was only read
	r, err := unpacked(bufio.NewReaderSize(file, buffer))
	if err == nil {
		_, err = io.CopyBuffer(in.out, r, make([]byte, buffer))
	}
	return err
}

// pathFault is an error about a path, with the path as it may be shown.
func pathFault(name string, err error) error {
	if fault, ok := errors.AsType[*fs.PathError](err); ok {
		return &fs.PathError{Op: fault.Op, Path: Shown(name), Err: fault.Err}
	}
	return err
}

func (in *input) ready() bool { return in.Buffered() > 0 }

func (in *input) abort(cause error) {
	_ = in.out.CloseWithError(cause) // always nil
}

// Close leaves a goroutine that waits for standard input or a pipe to wait: nothing can
// wake it. A source that is kept for its places gives its buffers back.
func (in *input) Close() error {
	in.Reader = nil
	return in.in.Close()
}

// lines finds the ids of a text: one a line.
type lines struct {
	*input
	long []byte // a line that is longer than the buffer
}

func (l *lines) next(r *reader) (Item, error) {
	for {
		line, err := l.line()
		if err != nil {
			return Item{}, err
		}
		l.at++
		if l.at == 1 {
			line = bytes.TrimPrefix(line, []byte(mark))
		}
		text := bytes.TrimSpace(line)
		switch {
		case len(bytes.TrimSuffix(line, []byte("\n"))) > maxLine:
			return Item{}, tooLong(r, l.at)
		case len(text) == 0, text[0] == '#' && !bytes.ContainsFunc(text, endsLine): // else ids may stand behind the comment
		default:
			return r.read(text, l.at)
		}
	}
}

// fill takes lines that are plain decimals, as nearly all are, while they are in the buffer as a whole.
func (l *lines) fill(r *reader, items []Item) (n int) {
	window, _ := l.Peek(l.Buffered())
	taken := 0
	for n < len(items) && r.decimal() {
		line := window[taken:]
		v, end := plain(line)
		if end > 0 && end < len(line) && line[end] == '\r' {
			end++
		}
		if end == 0 || end == len(line) || line[end] != '\n' {
			break
		}
		l.at++
		items[n] = Item{snowfence.ID(v), l.at}
		n++
		taken += end + 1
	}
	_, _ = l.Discard(taken) // so much is buffered
	return n
}

// line takes the next line with its end, if it has one, or the beginning of one that is too long.
// It is valid until the next call.
func (l *lines) line() ([]byte, error) {
	line, err := l.ReadSlice('\n')
	if errors.Is(err, bufio.ErrBufferFull) {
		l.long = l.long[:0]
		for errors.Is(err, bufio.ErrBufferFull) && len(l.long) <= maxLine {
			l.long = append(l.long, line...)
			line, err = l.ReadSlice('\n')
		}
		l.long = append(l.long, line...)
		line = l.long
	}
	if len(line) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, bufio.ErrBufferFull)) {
		err = nil
	}
	return line, err
}

// tooLong is for a line or record of more than maxLine.
func tooLong(r *reader, at uint64) error {
	return r.refuse(at, fault("text", "", "is longer than %d bytes", maxLine), "")
}
