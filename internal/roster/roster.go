package roster

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// requestTimeout bounds each request to the store, and in a list the wait for the
// next register.
const requestTimeout = 10 * time.Second

// Config sets which namespace is read and operated. Only Store must be
// given.
type Config struct {
	Store     store.Store     // where the namespace lives; the roster does not close it
	Namespace string          // 1 to 64 of [a-z0-9._-]; empty means "default"
	Clock     snowfence.Clock // nil means [snowfence.SystemClock]

	// MaxRollback is how far ahead of the clock the used ticks of a free worker id may
	// reach; see snowfence.Policy. Zero means the default policy's.
	MaxRollback time.Duration

	// Known has worker ids by their number, as an earlier roster of the namespace read them. A register that still has the same
	// version is not decoded again. It may be nil.
	Known map[int64]Worker

	// Process is written into the registers that [Desk.Raise] and
	// [Desk.Quarantine] create or raise, for people. It may be empty.
	Process stored.Process

	// Rand is the source of incarnations and of the marks of writes: unpredictable, and
	// never the same twice. Nil means crypto/rand.
	Rand io.Reader
}

// prepare returns the config with every zero value replaced by its default.
func (c Config) prepare() (Config, error) {
	if c.Store == nil {
		return c, errors.New("snowfence: roster: store is nil: must be given")
	}
	c.Namespace = cmp.Or(c.Namespace, stored.DefaultNamespace)
	if err := stored.CheckNamespace(c.Namespace); err != nil {
		return c, err
	}
	c.Clock, c.Rand = cmp.Or(c.Clock, snowfence.SystemClock()), cmp.Or(c.Rand, rand.Reader)
	return c, nil
}

// Roster is one namespace of one store. It is safe for concurrent use. It keeps the namespace's record
// as [Open] read it, without registers.
type Roster struct {
	config Config
	record stored.Namespace
	layout snowfence.Layout
	traits store.Traits

	dry         bool          // writes are computed and not sent
	engineClock bool          // the reference is the store's clock
	ahead       time.Duration // of the reference before this host's clock
}

// Open reads a namespace's record. An error wrapping [ErrNoNamespace] is returned if there
// is none, one wrapping [stored.ErrRecord] if it can't be decoded, and the store's own
// otherwise.
func Open(ctx context.Context, config Config) (*Roster, error) {
	config, err := config.prepare()
	if err != nil {
		return nil, err
	}
	r := &Roster{config: config}
	if r.traits, err = limited(ctx, config.Store.Traits); err != nil {
		return nil, fmt.Errorf("ask the store what it guarantees: %w", err)
	}
	if err := r.read(ctx); err != nil {
		return nil, err
	}
	r.config.MaxRollback = snowfence.Policy{MaxRollback: config.MaxRollback}.WithDefaults(r.layout).MaxRollback
	clock, ok := store.ClockOf(config.Store)
	if !ok {
		return r, nil
	}
	before := config.Clock.Monotonic()
	now, err := limited(ctx, clock.Now)
	if err != nil {
		return nil, fmt.Errorf("read the store's clock: %w", err)
	}
	took := config.Clock.Monotonic() - before
	r.engineClock, r.ahead = true, now.Add(took/2).Sub(config.Clock.Wall())
	return r, nil
}

// Create makes a namespace with a new incarnation and opens it, or opens an existing one. A
// *[stored.LayoutMismatchError] is returned if that has another layout. A
// *[stored.ConfigError] is returned if it has other datacenters; an empty list fits every namespace. A
// *[snowfence.LayoutError] is returned for an invalid layout.
func Create(ctx context.Context, config Config, layout snowfence.Layout, datacenters []int64) (*Roster, error) {
	config, err := config.prepare()
	if err != nil {
		return nil, err
	}
	// The lease knows the rules of a namespace.
	state, err := lease.New(lease.Config{Namespace: config.Namespace, Layout: layout, Datacenters: datacenters})
	if err != nil {
		return nil, err
	}
	wanted := state.Config()
	r, err := Open(ctx, config)
	if errors.Is(err, ErrNoNamespace) {
		if err := create(ctx, config, wanted); err != nil {
			return nil, err
		}
		// Whatever the outcome of the swap, only a record that was read back counts.
		r, err = Open(ctx, config)
	}
	if err != nil {
		return nil, err
	}
	if err := r.record.Fits(config.Namespace, layout, wanted.Datacenters); err != nil {
		return nil, err
	}
	return r, nil
}

// create writes the record of a new namespace. It is no error if another process wrote one
// first.
func create(ctx context.Context, config Config, wanted lease.Config) error {
	incarnation, err := random(config.Rand, 16)
	if err != nil {
		return err
	}
	value, err := stored.NewNamespace(wanted.Layout, wanted.Datacenters, incarnation, config.Clock.Wall()).Encode()
	if err != nil {
		return err
	}
	_, err = limited(ctx, func(ctx context.Context) (store.Version, error) {
		return config.Store.Swap(ctx, stored.NamespaceKey(config.Namespace), "", value)
	})
	if err != nil && !errors.Is(err, store.ErrConflict) {
		return fmt.Errorf("create namespace %q: %w", config.Namespace, err)
	}
	return nil
}

// read reads the namespace's record.
func (r *Roster) read(ctx context.Context) error {
	name := r.config.Namespace
	entry, err := r.get(ctx, stored.NamespaceKey(name))
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("%w: %q", ErrNoNamespace, name)
	}
	if err == nil {
		r.record, err = stored.DecodeNamespace(entry.Value)
	}
	if err == nil {
		if r.layout, err = snowfence.ParseLayout(r.record.Layout); err != nil {
			err = fmt.Errorf("%w: field \"layout\": %w", stored.ErrRecord, err)
		}
	}
	if err != nil {
		return fmt.Errorf("read namespace %q: %w", name, err)
	}
	return nil
}

// Settle waits until a lossy store can't lose the namespace's record any more, and checks
// that the record is still the same. It waits in any case, as nothing is written yet. On a durable store it returns at once. Call it before
// writing registers into a namespace that may be new: if the record were lost, they would
// belong to no incarnation. An error wrapping [stored.ErrNamespaceReplaced] is returned if
// the record has changed.
func (r *Roster) Settle(ctx context.Context, p Patience) error {
	// The writer was another host, or this one, whose clock has not been judged. So the
	// record must be old both by the reference and by this host's clock.
	if !stored.Young(r.record.Created, r.traits.Loss, r.Now(), r.config.Clock.Wall()) {
		return nil
	}
	if err := p.Wait(ctx, r.config.Clock, r.traits.Loss); err != nil {
		return err
	}
	return r.unchanged(ctx)
}

// unchanged reads the namespace's record again. An error wrapping [stored.ErrNamespaceReplaced] is returned
// if it has changed.
func (r *Roster) unchanged(ctx context.Context) error {
	again := &Roster{config: r.config}
	if err := again.read(ctx); err != nil {
		return err
	}
	return again.record.Succeeds(r.record)
}

// Dry returns a roster of the same namespace that writes nothing. Its verbs return their writes,
// unsent.
func (r *Roster) Dry() *Roster {
	d := *r
	d.dry = true
	return &d
}

// Name returns the namespace's name.
func (r *Roster) Name() string { return r.config.Namespace }

// Store is where the namespace lives.
func (r *Roster) Store() store.Store { return r.config.Store }

// Record returns the namespace's record.
func (r *Roster) Record() stored.Namespace {
	n := r.record
	n.Datacenters = slices.Clone(n.Datacenters)
	return n
}

// Layout returns the namespace's layout.
func (r *Roster) Layout() snowfence.Layout { return r.layout }

// Traits returns the store's traits.
func (r *Roster) Traits() store.Traits { return r.traits }

// Now returns the time of the reference.
func (r *Roster) Now() time.Time { return r.config.Clock.Wall().Add(r.ahead) }

// Reference returns whether the reference is the store's clock, not this host's own, and how
// far this host's is ahead of it, negative when it is behind.
func (r *Roster) Reference() (byStore bool, hostAhead time.Duration) {
	return r.engineClock, -r.ahead
}

// Capacity returns how many worker ids this store may give away: all of the layout's, or the ones of
// the datacenters in the record.
func (r *Roster) Capacity() int64 {
	if len(r.record.Datacenters) == 0 {
		return r.layout.Workers()
	}
	return int64(len(r.record.Datacenters)) << r.layout.Bits(snowfence.Worker)
}

// Own reports whether this store may give a worker number away.
func (r *Roster) Own(number int64) bool {
	datacenter, _, err := r.layout.SplitWorker(number)
	return err == nil && (len(r.record.Datacenters) == 0 || slices.Contains(r.record.Datacenters, datacenter))
}

// ask makes one request of the lease's kind.
func (r *Roster) ask(ctx context.Context, call lease.Call) lease.Reply {
	reply, err := limited(ctx, func(ctx context.Context) (lease.Reply, error) {
		reply := drive.Ask(ctx, r.config.Store, call)
		return reply, reply.Err
	})
	reply.Err = err
	return reply
}

// get reads one key.
func (r *Roster) get(ctx context.Context, key string) (store.Entry, error) {
	return limited(ctx, func(ctx context.Context) (store.Entry, error) { return r.config.Store.Get(ctx, key) })
}

// limited makes one request that ends soon after its time is over.
func limited[T any](ctx context.Context, request func(context.Context) (T, error)) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, requestTimeout, errTimeout)
	defer cancel()
	answer, err := request(ctx)
	if err != nil && errors.Is(context.Cause(ctx), errTimeout) {
		err = fmt.Errorf("%w of %s: %w", errTimeout, requestTimeout, err)
	}
	return answer, err
}

// random returns n random bytes in hexadecimal.
func random(source io.Reader, n int) (string, error) {
	b := make([]byte, n)
	if _, err := io.ReadFull(source, b); err != nil {
		return "", fmt.Errorf("read random bytes: %w", err)
	}
	return hex.EncodeToString(b), nil
}
