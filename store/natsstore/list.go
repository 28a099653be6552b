package natsstore

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

const (
	page         = 256             // how many registers are on their way at a time: 2 MB at most
	listingRests = 5 * time.Minute // how long a range's body may take for one page before the server forgets
	forgetLimit  = time.Second     // how long the end of a listing may take
)

// List streams registers by a consumer that acknowledges nothing and that the
// server keeps in memory as long as it is read.
//
// There is one message to a register, its last. So at its beginning the server
// counts the registers that match, and as many messages are read: a register
// that is swapped meanwhile moves to the end, where its new message takes the old one's place, and the
// resting ones all come before it.
func (s *Store) List(ctx context.Context, prefix string) iter.Seq2[store.Entry, error] {
	return storeclient.List(prefix, func(yield func(store.Entry) bool) error {
		current, err := s.begin(ctx)
		if err != nil {
			return err
		}
		l, err := s.listing(ctx, current, prefix)
		if err != nil {
			return s.failed(ctx, "list", err)
		}
		defer l.end(ctx)
		for l.left > 0 {
			e, ok, err := l.next(ctx)
			switch {
			case errors.Is(err, store.ErrDamaged):
				return err
			case err != nil:
				return s.failed(ctx, "list", err)
			case ok && strings.HasPrefix(e.Key, prefix) && !yield(e):
				return nil
			}
		}
		return nil
	})
}

// listing is the state of one range over List's sequence.
type listing struct {
	session  *session
	stream   string
	subject  string // begins the subjects of registers
	consumer string
	replies  *nats.Subscription
	left     uint64 // messages that are still to be read
	asked    int    // messages of the present page that are on their way
	read     uint64 // messages read: each has its number
}

// listing begins one.
func (s *Store) listing(ctx context.Context, current *session, prefix string) (*listing, error) {
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	subject := s.config.subject()
	consumer, err := current.js.CreateConsumer(limited, s.config.stream(), jetstream.ConsumerConfig{
		Description:       "Snowfence lists registers",
		DeliverPolicy:     jetstream.DeliverAllPolicy,
		AckPolicy:         jetstream.AckNonePolicy,
		FilterSubject:     subject + prefixToFilter(prefix),
		InactiveThreshold: listingRests,
		MemoryStorage:     true,
		Replicas:          1,
	})
	if err != nil {
		return nil, err
	}
	info := consumer.CachedInfo()
	l := &listing{session: current, stream: s.config.stream(), subject: subject, consumer: info.Name, left: info.NumPending}
	if l.replies, err = current.conn.SubscribeSync(current.conn.NewInbox()); err != nil {
		l.end(ctx)
		return nil, err
	}
	return l, nil
}

// next returns the next message's register, and asks for the next page where one has
// been read. It returns false for a message that no key of ours stands behind.
func (l *listing) next(ctx context.Context) (e store.Entry, ok bool, err error) {
	if l.asked == 0 {
		l.asked = int(min(l.left, page))
		request := fmt.Appendf(nil, `{"batch":%d,"expires":%d}`, l.asked, requestLimit.Nanoseconds())
		if err := l.session.conn.PublishRequest("$JS.API.CONSUMER.MSG.NEXT."+l.stream+"."+l.consumer, l.replies.Subject, request); err != nil {
			return e, false, err
		}
	}
	limited, cancel := context.WithTimeout(ctx, requestLimit)
	defer cancel()
	message, err := l.replies.NextMsgWithContext(limited)
	if err != nil {
		return e, false, err
	}
	if status := message.Header.Get("Status"); status != "" && message.Reply == "" {
		return e, false, fmt.Errorf("the listing was broken off: %s %s", status, message.Header.Get("Description"))
	}
	about, err := message.Metadata()
	if err != nil {
		return e, false, err
	}
	if l.read++; about.Sequence.Consumer != l.read {
		return e, false, errors.New("the listing has a gap")
	}
	l.asked--
	l.left--
	rest, found := strings.CutPrefix(message.Subject, l.subject)
	key, valid := subjectToKey(rest)
	if !found || !valid || store.ValidateKey(key) != nil {
		return e, false, nil
	}
	e, err = entry(key, about.Sequence.Stream, message.Header, message.Data)
	return e, err == nil, err
}

// end makes the server forget the listing. If that fails it does so by itself,
// in time.
func (l *listing) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), forgetLimit)
	defer cancel()
	if l.replies != nil {
		_ = l.replies.Unsubscribe()
	}
	_ = l.session.js.DeleteConsumer(ctx, l.stream, l.consumer)
}
