package testkit

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
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

	// Persists says that Use tries again until its context ends, which is then ended when the
	// connection with the wrong answer is.
	Persists bool

	// Answers are sent in place of a connection's first, second, third and fourth answer.
	// Their error must name the server, if Wrong is set in these words.
	Answers []Answer
}

// Answer is one that breaks the protocol.
type Answer struct {
	Bytes string
	Wrong string // a part of the error, wherever in the connection the answer comes
}

// HostileAnswers puts a client behind a proxy that spoils its server's answers: by chosen ones,
// and at random. The process must outlive it in bounded memory, and errors must say why.
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
			err := h.run(t, patience, func(n int, b []byte) []byte {
				if n != place {
					return b
				}
				spoiled = true
				return []byte(answer.Bytes)
			})
			if !spoiled || answer.Wrong == "" {
				continue
			}
			if err == nil || !strings.Contains(err.Error(), answer.Wrong) || !strings.Contains(err.Error(), "server 127.0.0.1:") {
				t.Errorf("%.40q as answer %d: %v; want %q and the server", answer.Bytes, place, err, answer.Wrong)
			}
		}
	}
	seeds := make(chan uint64)
	var crowd sync.WaitGroup
	for range 8 {
		crowd.Go(func() {
			for seed := range seeds {
				draw := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a run is repeated by its seed
				place := draw.IntN(8)
				_ = h.run(t, hostilePatience, func(n int, b []byte) []byte {
					if n < place {
						return b
					}
					return h.spoil(draw, b)
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
	t.Logf("%d chosen answers, %d random ones: %d MiB more from the system, %d MiB of heap, %d MiB allocated in all",
		4*len(h.Answers), *hostileRuns, (after.Sys-before.Sys)>>20, (after.HeapSys-before.HeapSys)>>20, (after.TotalAlloc-before.TotalAlloc)>>20)
	if more := after.Sys - before.Sys; after.Sys > before.Sys && more > hostileMemory {
		t.Errorf("the process has %d MiB more: must be at most %d", more>>20, hostileMemory>>20)
	}
}

// spoil changes an answer, or puts another one in its place.
func (h Hostile) spoil(draw *rand.Rand, b []byte) []byte {
	b = append([]byte(nil), b...)
	for range 1 + draw.IntN(3) {
		at := draw.IntN(len(b) + 1)
		switch chosen := h.Answers[draw.IntN(len(h.Answers))].Bytes; draw.IntN(6) {
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
	return b[:min(len(b), 4<<20)]
}

// run uses the client behind a proxy that passes answers through spoil. The context of the
// client's calls ends when patience is over.
func (h Hostile) run(t *testing.T, patience time.Duration, spoil func(n int, answer []byte) []byte) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		t.Error(err)
	}
	var proxying sync.WaitGroup
	defer proxying.Wait()
	defer func() { _ = listener.Close(); cancel() }()
	proxying.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			proxying.Go(func() {
				if h.pass(ctx, client, spoil) && h.Persists {
					cancel()
				}
			})
		}
	})
	return h.Use(ctx, listener.Addr().String())
}

// pass passes on what a client and the server send, but for what spoil changes. It returns at
// the connection's end, and whether there was a change.
func (h Hostile) pass(ctx context.Context, client net.Conn, spoil func(n int, answer []byte) []byte) (spoiled bool) {
	defer func() { _ = client.Close() }()
	server, err := (&net.Dialer{}).DialContext(ctx, "tcp", h.Server)
	if err != nil {
		return false
	}
	var requests sync.WaitGroup
	defer requests.Wait()
	defer func() { _ = server.Close() }()
	defer context.AfterFunc(ctx, func() { _, _ = client.Close(), server.Close() })()
	requests.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.Close() // the client has gone
	})
	buffer := make([]byte, chunkSize)
	for n := 0; ; n++ {
		size, err := server.Read(buffer)
		if err != nil {
			return spoiled
		}
		answer := spoil(n, buffer[:size])
		spoiled = spoiled || !bytes.Equal(answer, buffer[:size])
		if _, err := client.Write(answer); err != nil {
			return spoiled
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
