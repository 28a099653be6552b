package httpfront

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"sync/atomic"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

const (
	// maxStreams is how many requests of HTTP/2 one connection may have under way. Clients count on 100.
	maxStreams = 100

	// maxRefused is how many requests of a connection may be refused at the same time for want of memory. Each has taken
	// some by then. A connection with more of them is closed.
	maxRefused = 8

	// leastWindow is how much a connection of HTTP/2 may send of the bodies of all its requests before they are
	// read: the least that the protocol allows.
	leastWindow = 1<<16 - 1

	// perStream is about how many bytes the library keeps for a request of HTTP/2 until its answer is read, and
	// most of its header three times.
	perStream = 28 << 10
)

// link holds the front's notes about a connection.
type link struct {
	net.Conn

	remote  netip.Addr // from where it came; zero for a listener without addresses
	guesses front.Guesses
	refused atomic.Int32 // requests that are being refused for want of memory
}

// linkKey is where the context of a request has the link of its connection.
type linkKey struct{}

// note adds the link to the context of a connection's requests.
func note(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(ctx, linkKey{}, &link{Conn: c, remote: front.Host(c.RemoteAddr())})
}

// linkOf returns the link of a request's connection. For a request without one, in tests, it has no connection.
func linkOf(r *http.Request) *link {
	if l, ok := r.Context().Value(linkKey{}).(*link); ok {
		return l
	}
	return new(link)
}

// ServeHTTP answers one request. That of HTTP/2 takes from the memory until its client has read the answer. A connection
// of HTTP/1 has one request at a time, and its memory is taken with that.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 || h.Memory == nil {
		h.serve(w, r)
		return
	}
	bytes := perStream + 3*len(r.RequestURI)
	for name, values := range r.Header {
		bytes += 3 * len(name)
		for _, value := range values {
			bytes += 3 * len(value)
		}
	}
	if h.Memory.Take(bytes) != nil {
		h.refuse(w, r)
		return
	}
	defer h.Memory.Give(bytes)
	h.serve(w, r)
	// Otherwise the library writes the end of the answer after this, and keeps the request for as long as the client does
	// not read it. This fails only when the client is gone.
	_ = http.NewResponseController(w).Flush()
}

// refuse refuses a request for want of memory, without a body, which its client might not read.
func (h *Handler) refuse(w http.ResponseWriter, r *http.Request) {
	began := h.Meter.Began()
	defer h.Meter.Answered(began, 1)
	p := asProblem(front.Overloaded.Problem(nil))
	h.count(p)
	l := linkOf(r)
	defer l.refused.Add(-1)
	if l.refused.Add(1) > maxRefused && l.Conn != nil {
		_ = l.Close()
		return
	}
	h.setShared(w)
	w.Header().Set("Retry-After", "1")
	w.WriteHeader(p.Status)
	_ = http.NewResponseController(w).Flush()
}

// setShared sets the headers of every answer.
func (h *Handler) setShared(w http.ResponseWriter) {
	header := w.Header()
	header["Cache-Control"], header["X-Content-Type-Options"], header["Date"] = h.noStore, h.noSniff, h.dateOf(h.Clock.Wall())
}

// date is the value of a header.
type date struct {
	second int64
	value  []string
}

// dateOf returns the header Date. The library would format it for each answer, which takes a microsecond; here it is
// formatted once a second. Two goroutines that format it at once store equal values.
func (h *Handler) dateOf(now time.Time) []string {
	d := h.date.Load()
	if d == nil || d.second != now.Unix() {
		d = &date{now.Unix(), []string{now.UTC().Format(http.TimeFormat)}}
		h.date.Store(d)
	}
	return d.value
}
