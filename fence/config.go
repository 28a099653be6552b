package fence

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lease"
	"snowfence.example/snowfence/internal/lease/drive"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Process describes the process that holds a worker id, for people: Host, PID, Version and Started.
// With one exception: a holder that is pinned to the worker id of another one with the same
// host, pid and start gets [ErrPinnedTwice] as soon as it sees that one write.
type Process = stored.Process

// ConfigError is returned for a config that can't be used: Field, Value and Limit.
type ConfigError = stored.ConfigError

// WorkerRange is worker numbers from First to Last, both included.
type WorkerRange = lease.Range

// Config is the right that a [Holder] holds. Only Store must be given.
type Config struct {
	// Store is where the namespace lives. The holder does not close it.
	Store store.Store

	// StoreName names the store in the journal, so that its page is used on this store alone. Give the same
	// name at each start, and another one for each store: its servers, database and table. Empty means
	// [store.NameOf], which is not known of a [database/sql] pool that the program opened itself.
	StoreName string

	// Namespace names the space of unique ids: 1 to 64 of [a-z0-9._-]. Empty
	// means "default".
	Namespace string

	// Layout must be the namespace's if that exists already. The zero value means the namespace's own, and
	// [snowfence.DefaultLayout] for a new one. With a journal give a layout that is not the default: the
	// store may be away when it is needed. A new namespace in package memstore under a clock that is before
	// the default layout's epoch, as in package testing/synctest, gets the epoch 2000-01-01.
	Layout snowfence.Layout

	// Policy decides between waiting and refusing, when demand is ahead of time. The zero value is
	// the default policy. Its MaxWait also bounds how long a call waits for a new term.
	Policy snowfence.Policy

	// Existing refuses to make a new namespace: its record must be there, or [Open] returns an error
	// wrapping [ErrMustExist]. Set it once the namespace exists, so that an emptied or mistyped store
	// can't repeat ids.
	Existing bool

	// Datacenters are this store's own, where several stores share a namespace. A new namespace
	// records them, an existing one must have the same. Empty means the record's.
	Datacenters []int64

	// Datacenter restricts the holder to the worker ids of one datacenter. Nil
	// means all that the store may issue.
	Datacenter *int64

	// Worker pins the holder to one worker number: datacenter times 2 to the
	// number of worker bits, plus worker id. Nil means any that is free.
	Worker *int64

	// Workers restricts the holder to a range of worker numbers, such as those that another system
	// leaves free. Nil means all.
	Workers *WorkerRange

	// Window is how far ahead of the clock ticks are taken, from 50 ms to 31 days. A longer one
	// lets the holder do without its store for longer, and rests the worker id for longer
	// after a crash. It is rounded up to whole ticks, at least four. Zero means 60 s, or 5 s
	// with a pinned worker.
	Window time.Duration

	// ClaimWait is how long a claim waits for a worker id to come free. Zero
	// means the window plus the policy's max-rollback, and with a layout of one worker id an
	// eighth of the window more.
	ClaimWait time.Duration

	// RequestTimeout bounds each request to the store. The end of the claim-wait cuts a
	// claim's request short. Zero means a sixth of the window, from 250 ms to 10 s.
	RequestTimeout time.Duration

	// Journal keeps the term on this machine's disk, so that the next process can go on
	// with it while the store is away, for as long as its window lasts. Close it after the
	// holder. On a lossy store Close then leaves the term to the next process, which need not
	// wait for the loss, unless the window is longer than ten minutes. Nil means that a restart needs
	// the store.
	Journal Journal

	// Process is written into the register: Host and Version have at most 255 and 128 bytes without control characters. A zero
	// Started means now, so each holder counts as another program. Give os.Hostname and os.Getpid as Host and
	// PID: without them others read "a process that gave no name".
	Process Process

	// Clock is the source of time. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Rand is the source of nonces: unpredictable, and never the same twice. Ids can be
	// equal if it repeats. Nil means crypto/rand.
	Rand io.Reader

	// HorizonNotice is how long before the layout's horizon the holder logs a warning, once.
	// Zero means a year.
	HorizonNotice time.Duration

	// OnWait is called when [Open] or a later claim begins to wait for a worker id, again every ten seconds or so
	// while that lasts, and on a lossy store when a claim begins to wait until the store can't lose it. The holder's
	// goroutine calls it then. A call for ids that begins to wait for a term or a window calls it once, in the call's
	// own goroutine. So several calls of OnWait may run at once. It must return soon, and not call [Holder.Close]:
	// no ids come meanwhile. Nil means that nothing is called.
	OnWait func(Waiting)

	// OnStanding is called when the holder's [Standing] changes, which is [Idle] before. The holder's goroutine calls it
	// also while [Open] waits. It must return soon, and not call [Holder.Close]. Nil means that nothing is called.
	OnStanding func(Standing)

	// OnMade is called when the holder has made the namespace, because the store had none of its name: by [Open],
	// even if Open fails then, or by a later claim. The layout is the namespace's. The holder's goroutine calls OnMade,
	// so it must return soon, and not call [Holder.Close]. Nil means that nothing is called.
	OnMade func(snowfence.Layout)

	// Logger gets a line for claims, losses, waits and troubles, and one each when ids
	// stop and when they go on: "issues no ids" and "issues ids again". Nil means no log.
	Logger *slog.Logger

	// OnLoss is called when a term that could issue ends against the holder's will. No id
	// of that term is issued any more. OnLoss runs in a goroutine of its own and may call
	// the holder. Nil means that nothing is called.
	OnLoss func(Loss)
}

// Loss is a term that ended against its holder's will.
type Loss struct {
	Namespace string
	Worker    int64
	Term      int64
	// Reason is [ErrLost], [ErrNamespaceReplaced], [ErrJournal], or the clock's fault.
	Reason error
}

// Complete returns the config with every default filled in. A *[ConfigError], or the error
// of the layout or policy, is returned for a config that no store can use. [Open] also
// compares the window with the store's loss.
func (c Config) Complete() (Config, error) {
	state, err := c.prepare()
	if err == nil {
		c.ClaimWait = state.Config().ClaimWait
	}
	return c, err
}

// Outlasts returns a *[ConfigError] unless the window of a complete config is longer than three times what a
// store can lose, as [Open] asks for.
func (c Config) Outlasts(loss time.Duration) error { return lease.Outlasts(c.Window, loss) }

// own sets the layout of a config without one to the namespace's own.
func (c *Config) own(ctx context.Context, limit time.Duration) error {
	clock, namespace := cmp.Or(c.Clock, snowfence.SystemClock()), cmp.Or(c.Namespace, stored.DefaultNamespace)
	if err := stored.CheckNamespace(namespace); !c.Layout.IsZero() || err != nil {
		return err
	}
	record, err := drive.Record(ctx, c.Store, namespace, clock, limit)
	if err == nil {
		c.Layout, err = snowfence.ParseLayout(record.Layout)
		return err
	}
	c.Layout = snowfence.DefaultLayout()
	if errors.Is(err, store.ErrNotFound) && clock.Wall().Before(c.Layout.Epoch) {
		if traits, err := c.Store.Traits(ctx); err == nil && traits.Engine == memory {
			c.Layout.Epoch = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
		}
	}
	// A store that fails now fails the claim, too, or the claim finds that the layout is another one.
	return nil
}

// memory is the engine of package memstore, whose namespaces are forgotten with the process.
const memory = "memory"

// prepare sets the defaults, and returns the first state of the lease.
func (c *Config) prepare() (lease.State, error) {
	if c.Layout.IsZero() {
		c.Layout = snowfence.DefaultLayout()
	}
	c.StoreName = cmp.Or(c.StoreName, store.NameOf(c.Store))
	if err := cmp.Or(
		c.Layout.Validate(),
		c.Policy.Validate(c.Layout),
		stored.RefuseIf(c.Policy.WallEveryCall && c.Layout.Workers() == 1, "wall-every-call", true, "must be off with layout "+c.Layout.String()+", which has one worker id: its order goes by the monotonic clock"),
		stored.RefuseIf(c.HorizonNotice < 0, "horizon-notice", c.HorizonNotice, "must not be negative"),
		stored.RefuseIf(c.Journal != nil && c.Store != nil && c.StoreName == "", "store-name", "", "must be given with a journal on a store that does not name itself"),
	); err != nil {
		return lease.State{}, err
	}
	c.HorizonNotice = cmp.Or(c.HorizonNotice, horizonNotice)
	c.Policy = c.Policy.WithDefaults(c.Layout)
	c.Clock, c.Rand = cmp.Or(c.Clock, snowfence.SystemClock()), cmp.Or(c.Rand, rand.Reader)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Process.Started.IsZero() {
		c.Process.Started = c.Clock.Wall()
	}
	var ahead time.Duration
	if c.Journal != nil {
		ahead = max(time.Second, 4*c.Policy.MaxBurst)
	}
	_, hasClock := store.ClockOf(c.Store)
	state, err := lease.New(lease.Config{
		Namespace: c.Namespace, Layout: c.Layout, Datacenters: c.Datacenters, Datacenter: c.Datacenter, Worker: c.Worker, Workers: c.Workers,
		Window: c.Window, ClaimWait: c.ClaimWait, MaxRollback: c.Policy.MaxRollback, MaxWait: c.Policy.MaxWait, RequestTimeout: c.RequestTimeout,
		EngineClock: hasClock, Existing: c.Existing, Process: c.Process, JournalAhead: ahead,
	})
	if err != nil {
		return state, err
	}
	filled := state.Config()
	c.Namespace, c.Window, c.RequestTimeout = filled.Namespace, filled.Window, filled.RequestTimeout
	return state, nil
}
