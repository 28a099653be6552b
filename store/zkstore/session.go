package zkstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	// calls bounds the calls that are with the client at a time, and so the
	// goroutines that wait for answers after their callers have gone. More
	// callers wait for their turn.
	calls = 64

	// The client's buffers: a request has at most a key, a value or the
	// credentials, and an answer the names of a folder: see folderName.
	maxCredentials = 16 << 10
	requestSize    = 64 << 10
	answerSize     = 2 << 20

	// firstPause and lastPause bound the pause before a server is dialled again.
	firstPause = 20 * time.Millisecond
	lastPause  = 320 * time.Millisecond

	// firstPatience is how long the first connection may wait for its session.
	// It doubles with each failure. A server that is just starting may
	// take a connection and forget it.
	firstPatience = 300 * time.Millisecond
)

// session is a client's connection to the ensemble, through all the TCP
// connections and ZooKeeper sessions that it takes. It is safe for concurrent
// use.
//
// The client library is without contexts. It sends each request once: a request
// that is under way when its connection is lost fails, and one that has not
// been sent yet is sent on the next connection. Left alone, a swap could so
// wait for hours, and take effect when its sender has long gone. Therefore a
// call goes to the library only while there is a session; a write that slips in at the moment of a loss
// is the exception, and an unknown outcome as any other.
type session struct {
	client  *zk.Conn
	turns   chan struct{} // has room for the calls that may begin
	life    *storeclient.Life
	silence time.Duration // how long a server may leave a connection without a session
	tls     *tls.Config

	number atomic.Int64 // how many times there was a session, old or new

	mu        sync.Mutex
	up        chan struct{} // closed while there is a session; replaced when it is lost
	isUp      bool
	dials     int // since there was a session last
	forgotten int // the ones without an answer in time
	endpoints []string
	last      int                // the endpoint that was dialled last
	current   net.Conn           // the connection that was made last; nil at first
	guard     *storeclient.Guard // of that connection
	wrong     error              // the last wrong answer since there was a session
	settle    func()             // keeps it when there is a session; it may be called twice
	failure   error              // why the last connection came to nothing
}

// connect starts to connect.
func connect(c Config) (*session, error) {
	tls, err := c.TLS.Load()
	if err != nil {
		return nil, fmt.Errorf("zkstore: %w", err)
	}
	s := &session{
		turns:   make(chan struct{}, calls),
		life:    storeclient.Begin(),
		silence: c.SessionTimeout * 2 / 3, // as the client itself waits in a session
		tls:     tls,
		up:      make(chan struct{}),
		settle:  func() {},
		failure: errors.New("the servers have not answered yet"),
	}
	client, _, err := zk.Connect(c.Endpoints, c.SessionTimeout,
		zk.WithHostProvider((*rotation)(s)),
		zk.WithDialer(func(_, address string, _ time.Duration) (net.Conn, error) {
			return s.dial(s.life.Context(), address)
		}),
		zk.WithEventCallback(s.heed),
		zk.WithLogger(quiet{}),
		zk.WithLogInfo(false),
		zk.WithMaxConnBufferSize(requestSize),
		zk.WithMaxBufferSize(answerSize),
	)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("zkstore: %w", err), s.life.End(nil))
	}
	s.client = client
	return s, nil
}

// call runs f, which makes one request, when there is a session, and returns f's results. It returns
// soon after ctx ends. Then f may still run, until the server answers, or until the client gives the
// connection up, two thirds of the session timeout after the last sign of life; its answer is dropped.
func call[T any](ctx context.Context, s *session, f func(*zk.Conn) (T, error)) (T, error) {
	var none T
	select {
	case s.turns <- struct{}{}:
	case <-ctx.Done():
		return none, s.usable(ctx)
	case <-s.life.Context().Done():
		return none, store.ErrClosed
	}
	s.mu.Lock()
	up := s.up
	s.mu.Unlock()
	select {
	case <-up:
	case <-ctx.Done():
	case <-s.life.Context().Done():
	}
	// A select picks any ready case, and nothing may be sent after the end.
	if err := s.usable(ctx); err != nil {
		<-s.turns
		return none, err
	}
	got, err := storeclient.Call(ctx, s.life, func() (T, error) {
		defer func() { <-s.turns }()
		return f(s.client)
	})
	if err != nil {
		err = cmp.Or(s.usable(ctx), s.lost(err), err)
	}
	return got, err
}

// lost returns the error of a request whose connection ended with a wrong answer, else nil.
func (s *session) lost(err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if wrong := cmp.Or(s.guard.Wrong(), s.wrong); wrong != nil && isLoss(err) {
		return fmt.Errorf("%w: %w", err, wrong)
	}
	return nil
}

// usable returns store.ErrClosed after close, and an error if ctx has ended: with
// why there is no session if there is none.
func (s *session) usable(ctx context.Context) error {
	if err := s.life.Usable(ctx); err == nil || errors.Is(err, store.ErrClosed) {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.isUp && s.guard.Wrong() == nil {
		return ctx.Err()
	}
	return fmt.Errorf("%w: no session: %w", ctx.Err(), cmp.Or(s.guard.Wrong(), s.wrong, s.failure))
}

// close ends the session. Calls that wait return, and so do later ones.
func (s *session) close() error {
	return s.life.End(func() error {
		s.mu.Lock()
		up := s.isUp
		s.mu.Unlock()
		if up {
			// A server that answers needs a round trip to forget the session, and
			// one that does not is given up after a second.
			s.client.Close()
		} else {
			// No server could be notified, and the client would wait for it all the same.
			go s.client.Close()
		}
		s.leave()
		return nil
	})
}

// authenticate returns a function that makes credentials known, on this connection and all
// later ones. The client remembers them once the server has taken them; if there
// was another connection meanwhile, that one may be without.
func (s *session) authenticate(user string, password storeurl.Secret) func(context.Context) error {
	return func(ctx context.Context) error {
		for user != "" {
			before := s.number.Load()
			_, err := call(ctx, s, func(c *zk.Conn) (struct{}, error) {
				return struct{}{}, c.AddAuth("digest", []byte(user+":"+string(password)))
			})
			// A context's error counts as a network's as well.
			if err != nil && (!isLoss(err) || s.usable(ctx) != nil) {
				return fmt.Errorf("authenticate: %w", err)
			}
			if err == nil && s.number.Load() == before {
				break
			}
		}
		return nil
	}
}

// isLoss reports whether an error shows that the connection was lost, and the
// request with it or not.
func isLoss(err error) bool {
	var network net.Error
	return errors.Is(err, zk.ErrConnectionClosed) || errors.Is(err, zk.ErrSessionExpired) ||
		errors.Is(err, zk.ErrSessionMoved) || errors.Is(err, zk.ErrNoServer) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network)
}

// heed learns from the client's events whether there is a session.
func (s *session) heed(e zk.Event) {
	if e.Type != zk.EventSession {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch e.State {
	case zk.StateHasSession:
		s.settle()
		s.number.Add(1)
		s.dials, s.forgotten, s.wrong = 0, 0, nil
		if !s.isUp {
			s.isUp = true
			close(s.up)
		}
	case zk.StateDisconnected, zk.StateExpired, zk.StateConnecting:
		if s.isUp {
			s.isUp = false
			s.up = make(chan struct{})
			s.failure = errors.New("the connection was lost")
		}
	default:
	}
}

// dial connects to a server. Until it has a session, the connection lasts no
// longer than there is patience, and than life.
func (s *session) dial(life context.Context, address string) (net.Conn, error) {
	// The client forgets to close a connection whose session had expired.
	s.leave()
	if err := s.pause(life); err != nil {
		return nil, err
	}
	limit, cancel := context.WithTimeout(life, s.patience())
	connection, err := storeclient.Dial(limit, "tcp", address, s.tls)
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		if limit.Err() != nil {
			s.forgotten++
		}
		cancel()
		s.failure = err
		return nil, err
	}
	s.wrong = cmp.Or(s.guard.Wrong(), s.wrong)
	s.current, s.guard = connection, storeclient.NewGuard(address, &frames{}, connection.Close)
	s.failure = fmt.Errorf("%s: accepts connections and grants no session", address)
	stop := context.AfterFunc(limit, func() {
		s.mu.Lock()
		s.forgotten++
		s.mu.Unlock()
		_ = connection.Close()
	})
	s.settle = func() { stop(); cancel() }
	return s.guard.Conn(connection), nil
}

// pause waits before a server is dialled again: longer from round to round.
func (s *session) pause(life context.Context) error {
	s.mu.Lock()
	n, round := s.dials, s.dials/len(s.endpoints)
	s.dials++
	first := n == 0 && s.number.Load() == 0
	s.mu.Unlock()
	if !first {
		rest, cancel := context.WithTimeout(life, min(firstPause<<min(round, 10), lastPause))
		defer cancel()
		<-rest.Done()
	}
	return life.Err()
}

// patience is how long the next connection may wait for its session: in the
// end as long as a server may be silent.
func (s *session) patience() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return min(firstPatience<<min(s.forgotten, 10), s.silence)
}

// leave closes the connection that was made last, if there is one.
func (s *session) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settle()
	if s.current != nil {
		_ = s.current.Close()
		s.current = nil
	}
}

// rotation is the session as the client's zk.HostProvider: it names the
// endpoints in turn, as they are, so that each attempt resolves them again.
type rotation session

// Init implements zk.HostProvider. The client has shuffled the servers.
func (r *rotation) Init(servers []string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.endpoints, r.last = servers, len(servers)-1
	return nil
}

// Len implements zk.HostProvider.
func (r *rotation) Len() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.endpoints)
}

// Next implements zk.HostProvider. Its second result makes the client wait for
// a second; the pauses are dial's, so it is true only when the client is to
// see that it was closed, which ends that second.
func (r *rotation) Next() (server string, retryStart bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.last = (r.last + 1) % len(r.endpoints)
	return r.endpoints[r.last], r.life.Ended()
}

// Connected implements zk.HostProvider.
func (r *rotation) Connected() {}

// quiet is the client's zk.Logger, which would print otherwise. Every call returns its own error.
type quiet struct{}

// Printf implements zk.Logger.
func (quiet) Printf(string, ...any) {}
