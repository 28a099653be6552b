package testkit

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
)

// hostileRuns is how many connections HostileAnswers spoils at random.
var hostileRuns = flag.Int("hostile", 200, "answers of servers that are spoiled at random, for each engine") //nolint:gochecknoglobals // a flag

// hostileMemory is how much more memory the system may give the process meanwhile.
const hostileMemory = 64 << 20

// hostilePatience is how long a client may wait for an answer that does not come.
const hostilePatience = 150 * time.Millisecond

// Hostile is a client whose server answers wrongly.
type Hostile struct {
	Server string // a real server's address

	// Use opens a client of the server at an address, makes some calls and closes it. It
	// returns its errors.
	Use func(ctx context.Context, address string) error

	// Persists means that Use tries again until its context ends, which is then ended when the
	// first connection is.
	Persists bool

	// First is a part of the error when any answer but the right one comes first, or empty.
	First string

	// Answers are sent in place of a connection's first, second, third and fourth answer.
	// Their error must name the server, if Wrong is set in these words.
	Answers []Answer
}

// Answer is one that breaks the protocol.
type Answer struct {
	Bytes string
	Times int    // how often they come; zero means once
	Wrong string // a part of the error, wherever in the connection the answer comes
}

// reader reads the answer. Times take no room.
func (a Answer) reader() io.Reader {
	part, times := strings.NewReader(a.Bytes), max(a.Times, 1)
	return readerFunc(func(b []byte) (int, error) {
		if part.Len() == 0 && times > 1 {
			times--
			part.Reset(a.Bytes)
		}
		return part.Read(b)
	})
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(b []byte) (int, error) { return f(b) }

// HostileAnswers puts a client behind a proxy that spoils its server's answers: by chosen ones,
// and at random. The process must outlive it in bounded memory, and errors must show why.
func HostileAnswers(t *testing.T, h Hostile) {
	t.Helper()
	var before runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for _, answer := range h.Answers {
		for place := range 4 {
			var spoiled bool
			patience := time.Minute
			if answer.Wrong == "" {
				patience = hostilePatience // it may leave the client waiting
			}
			err := h.run(t, patience, func(n int, b []byte) (io.Reader, bool) {
				if n != place {
					return bytes.NewReader(b), false
				}
				spoiled = true
				return answer.reader(), true
			})
			if !spoiled || answer.Wrong == "" {
				continue
			}
			want := answer.Wrong
			if place == 0 {
				want = cmp.Or(h.First, want)
			}
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "server 127.0.0.1:") {
				t.Errorf("%.40q as answer %d: %v; want %q and the server", answer.Bytes, place, err, want)
			}
		}
	}
	var met atomic.Int64 // answers that were spoiled at random
	seeds := make(chan uint64)
	var crowd sync.WaitGroup
	for range 16 { // most of them wait
		crowd.Go(func() {
			for seed := range seeds {
				draw := rand.New(rand.NewPCG(seed, 0)) // a run is repeated by its seed
				place := draw.IntN(8)
				_ = h.run(t, hostilePatience, func(n int, b []byte) (io.Reader, bool) {
					if n < place {
						return bytes.NewReader(b), false
					}
					met.Add(1)
					return bytes.NewReader(h.spoil(draw, b)), true
				})
			}
		})
	}
	for seed := range uint64(*hostileRuns) {
		seeds <- seed
	}
	close(seeds)
	crowd.Wait()
	var after runtime.MemStats
	runtime.ReadMemStats(&after)
	more := int64(after.Sys) - int64(before.Sys)
	t.Logf("%d chosen answers, %d random ones in %d runs: %d MiB more from the system, %d MiB allocated in all",
		4*len(h.Answers), met.Load(), *hostileRuns, more>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
	if more > hostileMemory {
		t.Errorf("the process has %d MiB more: must be at most %d", more>>20, hostileMemory>>20)
	}
}

// spoil changes an answer, or puts another one in its place.
func (h Hostile) spoil(draw *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + draw.IntN(3) {
		at := draw.IntN(len(b) + 1)
		chosen := h.Answers[draw.IntN(len(h.Answers))].Bytes
		chosen = chosen[:min(len(chosen), 256<<10)]
		switch draw.IntN(6) {
		case 0:
			b = append(b[:at:at], chosen...)
		case 1:
			b = append(b[:at:at], append([]byte(chosen), b[at:]...)...)
		case 2:
			b = b[:at]
		case 3:
			b = append(b, b...)
		default:
			if at < len(b) {
				b[at] = []byte{0, 1, 0x7f, 0x80, 0xfe, 0xff, '9', byte(draw.Uint32())}[draw.IntN(8)]
			}
		}
	}
	return b[:min(len(b), 1<<20)]
}

// run uses the client behind a proxy that passes answers through spoil. The context of the
// client's calls ends when patience is over.
func (h Hostile) run(t *testing.T, patience time.Duration, spoil func(n int, answer []byte) (instead io.Reader, changed bool)) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
	}
	var proxying sync.WaitGroup
	defer proxying.Wait()
	defer func() { _ = listener.Close(); cancel() }()
	var over atomic.Bool
	var one sync.Mutex // spoil is called for one connection at a time
	spoilt := func(n int, b []byte) io.Reader {
		one.Lock()
		defer one.Unlock()
		answer, changed := spoil(n, b)
		if changed {
			over.Store(true)
		}
		return answer
	}
	proxying.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			if h.Persists && over.Load() {
				_ = client.Close() // by another try the cause would be lost
				continue
			}
			proxying.Go(func() {
				if h.pass(ctx, client, spoilt) && over.Load() && h.Persists {
					cancel()
				}
			})
		}
	})
	return h.Use(ctx, listener.Addr().String())
}

// pass passes the bytes of a client and the server on, but for spoil's changes. It returns at
// the connection's end, and whether there was a change.
func (h Hostile) pass(ctx context.Context, client net.Conn, spoil func(n int, answer []byte) io.Reader) (left bool) {
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.Server)
	if err != nil {
		_ = client.Close()
		return false
	}
	var requests sync.WaitGroup
	defer func() {
		_, _ = client.Close(), server.Close() // or pgx, which reads on for minutes, would keep the requests open
		requests.Wait()
	}()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	var gone atomic.Bool
	requests.Go(func() {
		_, _ = io.Copy(server, client)
		gone.Store(true)
		_ = server.Close()
	})
	buffer := make([]byte, chunkSize)
	for n := 0; ; n++ {
		size, err := server.Read(buffer)
		if err != nil {
			return gone.Load()
		}
		if _, err := io.Copy(client, spoil(n, buffer[:size])); err != nil {
			return gone.Load()
		}
	}
}

// UseStore makes calls of every kind, and returns their errors.
func UseStore(ctx context.Context, s store.Store) error {
	_, err := s.Get(ctx, "a/key")
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	errs := []error{err}
	if _, err := s.Swap(ctx, "a/key", "", []byte("value")); !errors.Is(err, store.ErrConflict) {
		errs = append(errs, err)
	}
	for _, err := range s.List(ctx, "") {
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
