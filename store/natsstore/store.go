package natsstore

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	// markHeader stands on every message of ours. It holds the format, 1, and
	// the random token of the write that made it.
	markHeader = "Snowfence-Write"
	format     = "1"

	// requestLimit is how long an answer is waited for at most.
	requestLimit = 10 * time.Second
)

// A Store is one client of a bucket. Its methods are safe for concurrent use.
type Store struct {
	config   Config // with defaults
	tls      *tls.Config
	opened   time.Time
	life     *storeclient.Life
	sessions *storeclient.Opener[*session]

	mu      sync.Mutex // guards created
	created time.Time  // when the bucket was made; zero until it was seen
}

// OpenURL opens the store that a URL means: [ParseURL], then [Open].
func OpenURL(ctx context.Context, url string) (*Store, error) {
	return storeurl.Open(ctx, url, ParseURL, Open)
}

// Open connects, judges the bucket and makes it if it is missing and it may. It
// returns soon after ctx ends.
//
// A *[ServerError] is returned when the server or the bucket could lose
// registers, an error that is [store.ErrNoStore] when there is no bucket and none
// may be made, the client's own error when no server lets us in, and the error of
// a config that can't be used.
func Open(ctx context.Context, c Config) (*Store, error) {
	c, err := c.withDefaults()
	if err != nil {
		return nil, err
	}
	s := &Store{config: c, opened: storeclient.Now(), life: storeclient.Begin()}
	if s.tls, err = c.TLS.Load(); err != nil {
		return nil, fmt.Errorf("natsstore: %w", err)
	}
	s.sessions = &storeclient.Opener[*session]{
		Life: s.life, Limit: attemptLimit, Open: s.connect,
		Works: func(current *session) bool { return current.conn.IsConnected() },
	}
	if _, err := s.begin(ctx); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// Get returns the register at key as the leader of the bucket has it. Direct
// gets, which any server that keeps the bucket answers, are not used.
func (s *Store) Get(ctx context.Context, key string) (store.Entry, error) {
	if err := store.ValidateKey(key); err != nil {
		return store.Entry{}, err
	}
	current, err := s.begin(ctx)
	if err != nil {
		return store.Entry{}, err
	}
	return s.read(ctx, current, key)
}

// Swap compares the register's version and then publishes under its number.
//
// The server compares numbers alone, and after a rollback it gives numbers out again. So
// the token is compared first. Both requests go over one connection, which never
// reconnects, and a server that forgot something was started in between, which ends its
// connections. Hence on a server of its own the number can't have come to mean another
// write. In a cluster two gaps remain, which the package's comment names.
//
// A register is looked for before it is created as well: the server takes one
// that it can't read for none.
func (s *Store) Swap(ctx context.Context, key string, prev store.Version, value []byte) (store.Version, error) {
	if err := cmp.Or(store.ValidateKey(key), store.ValidateValue(value)); err != nil {
		return "", err
	}
	current, err := s.begin(ctx)
	if err != nil {
		return "", err
	}
	guard := uint64(0) // no message under this subject
	if prev != "" {
		var ok bool
		if guard, ok = numberOf(prev); !ok {
			return "", store.ErrConflict // a register never had this version
		}
	}
	entry, err := s.read(ctx, current, key)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return "", err
	}
	number, _ := numberOf(entry.Version)
	switch {
	case entry.Version == prev:
	case number < guard && current.replicated.Load():
		// One that no longer leads may have answered. The leader shall judge.
	default:
		return "", store.ErrConflict // nothing was sent
	}
	return s.publish(ctx, current, key, guard, value)
}

// publish makes value the register at key if its number is still the one given.
func (s *Store) publish(ctx context.Context, current *session, key string, guard uint64, value []byte) (store.Version, error) {
	token, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return "", fmt.Errorf("natsstore: %w", err)
	}
	mark := token.String()
	message := nats.NewMsg(s.config.subject() + keyToSubject(key))
	message.Header.Set(markHeader, format+" "+mark)
	message.Data = value

	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	// The client would repeat a publish that every server refused. Without a message id the server
	// can't see duplicates: it would acknowledge the second of two equal swaps.
	ack, err := current.js.PublishMsg(limited, message,
		jetstream.WithRetryAttempts(0),
		jetstream.WithExpectStream(s.config.stream()),
		jetstream.WithExpectLastSequencePerSubject(guard))
	s.heard(current, err)
	if isConflict(err) {
		return "", store.ErrConflict
	}
	if err != nil {
		return "", s.failed(ctx, "swap", err)
	}
	if ack.Stream != s.config.stream() || ack.Sequence == 0 || ack.Duplicate {
		return "", fmt.Errorf("natsstore: swap: the answer is about something else: stream %.80q, number %d", ack.Stream, ack.Sequence)
	}
	return version(ack.Sequence, mark), nil
}

// Traits returns the operator's assertions.
func (s *Store) Traits(ctx context.Context) (store.Traits, error) {
	return s.life.Traits(ctx, store.Traits{Engine: "nats", Durable: s.config.Loss == 0, Loss: s.config.Loss})
}

// Close ends the connection, and the calls that wait for it.
func (s *Store) Close() error {
	return s.life.End(func() error {
		s.sessions.Wait()
		if current, ok := s.sessions.Value(); ok {
			current.conn.Close()
		}
		return nil
	})
}

// Name implements [store.Named].
func (s *Store) Name() string { return s.config.Name() }

// String returns the store's config, without its secrets.
func (s *Store) String() string { return fmt.Sprintf("%+v", s.config) }

// GoString is String, so that %#v hides the secrets too.
func (s *Store) GoString() string { return s.String() }

// begin returns a session for a call, after making one if there is none.
func (s *Store) begin(ctx context.Context) (*session, error) {
	current, err := s.sessions.Get(ctx)
	if err == nil {
		err = s.judgeAgain(ctx, current)
	}
	if err != nil {
		return nil, s.failed(ctx, "connect", err)
	}
	return current, nil
}

// failed returns the error of a request, as callers are to see it.
func (s *Store) failed(ctx context.Context, verb string, err error) error {
	if usable := s.life.Usable(ctx); usable != nil {
		return fmt.Errorf("natsstore: %s: %w", verb, usable)
	}
	if current, ok := s.sessions.Value(); ok && current.guard.Wrong() != nil {
		err = current.guard.Wrong() // the cause, whatever the client makes of it
	}
	if errors.Is(err, context.DeadlineExceeded) {
		// It is ours, and not the caller's: it must not be taken for that.
		return fmt.Errorf("natsstore: %s: no answer within %v: %s", verb, requestLimit, err.Error())
	}
	return fmt.Errorf("natsstore: %s: %w", verb, err)
}

// read returns the register at key. The server reports an unreadable message as missing, but still
// counts it. One that it gave up when it read its files after a crash is not counted either: nothing
// distinguishes it from one that never was.
func (s *Store) read(ctx context.Context, current *session, key string) (store.Entry, error) {
	e, err := s.last(ctx, current, key)
	if !errors.Is(err, store.ErrNotFound) {
		return e, err
	}
	counted, err := s.counted(ctx, current, key)
	if err != nil {
		return e, err
	}
	if !counted {
		return e, store.ErrNotFound
	}
	if e, err = s.last(ctx, current, key); errors.Is(err, store.ErrNotFound) { // not created in between
		err = fmt.Errorf("natsstore: register %q is there, and the server can't read it: %w", key, store.ErrDamaged)
	}
	return e, err
}

// counted asks the leader whether it has a message for the register at key.
func (s *Store) counted(ctx context.Context, current *session, key string) (bool, error) {
	subject := s.config.subject() + keyToSubject(key)
	var answer struct {
		Error *jetstream.APIError `json:"error"`
		State *struct {
			Subjects map[string]uint64 `json:"subjects"`
		} `json:"state"`
	}
	if err := s.ask(ctx, current, "STREAM.INFO", fmt.Sprintf(`{"subjects_filter":%q}`, subject), &answer); err != nil {
		return false, err
	}
	switch {
	case answer.Error != nil:
		return false, fmt.Errorf("natsstore: get: %w", answer.Error)
	case answer.State == nil:
		return false, errors.New("natsstore: get: the answer is about something else")
	}
	return answer.State.Subjects[subject] > 0, nil
}

// ask sends a request about the bucket and decodes the answer.
func (s *Store) ask(ctx context.Context, current *session, verb, question string, answer any) error {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	reply, err := current.conn.RequestWithContext(limited, "$JS.API."+verb+"."+s.config.stream(), []byte(question))
	s.heard(current, err)
	if err != nil {
		return s.failed(ctx, "get", err)
	}
	if err := json.Unmarshal(reply.Data, answer); err != nil {
		return fmt.Errorf("natsstore: get: decode answer: %w", err)
	}
	return nil
}

// last asks the leader for the last message of the register at key.
//
// It answers with the majority's state, or a single server's state in the system's cache. So a read is
// as good as an acknowledgement.
func (s *Store) last(ctx context.Context, current *session, key string) (store.Entry, error) {
	subject := s.config.subject() + keyToSubject(key)
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message *struct {
			Subject string `json:"subject"`
			Number  uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := s.ask(ctx, current, "STREAM.MSG.GET", fmt.Sprintf(`{"last_by_subj":%q}`, subject), &answer); err != nil {
		return store.Entry{}, err
	}
	switch {
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeMessageNotFound:
		return store.Entry{}, store.ErrNotFound
	case answer.Error != nil && answer.Error.ErrorCode == jetstream.JSErrCodeStreamNotFound:
		return store.Entry{}, fmt.Errorf("natsstore: get: bucket %q is gone: %w", s.config.Bucket, store.ErrDamaged)
	case answer.Error != nil:
		return store.Entry{}, fmt.Errorf("natsstore: get: %w", answer.Error)
	case answer.Message == nil || answer.Message.Subject != subject:
		return store.Entry{}, errors.New("natsstore: get: the answer is about something else")
	}
	header := nats.Header{}
	if len(answer.Message.Header) > 0 {
		var err error
		if header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return store.Entry{}, fmt.Errorf("natsstore: get %q: decode header: %w: %w", key, err, store.ErrDamaged)
		}
	}
	return entry(key, answer.Message.Number, header, answer.Message.Data)
}

// entry returns the register that a message holds. An error that is ErrDamaged
// is returned for a message that is none of ours, such as a mark of deletion.
func entry(key string, number uint64, header nats.Header, value []byte) (store.Entry, error) {
	kind, mark, _ := strings.Cut(header.Get(markHeader), " ")
	_, ours := storeclient.ParseToken(mark)
	switch {
	case kind == "" && header.Get("KV-Operation") != "":
		return store.Entry{}, fmt.Errorf("natsstore: register %q was deleted by another program: %w", key, store.ErrDamaged)
	case kind != "" && kind != format:
		return store.Entry{}, fmt.Errorf("natsstore: register %q is of a newer format, %.16q: %w", key, kind, store.ErrDamaged)
	case !ours || number == 0 || len(value) > store.MaxValue:
		return store.Entry{}, fmt.Errorf("natsstore: register %q was written by another program: %w", key, store.ErrDamaged)
	}
	return store.Entry{Key: key, Value: value, Version: version(number, mark)}, nil
}

// version names a write by its number in the bucket and its token. The server compares the number; the
// token makes it unique.
func version(number uint64, mark string) store.Version {
	return store.Version(strconv.FormatUint(number, 10) + "." + mark)
}

// numberOf returns the number in a version, and whether it can be one.
func numberOf(v store.Version) (uint64, bool) {
	digits, mark, _ := strings.Cut(string(v), ".")
	number, err := strconv.ParseUint(digits, 10, 64)
	return number, err == nil && number > 0 && len(mark) == storeclient.TokenDigits
}

// isConflict reports whether the server refused a publish for its guard: another message
// is the last one, or one that came before is still being replicated. Either way the
// publish was dropped before it was proposed or stored.
func isConflict(err error) bool {
	var refusal *jetstream.APIError
	return errors.As(err, &refusal) && (refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence ||
		refusal.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}
