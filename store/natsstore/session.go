package natsstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	attemptLimit = 10 * time.Second // to connect and to judge the bucket
	connectLimit = 2 * time.Second  // for one server to greet
	judgeEvery   = 30 * time.Second // how often the bucket's settings are looked at

	// A server that has left two pings unanswered is taken for gone.
	pingEvery = 2 * time.Second
	pings     = 2

	// silenceLimit is how long requests may go unanswered, one and all, before
	// another connection is made, though pings are answered: a server that is cut
	// off from its cluster answers pings and nothing else.
	silenceLimit = 4 * time.Second
)

// session is one connection. It never reconnects: with the client's own
// reconnection, a publish that waits in a buffer would be sent to whatever
// server comes next, by surprise and after the answers that it rests on.
type session struct {
	conn  *nats.Conn
	js    jetstream.JetStream
	guard *storeclient.Guard // of the connection

	// Times count from the store's opening.
	judged atomic.Int64          // when the bucket was last found fit
	unfit  atomic.Pointer[error] // why it was last found unfit, for calls that come while it is judged again
	silent atomic.Int64          // when a request first went unanswered since one was answered; or 0

	replicated atomic.Bool // several servers keep the bucket: one that no longer leads may answer
}

// heard notes a request's outcome, and ends a connection whose requests stay unanswered.
func (s *Store) heard(current *session, err error) {
	unanswered := errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) ||
		errors.Is(err, nats.ErrNoResponders) || errors.Is(err, jetstream.ErrNoStreamResponse)
	if !unanswered {
		current.silent.Store(0)
		return
	}
	now := int64(storeclient.Since(s.opened))
	if first := current.silent.Load(); first != 0 && now-first >= int64(silenceLimit) {
		current.conn.Close()
	} else {
		current.silent.CompareAndSwap(0, now)
	}
}

// connect connects to any of the servers and judges it and the bucket.
func (s *Store) connect(ctx context.Context) (*session, error) {
	options, err := s.config.options(s.tls)
	if err != nil {
		return nil, err
	}
	// The client neither takes a context nor hands out its connection. It dials
	// one server after the other, in this goroutine.
	var keep []func() bool
	next := &session{}
	var unreached []error // the client's own error leaves out why it found no server
	// The dialer gets names, not addresses: certificates are for names.
	options = append(options, nats.SkipHostLookup(), nats.SetCustomDialer(dialer(func(network, address string) (net.Conn, error) {
		raw, err := (&net.Dialer{Timeout: connectLimit}).DialContext(ctx, network, address)
		if err != nil {
			unreached = append(unreached, err)
			return nil, err
		}
		keep = append(keep, context.AfterFunc(ctx, func() { _ = raw.Close() }))
		next.guard = storeclient.NewGuard(address, newAnswers(), raw.Close)
		secured, err := secure(ctx, raw, address, s.tls)
		if err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		return next.guard.Conn(unbroken{secured}), nil
	})))
	var servers []string
	for _, endpoint := range s.config.Endpoints {
		servers = append(servers, "nats://"+endpoint)
	}
	conn, err := nats.Connect(strings.Join(servers, ","), options...)
	for _, stop := range keep {
		stop()
	}
	if err != nil {
		return nil, fmt.Errorf("dial %s: %w", strings.Join(s.config.Endpoints, ", "),
			cmp.Or(next.guard.Wrong(), errors.Join(append(unreached, err)...)))
	}
	next.conn = conn
	if err := s.fit(ctx, next); err != nil {
		conn.Close()
		return nil, cmp.Or(next.guard.Wrong(), err)
	}
	return next, nil
}

// fit judges the server and the bucket, which it makes if it is missing and may be.
func (s *Store) fit(ctx context.Context, next *session) error {
	version := next.conn.ConnectedServerVersion()
	switch {
	case !atLeast(version, 9):
		return s.tooOld(version, "2.9 or later")
	case s.config.Durable && !atLeast(version, 10):
		// https://github.com/nats-io/nats-server/pull/4483
		return s.tooOld(version, "2.10 or later to be durable: earlier ones can't sync every write")
	}
	if n := next.conn.MaxPayload(); n < leastMessage {
		return &ServerError{Bucket: s.config.Bucket, Setting: "max_payload", Value: strconv.FormatInt(n, 10),
			Want: fmt.Sprintf("at least %d", leastMessage)}
	}
	var err error
	if next.js, err = jetstream.New(next.conn); err != nil {
		return fmt.Errorf("use JetStream: %w", err)
	}
	return s.judgeBucket(ctx, next)
}

func (s *Store) tooOld(version, want string) error {
	return &ServerError{Bucket: s.config.Bucket, Setting: "the server's version", Value: version, Want: want}
}

// judgeAgain judges the bucket if that was long ago. Calls that come meanwhile
// are not held up: they return the last finding.
func (s *Store) judgeAgain(ctx context.Context, current *session) error {
	now, last := int64(storeclient.Since(s.opened)), current.judged.Load()
	if now-last < int64(judgeEvery) || !current.judged.CompareAndSwap(last, now) {
		if unfit := current.unfit.Load(); unfit != nil {
			return *unfit
		}
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	err := s.judgeBucket(ctx, current)
	if err == nil {
		current.unfit.Store(nil)
		return nil
	}
	// An outage shows nothing about the bucket.
	if refused := new(*ServerError); errors.As(err, refused) || errors.Is(err, store.ErrDamaged) {
		current.unfit.Store(&err)
	}
	current.judged.Store(last) // the next call asks again
	return err
}

// judgeBucket reads the bucket's settings, and returns an error unless they will do. The
// bucket is made if it is missing and was never seen, unless it has to exist. One
// that was made again since has forgotten every register, and is not taken for the other.
func (s *Store) judgeBucket(ctx context.Context, current *session) error {
	info, err := s.bucket(ctx, current)
	if err != nil {
		if last := current.conn.LastError(); errors.Is(last, nats.ErrPermissionViolation) {
			err = errors.Join(err, last)
		}
		return fmt.Errorf("read the settings of bucket %q: %w", s.config.Bucket, err)
	}
	if err := s.config.judge(info.Config); err != nil {
		return err
	}
	if version := current.conn.ConnectedServerVersion(); info.Config.Replicas > 1 && !atLeast(version, 11) {
		// https://github.com/nats-io/nats-server/issues/4320 and pull/6194, /6485
		return s.tooOld(version, "2.11 or later for a bucket on several servers: earlier ones let two swaps under one version take effect")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.created.IsZero() {
		s.created = info.Created
	}
	if !s.created.Equal(info.Created) {
		return fmt.Errorf("bucket %q was made again at %v, after this store was opened with the one of %v; open it again: %w",
			s.config.Bucket, info.Created, s.created, store.ErrDamaged)
	}
	current.replicated.Store(info.Config.Replicas > 1)
	current.judged.Store(int64(storeclient.Since(s.opened)))
	return nil
}

// bucket returns the server's description of the bucket.
func (s *Store) bucket(ctx context.Context, current *session) (*jetstream.StreamInfo, error) {
	stream, err := current.js.Stream(ctx, s.config.stream())
	if !errors.Is(err, jetstream.ErrStreamNotFound) {
		if err != nil {
			return nil, err
		}
		return stream.CachedInfo(), nil
	}
	s.mu.Lock()
	known := !s.created.IsZero()
	s.mu.Unlock()
	if known {
		return nil, fmt.Errorf("it is gone: %w", store.ErrDamaged)
	}
	if s.config.Existing {
		return nil, store.ErrNoStore
	}
	settings, err := s.config.newBucket()
	if err != nil {
		return nil, err
	}
	stream, err = current.js.CreateStream(ctx, settings)
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // made by another one meanwhile
		stream, err = current.js.Stream(ctx, s.config.stream())
	}
	if err != nil {
		return nil, fmt.Errorf("make it: %w", err)
	}
	return stream.CachedInfo(), nil
}

// options are the client's options, with the present secrets.
func (c Config) options(tls *tls.Config) ([]nats.Option, error) {
	options := []nats.Option{
		nats.Name("snowfence"),
		nats.NoReconnect(),
		// Unnamed ones get no credentials.
		nats.IgnoreDiscoveredServers(),
		nats.Timeout(connectLimit),
		nats.FlusherTimeout(connectLimit),
		nats.PingInterval(pingEvery),
		nats.MaxPingsOutstanding(pings),
		// It would be printed otherwise. Every call returns its own error.
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}),
	}
	if tls != nil {
		options = append(options, nats.Secure(tls.Clone()))
	}
	switch {
	case c.User != "":
		password, err := storeurl.Password(c.Password, c.PasswordFile)
		if err != nil {
			return nil, fmt.Errorf("password-file: %w", err)
		}
		return append(options, nats.UserInfo(c.User, string(password))), nil
	case c.CredsFile != "":
		if _, err := storeurl.ReadFile(c.CredsFile); err != nil {
			return nil, fmt.Errorf("creds: %w", err)
		}
		return append(options, nats.UserCredentials(c.CredsFile)), nil
	}
	return options, nil
}

// unbroken is a connection that ends with its first write that fails. The client would
// carry on after a write that took too long, and the server would take the next write for the rest of
// the message that was cut off: store it as its value, and acknowledge it.
type unbroken struct{ net.Conn }

// Write implements net.Conn.
func (c unbroken) Write(b []byte) (int, error) {
	n, err := c.Conn.Write(b)
	if err != nil {
		_ = c.Close()
	}
	return n, err
}

// atLeast reports whether a server's version is 2.minor or later. Unreadable settings are not.
func atLeast(version string, minor int) bool {
	var major, second int
	n, _ := fmt.Sscanf(version, "%d.%d", &major, &second)
	return n == 2 && (major > 2 || major == 2 && second >= minor)
}
