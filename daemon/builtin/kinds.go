package builtin

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/decode"
)

// Config holds the program's part of every kind.
type Config struct {
	Settings config.Config // complete
	Clock    snowfence.Clock
	Process  counter.Process
	Logger   *slog.Logger // nil means no log

	// OnWait and OnMade are passed to [fence.Config], for kinds that hold a worker id. They may be nil.
	OnWait func(fence.Waiting)
	OnMade func(snowfence.Layout)

	// OnStanding, if it is set, is called with a generator and the standing of its holder, like
	// OnStanding of [fence.Config].
	OnStanding func(generator string, s fence.Standing)

	// ObjectIDs are shared by all generators of the process. It may be nil if only one generator mints them.
	ObjectIDs *ObjectIDs
}

// entry is a kind in the table.
type entry struct {
	name   string
	form   kind.Form
	reads  decode.Format // empty: its ids are only texts
	worker bool          // it holds a worker id on a store
	alone  bool          // it works without a store
	// databases are the engines whose databases it counts in. Empty means that it counts on a store,
	// which the program opens.
	databases []string
	many      bool   // it counts in several of them
	store     string // the only engine of stores that it can use; empty means any
	durable   bool   // it needs a store that loses nothing
	// tables returns the statements that create its tables in a database. Nil for another system's.
	tables func(mysql bool) []string
	// configure returns the kind's settings, a check of all settings together or nil, and a function
	// that opens the generator. The settings write their values to the place and to variables that the
	// function shares.
	configure func(*place) (settings, check, open)
}

// settings are a kind's settings, by name.
type settings map[string]setting

// check returns a *counter.ConfigError for settings that can't be used. Nil means that all can.
type check func() error

// open opens a generator of a kind. It is called again if it fails.
type open func(context.Context) (kind.Minter, error)

// table is the table of kinds.
func table() []entry {
	mysql := []string{"mysql"}
	sql := []string{"postgres", "mysql"}
	return []entry{
		{name: config.KindSnowflake, worker: true, form: kind.Number, configure: fenced},
		{name: config.KindWide, worker: true, form: kind.Wide, configure: fenced},
		{name: "segment", form: kind.Number, reads: decode.Number, configure: segment},
		{name: "ticket", durable: true, form: kind.Number, reads: decode.Number, configure: ticket},
		{name: "daily", form: kind.Text, reads: decode.Dated, configure: daily},
		{name: "series", form: kind.Text, reads: decode.Counted, databases: sql, tables: seriesTables, configure: gapless},
		{name: "leaf-segment", form: kind.Number, reads: decode.Number, databases: sql, configure: leafSegment},
		{name: "tinyid", form: kind.Number, reads: decode.Number, databases: mysql, configure: tinyID},
		{name: "tickets64", form: kind.Number, reads: decode.Number, databases: mysql, many: true, configure: tickets64},
		{name: "redis-dated", form: kind.Number, reads: decode.Number, store: "redis", configure: redisDated},
		{name: "uuid", form: kind.Wide, reads: decode.UUID, alone: true, configure: uuids},
		{name: "ulid", form: kind.Text, reads: decode.ULID, alone: true, configure: ulids},
		{name: "objectid", form: kind.Text, reads: decode.ObjectID, alone: true, configure: objectIDs},
		{name: "opaque", form: kind.Text, alone: true, configure: opaques},
	}
}

// Names returns the names of the kinds.
func Names() []string {
	var names []string
	for _, k := range table() {
		names = append(names, k.name)
	}
	return names
}

// Formats returns how each kind writes its ids, by the kind's name.
func Formats() map[string]decode.Format {
	formats := map[string]decode.Format{}
	for _, k := range table() {
		formats[k.name] = k.reads
	}
	return formats
}

// OnStore reports whether a kind needs a store that the program opens: it does not count in
// databases, or not at all. It does so for kinds that are not of this package.
func OnStore(name string) bool {
	k := find(name)
	return len(k.databases) == 0 && !k.alone
}

// Counts reports whether a kind has a counter of its own making in a store. It is false for kinds of
// other packages.
func Counts(name string) bool { return find(name).counts() }

func (k entry) counts() bool {
	return k.name != "" && !k.worker && !k.alone && len(k.databases) == 0 && k.store == ""
}

func find(name string) entry {
	all := table()
	if i := slices.IndexFunc(all, func(k entry) bool { return k.name == name }); i >= 0 {
		return all[i]
	}
	return entry{}
}

// Configure reads the settings of a generator, whose kind is one of [Names]. It returns a
// [*config.Error] for a setting, or a store, that the kind can't use.
func (c Config) Configure(generator string) (kind.Opener, error) {
	open, err := c.configure(generator)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
		m, err := open(ctx, spec)
		if s, ok := m.(*Series); ok && err == nil {
			if err := s.Create(ctx); err != nil {
				return nil, errors.Join(err, s.Close(ctx))
			}
		}
		return m, err
	}, nil
}

// configure is Configure for callers that leave the tables alone.
func (c Config) configure(generator string) (kind.Opener, error) {
	g := c.Settings.Generators[generator]
	k := find(g.Kind)
	p := &place{config: c, generator: generator, urls: c.Settings.StoresOf(g)}
	if wrong := k.refuse(g, p.urls); wrong != "" {
		return nil, c.Settings.StoreFault(generator, wrong)
	}
	known, check, open := k.configure(p)
	err := read(k.name, known, g.Settings)
	p.Namespace, p.Name = g.Namespace, cmp.Or(p.Name, generator)
	p.Clock, p.Process, p.Existing = c.Clock, c.Process, c.Settings.StoreMustExist
	if err == nil && check != nil {
		err = check()
	}
	if err != nil {
		return nil, Fault(c.Settings, generator, err)
	}
	return func(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
		p.Store = spec.Store
		return p.open(ctx, k, open)
	}, nil
}

// openAs opens a generator of the kind that has minters of type M, without a store and without a daemon.
func openAs[M kind.Minter](ctx context.Context, c Config, generator string) (minter M, err error) {
	open, err := c.configure(generator)
	if err != nil {
		return minter, err
	}
	m, err := open(ctx, kind.Spec{})
	minter, _ = m.(M)
	return minter, err
}

// Fault returns the [*config.Error] that a [*kind.SettingError] or a [*counter.ConfigError] is, and
// another error as it is.
func Fault(settings config.Config, generator string, err error) error {
	if wrong, ok := errors.AsType[*counter.ConfigError](err); ok {
		return settings.SettingFault(generator, wrong.Field, wrong.Limit)
	} else if wrong, ok := errors.AsType[*kind.SettingError](err); ok {
		return settings.SettingFault(generator, wrong.Key, wrong.Limit)
	}
	return err
}

// refuse returns why the kind can't use the stores or databases of the generator's URLs, or an empty text.
func (k entry) refuse(g config.Generator, urls []string) string {
	switch {
	case k.alone && len(g.Stores) > 0:
		return "must be left out: kind " + k.name + " needs no store"
	case len(urls) > 1 && !k.many:
		return "must be one name: kind " + k.name + " has one"
	}
	for _, url := range urls {
		name := engine.Name(url)
		switch {
		case len(k.databases) > 0 && !slices.Contains(k.databases, name):
			return "kind " + k.name + " counts in databases of " + strings.Join(k.databases, " or ") + ", and not in " + engine.Redact(url)
		case k.store != "" && name != k.store:
			return "kind " + k.name + " counts on " + k.store + ", and not on " + engine.Redact(url)
		case k.durable && engine.Loss(url) > 0:
			return "kind " + k.name + " needs a store that loses nothing: durable=true in its URL declares it, and " +
				engine.Redact(url) + " can lose " + engine.Loss(url).String()
		}
	}
	return ""
}
