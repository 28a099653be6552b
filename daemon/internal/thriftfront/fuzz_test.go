package thriftfront

import (
	"bytes"
	"io"
	"net/netip"
	"testing"
	"time"
)

// tape is a connection that sends its content, at most so many bytes at a time.
type tape struct {
	*bytes.Reader
	most   int
	answer bytes.Buffer
}

func (t *tape) Read(p []byte) (int, error)    { return t.Reader.Read(p[:min(len(p), t.most)]) }
func (t *tape) Write(p []byte) (int, error)   { return t.answer.Write(p) }
func (*tape) ReadWithin(time.Duration) error  { return nil }
func (*tape) WriteWithin(time.Duration) error { return nil }

// FuzzConnection feeds a connection with bytes. The answers must not depend on how the bytes are cut,
// and must not be longer than the requests by more than an error's text.
func FuzzConnection(f *testing.F) {
	for _, d := range dialects() {
		get := message(f, d, "get_id", "fuzz")
		f.Add(get)
		f.Add(append(get, message(f, d, "get_timestamp", "")...))
		f.Add(message(f, d, "get_id", "1"))
		f.Add(message(f, d, "get_worker_id", ""))
		f.Add(message(f, d, "none", ""))
		f.Add(get[:len(get)-1])
	}
	f.Add([]byte("\x00\x00\x00\x20\x0f\xff\x00\x00\x00\x00\x00\x01\x00\x01\x02\x01\x01"))
	f.Add([]byte("\x7f\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, sent []byte) {
		var first []byte
		for _, most := range []int{maxMessage, 1, 7} {
			server := newFront(t, new(counting), limits)
			c := &tape{Reader: bytes.NewReader(sent), most: most}
			server.converse(t.Context(), c, server.config.Service.Client(netip.Addr{}), false)
			if first == nil {
				first = c.answer.Bytes()
			} else if !bytes.Equal(first, c.answer.Bytes()) {
				t.Errorf("cut at %d bytes: answer %q, want %q", most, c.answer.Bytes(), first)
			}
			// A call has at least 5 bytes: a compact message without a name or arguments.
			if calls := len(sent)/5 + 1; c.answer.Len() > calls*(maxText+256)+len(sent) {
				t.Errorf("%d bytes are answered with %d", len(sent), c.answer.Len())
			}
		}
	})
}

func TestAnswerAllocatesLittle(t *testing.T) {
	for _, d := range dialects() {
		server := newFront(t, new(counting), limits)
		call := message(t, d, "get_id", "agent")
		const calls = 1000
		c := &tape{Reader: bytes.NewReader(bytes.Repeat(call, calls)), most: maxMessage}
		c.answer.Grow(100 * calls)
		n := testing.AllocsPerRun(1, func() {
			c.Seek(0, io.SeekStart) //nolint:errcheck // to the start
			c.answer.Reset()
			server.converse(t.Context(), c, server.config.Service.Client(netip.Addr{}), false)
		})
		// Apache's protocols allocate the texts of a message: the method, the agent, and here the texts
		// of the field that is passed over.
		if n/calls > 6 {
			t.Errorf("%s: %.1f allocations for a call", d, n/calls)
		}
	}
}
