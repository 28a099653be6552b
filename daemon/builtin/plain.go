package builtin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gofrs/uuid/v5"
	"github.com/oklog/ulid/v2"
	"go.mongodb.org/mongo-driver/v2/bson"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// plain returns the minter of ids without a store. It calls add for each id, under the lock. Random
// bits keep the ids of two processes apart, without a fence. While the clock is behind the latest id,
// new ids have the latest id's time.
func plain(form kind.Form, mu *sync.Mutex, add func(into *kind.Batch) error) *minter {
	return &minter{form: form, mint: func(_ context.Context, n int, into *kind.Batch) (err error) {
		mu.Lock()
		defer mu.Unlock()
		for i := 0; i < n && err == nil; i++ {
			err = add(into)
		}
		return err
	}}
}

// uuids are UUIDs (RFC 9562). Version 4 has 122 random bits. Version 7 has the time in ms, a
// counter of 12 bits that begins at random below 2048, and 62 random bits. The ids of a generator
// increase. If the counter is full, the time runs ahead of the clock.
func uuids(p *place) (settings, check, open) {
	next := (*uuid.Gen).NewV7
	set := func(text string) error {
		versions := map[string]func(*uuid.Gen) (uuid.UUID, error){"4": (*uuid.Gen).NewV4, "7": (*uuid.Gen).NewV7}
		if next = versions[text]; next == nil {
			return errors.New("must be 4 or 7")
		}
		return nil
	}
	return settings{"version": set}, nil, func(context.Context) (kind.Minter, error) {
		g := uuid.NewGenWithOptions(uuid.WithEpochFunc(p.Clock.Wall))
		return plain(kind.Wide, new(sync.Mutex), func(into *kind.Batch) error {
			room, err := into.GrowWides(1)
			if err != nil {
				return err
			}
			id, err := next(g)
			room[0] = snowfence.WideID(id)
			return err
		}), nil
	}
}

// ulids are ULIDs: the time in ms and 80 random bits. The ids of a generator increase: within a
// millisecond each is up to 2^32 above the one before, so it is easier to guess. An id that
// would overflow the 80 bits (github.com/ulid/spec/issues/11) gets the next millisecond.
func ulids(p *place) (settings, check, open) {
	return nil, nil, func(context.Context) (kind.Minter, error) {
		return ulidsOf(p.Clock, ulid.Monotonic(rand.Reader, 0)), nil
	}
}

func ulidsOf(clock snowfence.Clock, random ulid.MonotonicReader) *minter {
	var last ulid.ULID
	return plain(kind.Text, new(sync.Mutex), func(into *kind.Batch) error {
		ms := max(last.Time(), ulid.Timestamp(clock.Wall()))
		id, err := ulid.New(ms, random)
		if errors.Is(err, ulid.ErrMonotonicOverflow) {
			id, err = ulid.New(ms+1, random)
		}
		if err == nil {
			last, err = id, into.AppendText([]byte(id.String()))
		}
		return err
	})
}

// ObjectIDs are MongoDB's: the time in s, five bytes that package bson draws at random for the
// process, and its counter of 24 bits, which all generators share. The counter wraps silently,
// so more than 2^24 ids in a second are refused with a [*snowfence.WaitError]. ObjectIDs that a program
// makes by bson beside its daemon are not counted here.
type ObjectIDs struct {
	mu     sync.Mutex
	second int64 // of the latest
	used   int   // ids with that second
}

func objectIDs(p *place) (settings, check, open) {
	return nil, nil, func(context.Context) (kind.Minter, error) {
		all := cmp.Or(p.config.ObjectIDs, new(ObjectIDs))
		return plain(kind.Text, &all.mu, func(into *kind.Batch) error { return all.add(p.Clock.Wall(), into) }), nil
	}
}

func (o *ObjectIDs) add(now time.Time, into *kind.Batch) error {
	if now.Unix() > o.second {
		o.second, o.used = now.Unix(), 0
	}
	at := time.Unix(o.second, 0).UTC()
	switch {
	case o.second > math.MaxUint32:
		return fmt.Errorf("mint an ObjectID: its 32 bits of time end before %s: %w", at, snowfence.ErrPastHorizon)
	case o.used == 1<<24:
		return fmt.Errorf("mint an ObjectID: %s has its %d: %w", at, o.used, &snowfence.WaitError{Reason: snowfence.ErrSaturated, Need: at.Add(time.Second).Sub(now)})
	}
	o.used++
	return into.AppendText([]byte(bson.NewObjectIDFromTimestamp(at).Hex()))
}
