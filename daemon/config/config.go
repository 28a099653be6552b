package config

import (
	"log/slog"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// Config is the whole configuration. [Load] returns one that is complete and valid;
// what is written by hand starts from [Default] and ends with [Config.Complete].
type Config struct {
	// Store is the URL of the store. Empty means the file store in Data's folder "store".
	Store string

	// Stores are further stores, and databases that hold the tables of other systems: URLs by
	// the names that generators give them.
	Stores map[string]string

	// Namespace and Layout are used by every generator that names none of its
	// own. Empty and zero mean "default" and [snowfence.DefaultLayout].
	Namespace string
	Layout    snowfence.Layout

	// Data is the directory that the program may write to, needed unless Store is set.
	Data string

	// StoreMustExist refuses to make a store, a namespace or a counter that is not there: it was emptied or
	// mistyped, and would give ids a second time.
	StoreMustExist bool

	// HTTP, RESP, GRPC and Thrift are the addresses of the fronts, as host:port. Empty means none.
	// Without a token file of its own, Thrift is turned off by one, since its protocol has no tokens.
	HTTP   string
	RESP   string
	GRPC   string
	Thrift string

	// ThriftGenerator is the generator whose ids the Thrift front mints, since its protocol names none.
	// Empty means [DefaultGenerator], which need not be there: clients then get an error.
	ThriftGenerator string

	// Admin is the address of a listener for metrics and for pages that show what is in the store.
	// Empty means that the HTTP front has them.
	Admin string

	// Health is the address of a listener that answers /livez and /readyz alone, by plain HTTP and without a
	// token. Other hosts may reach it. Empty means none.
	Health string

	// Hosts are further host names by which browsers may reach a loopback
	// address without a token, such as that of a proxy on the same host.
	Hosts []string

	// Insecure allows addresses beyond loopback without TLS and a token.
	Insecure bool

	// TLS makes the listeners speak TLS. Zero means that they do not.
	TLS TLS

	// TokenFile has the tokens that clients must show, see package token. Empty means that none is asked for.
	TokenFile string

	Log    Log
	Limits Limits

	// Generators are the named sources of ids. None means one, "default", with the defaults.
	Generators map[string]Generator

	origins  map[string]Origin // of the keys that were set, by path
	environ  []string          // as [Load] was given it
	written  map[string]string // the URLs of stores before variables were put in place, by the URLs after it
	warnings []string
}

// TLS names the files of a certificate chain and its private key, and of the authorities that
// clients' certificates must come from, all PEM. Without authorities clients need no certificate.
type TLS struct {
	Certificate string
	Key         string
	ClientCA    string
}

// Log says what is logged and how.
type Log struct {
	// Level is the least level that is logged. Zero is info.
	Level slog.Level
	// Format is "text" or "json". Empty means text.
	Format string
}

// Limits bound what one client can cause. Zero means the default beside each.
type Limits struct {
	Batch        int           // most ids of one request; 10,000
	Body         int           // most bytes of a request's body; 4 KiB
	Header       int           // most bytes of a request's header; 16 KiB
	ReadTimeout  time.Duration // to read a request; 10 s
	WriteTimeout time.Duration // to mint and write an answer; 30 s
	IdleTimeout  time.Duration // between two requests of a connection of HTTP or gRPC; 2 min
	Session      time.Duration // between two requests of a connection of RESP or Thrift; see [Limits.Idle]
	Linger       time.Duration // for which the program goes on serving, not ready, before it ends; 0
	Drain        time.Duration // for requests under way when the program ends; 10 s

	Memory             int // most bytes of the whole program; 512 MiB
	Connections        int // most open connections of all fronts; 10,000
	AddressConnections int // most of them from one address; 0, no limit
	AddressRate        int // most ids a second for one address; 0, no limit
}

const (
	// strangerSession is how long a client may be silent that is neither on this host nor known by a token.
	strangerSession = time.Hour

	// anySession stands for any time.
	anySession = 10 * 365 * 24 * time.Hour
)

// Idle is how long a client of RESP or Thrift may be silent between two requests: Session, if that is set.
// Otherwise it is any time for a client that is known, by a token or since it is on this host, and an hour for
// others. The kernel ends the connections of hosts that are gone.
func (l Limits) Idle(known bool) time.Duration {
	switch {
	case l.Session > 0:
		return l.Session
	case known:
		return anySession
	}
	return strangerSession
}

// The kinds of fenced ids: of 64 bits, which are meant when none is named, and of up to 128.
const (
	KindSnowflake = "snowflake"
	KindWide      = "wide"
)

// wideDefault is the preset of a wide generator without a layout.
const wideDefault = "uuid8"

// Generator is one named source of ids.
type Generator struct {
	// Kind is the kind of its ids. Empty means [KindSnowflake], or [KindWide] with a wide
	// layout. Kinds that are not fenced have Aliases, Namespace, Stores and Settings; the fields below
	// are not looked at.
	Kind string

	// Aliases are other names for requests, which need not be like names of generators. [AnyKey] is one for every
	// key that is no name.
	Aliases []string

	// Namespace is the space in which the ids are unique. Empty means the
	// configuration's. Generators may share one: their ids differ all the same. Those of
	// another layout need another namespace.
	Namespace string

	// Stores names what the generator uses of [Config.Stores]: one, or for a kind that counts
	// on several servers all of them. None means [Config.Store].
	Stores []string

	// Settings are those of a kind that is not fenced, as texts.
	Settings map[string]string

	// Layout is the layout of the ids. Zero means the configuration's, or uuid8 for a wide
	// generator if that is not wide.
	Layout snowfence.Layout

	// AnyLayout is set by [Config.Complete] for kind snowflake when no layout is given: a namespace
	// that exists keeps its own, and Layout is that of a new one.
	AnyLayout bool

	// Preset is what Layout and Policy began as, for display. Setting it changes nothing.
	Preset string

	// Policy is what to do when time and demand do not agree.
	Policy snowfence.Policy

	// Window is how far ahead of its use a lease is taken. Zero means 60 s for
	// a worker id from the pool and 5 s for a pinned one.
	Window time.Duration

	// ClaimWait is how long to wait for a free worker id. Zero means the window
	// and the policy's MaxRollback together.
	ClaimWait time.Duration

	// Standby waits for the worker id for as long as another process has it. It is for layouts
	// without worker bits, where one process at a time gives ids.
	Standby bool

	// Journal keeps the term in the directory "journal" below Data, so that a restart on this host
	// can go on with it: [JournalOn], [JournalOff], or [JournalAuto], which empty means.
	Journal string

	// JournalAcrossReboots resumes what was kept before the host was last started,
	// too. It must stay off where a host may be started from an image of its disk
	// that is younger than the window.
	JournalAcrossReboots bool

	// Worker pins the worker id: its number within Datacenter, or else the whole number
	// that the datacenter and worker bits make. Nil means any free one.
	Worker *int64

	// Workers restricts the generator to a range of worker numbers. Nil means no restriction.
	Workers *fence.WorkerRange

	// Datacenter restricts the worker ids to those of one. Nil means no restriction.
	Datacenter *int64

	// Datacenters are those that the store may issue, where several stores
	// share the namespace. None means what the store's record says.
	Datacenters []int64

	filled *filled // by [Config.Complete]
}

// When a generator keeps a journal. A restart of the process goes on with it while the store is away, and
// beside a store that can lose writes without a wait for the loss. JournalAuto means in the second case,
// if the directory will do.
const (
	JournalAuto = "auto"
	JournalOn   = "true"
	JournalOff  = "false"
)

// DefaultGenerator is the one generator's name when none is configured.
const DefaultGenerator = "default"

// Default returns the configuration in which nothing is set, without a Data directory.
func Default() Config {
	c := Config{
		Namespace: "default",
		HTTP:      "127.0.0.1:7600", RESP: "127.0.0.1:7601", GRPC: "127.0.0.1:7602", Thrift: "127.0.0.1:7609",
	}
	for _, e := range configKeys(&c) {
		_ = e.complete() // a default is in its range
	}
	return c
}
