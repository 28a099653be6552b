package config

import (
	"log/slog"
	"maps"
	"path/filepath"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
)

// Config is the whole configuration. [Load] returns one that is complete and valid; a Config that is written by hand
// starts from [Default] and ends with [Config.Complete]. The help in a tag describes its field, and the
// default is the meaning of zero; comments have the rest. See [field] for the tags.
type Config struct {
	Store string `key:"store" flag:"store" holds:"url" help:"URL of the store, or a name in stores: ENGINES; mem:// is for a trial; ${NAME} stands for a variable"` // empty means the file store in Data's folder "store"

	// Namespace and Layout are used by every generator without its own. Zero means [snowfence.DefaultLayout].
	Namespace string           `key:"namespace" flag:"namespace" default:"default" help:"space of unique ids, for generators without their own"`
	Layout    snowfence.Layout `key:"layout" flag:"layout" help:"layout of ids, a preset's name or a text form; an existing namespace keeps its own if none is given"`

	Data           string `key:"data" flag:"data" holds:"path" help:"directory for the program's files"` // needed unless Store is set
	StoreMustExist bool   `key:"store-must-exist" flag:"store-must-exist" help:"refuse to make a store, a namespace or a counter that is gone; see docs/restoring.md"`

	// The addresses of the fronts. Empty means off. A token file turns Thrift off unless clients show
	// certificates, since its protocol can't carry tokens.
	HTTP   string `key:"http" flag:"http" empty:"off" holds:"address" default:"127.0.0.1:7600" help:"address of the HTTP front as host:port; \"\" turns it off"`
	RESP   string `key:"resp" flag:"resp" empty:"off" holds:"address" default:"127.0.0.1:7601" help:"address of the RESP front, for clients of Redis; \"\" turns it off"`
	GRPC   string `key:"grpc" flag:"grpc" empty:"off" holds:"address" default:"127.0.0.1:7602" help:"address of the gRPC front; \"\" turns it off"`
	Thrift string `key:"thrift" flag:"thrift" empty:"off" holds:"address" default:"127.0.0.1:7609" help:"address of the Thrift front, for clients of Twitter's Snowflake; \"\" turns it off"`

	ThriftGenerator string `key:"thrift-generator" default:"default" help:"generator whose ids Thrift clients get"` // "default" need not be there: clients then get an error

	Admin  string   `key:"admin" empty:"off" holds:"address" help:"address for metrics and admin pages, which the HTTP front then lacks"`                               // empty means that the HTTP front has them
	Health string   `key:"health" empty:"off" holds:"address" help:"address for /livez, /readyz and /activez alone, without TLS and a token; other hosts may reach it"` // empty means off
	Pod    string   `key:"pod" help:"name of the program's pod, whose label snowfence.example/active shows whether it gives ids"`                                       // empty means that it has no such label
	Hosts  []string `key:"hosts" empty:"none" help:"further host names, separated by commas, that a loopback address without a token answers to"`

	Insecure  bool   `key:"insecure" flag:"insecure" help:"allow addresses beyond loopback without TLS and a token"`
	TLS       TLS    `key:"tls"`                                                                                                         // zero means that the listeners do not speak it
	TokenFile string `key:"token-file" holds:"path" help:"file of tokens, of which clients must show one; 'snowfence token' makes them"` // empty means that clients need no token

	Log    Log    `key:"log"`
	Limits Limits `key:"limits"`

	// Stores are URLs by the names that generators give them.
	Stores map[string]string `key:"stores" each:"NAME" holds:"url" help:"URL of a further store, or of a database that a generator counts in"`

	// Generators are the named sources of ids. An empty map means one, "default", with the defaults.
	Generators map[string]Generator `key:"generators"`

	environ  []string           // as [Load] was given it
	set      map[string]setting // by path
	written  map[string]string  // the URLs of stores before variables were put in place, by the URLs after it
	warnings []string
}

// TLS names the files of a certificate chain and its private key, and of the authorities that
// clients' certificates must come from, all PEM. Without authorities clients need no certificate.
type TLS struct {
	Certificate string `key:"certificate" holds:"path" help:"file of the certificate chain, PEM"`
	Key         string `key:"key" holds:"path" help:"file of the private key, PEM"`
	ClientCA    string `key:"client-ca" holds:"path" help:"file of the authorities of clients' certificates, PEM; clients then need one"`
}

// Log is the level and the format of the log.
type Log struct {
	Level  slog.Level `key:"level" flag:"log-level" words:"debug,info,warn,error" help:"least level: debug, info, warn or error"`
	Format string     `key:"format" flag:"log-format" words:"text,json" help:"form of the log: text or json"`
}

// Limits bound the load of one client. Zero means the default.
type Limits struct {
	Batch        int           `key:"batch" default:"10000" min:"1" max:"1000000" help:"most ids of one request; fewer where max-burst and max-wait allow fewer"`
	Body         int           `key:"body" unit:"bytes" default:"4096" min:"1KiB" max:"1MiB" help:"most bytes of a request's body"`
	Header       int           `key:"header" unit:"bytes" default:"16384" min:"4KiB" max:"1MiB" help:"most bytes of a request's header"`
	ReadTimeout  time.Duration `key:"read-timeout" default:"10s" min:"100ms" max:"10m" help:"longest time to read a request"`
	WriteTimeout time.Duration `key:"write-timeout" default:"30s" min:"100ms" max:"10m" help:"longest time to mint and write an answer"`
	IdleTimeout  time.Duration `key:"idle-timeout" default:"2m" min:"1s" max:"1h" help:"longest time between two requests of HTTP or gRPC"`
	Session      time.Duration `key:"session" max:"744h" help:"longest time between two requests of RESP or Thrift; 0 for any time with a token or on this host, else 1h"`
	Linger       time.Duration `key:"linger" max:"10m" help:"how long the program serves on once it is asked to end, with /readyz and /activez at 503"`
	Drain        time.Duration `key:"drain" default:"10s" min:"1ms" max:"10m" help:"longest time for requests under way when the program ends"`

	Memory             int `key:"memory" unit:"bytes" default:"536870912" min:"64MiB" max:"2147483647" help:"most memory of the program, half of it for clients' requests and connections"`
	Connections        int `key:"connections" default:"10000" min:"1" max:"1000000" help:"most open connections of all fronts"`
	AddressConnections int `key:"address-connections" max:"1000000" help:"most open connections of all fronts from one address; 0 for any number"`
	AddressRate        int `key:"address-rate" max:"1000000000" help:"most ids a second for one address; 0 for any number"`
}

// The kinds of fenced ids: of 64 bits, which is the default, and of up to 128.
const (
	KindSnowflake = "snowflake"
	KindWide      = "wide"
)

// wideDefault is the preset of a wide generator without a layout.
const wideDefault = "uuid8"

// Generator is one named source of ids. Kinds that are not fenced have the fields with kinds:"all" alone; the others are
// not looked at.
type Generator struct {
	Kind    string   `key:"kind" kinds:"all" help:"kind of the ids"`                                                                                                              // empty means [KindSnowflake], or [KindWide] with a wide layout
	Aliases []string `key:"aliases" kinds:"all" empty:"none" help:"other names, separated by commas, that requests may use; * is any other key of Leaf's path for snowflake ids"` // need not be like names of generators; see [AnyKey]

	// Empty means the configuration's. Generators may share one: their ids differ all the same. Generators of another
	// layout need another namespace.
	Namespace string `key:"namespace" kinds:"all" help:"space in which the ids are unique"`

	Stores []string `key:"store" kinds:"all" help:"which of stores it uses; a kind that counts on several servers names all, separated by commas"` // names in [Config.Stores]; none means [Config.Store]
	Preset string   `key:"preset" help:"preset of the layout and the policy"`                                                                      // Layout and Policy began as it: setting it changes nothing

	Layout    snowfence.Layout `key:"layout" help:"layout of the ids, a preset's name or a text form"` // zero means the configuration's, or uuid8 for a wide generator if that is not wide
	AnyLayout bool             // set by [Config.Complete] for kind snowflake when the layout is left out: a namespace that exists keeps its own, and Layout is for a new one

	Window    time.Duration `key:"window" above:"from 50ms to 744h" help:"how far ahead of its use a lease is taken, from 50ms to 744h"` // zero means 60 s for a worker id from the pool and 5 s for a pinned one
	ClaimWait time.Duration `key:"claim-wait" help:"how long to wait for a free worker id"`                                              // zero means the window and the policy's MaxRollback together
	Standby   bool          `key:"standby" help:"wait while another process gives the ids; needs a layout without worker bits"`

	// Journal is [JournalOn], [JournalOff], or [JournalAuto], which empty means.
	Journal string `key:"journal" words:"auto,true,false" help:"keep the term on this host's disk for restarts: true, false, or auto, beside a store that can lose writes"`

	// Worker is the number within Datacenter, or else the whole number that the datacenter and worker bits make.
	// Nil and empty mean any; for Datacenters, the record of the store.
	Worker      *int64             `key:"worker" help:"its one worker id"`
	Workers     *fence.WorkerRange `key:"workers" help:"its range of worker ids, such as 32-1023"`
	Datacenter  *int64             `key:"datacenter" help:"the datacenter whose worker ids this generator uses"`
	Datacenters []int64            `key:"datacenters" empty:"none" help:"the datacenters, separated by commas, that the store may issue where several stores share the namespace"`

	// LendShare is completed with [defaultLendShare].
	LendShare *int64 `key:"lend-share" help:"percent of the worker ids that may be lent to other programs; 0 lends none"`

	Policy snowfence.Policy `key:"policy"`

	Settings map[string]string `key:"settings" each:"KEY" kinds:"all" empty:"kind" help:"a setting of a kind other than snowflake"`

	filled *filled // by [Config.Complete]
}

// policyKeys is [snowfence.Policy] with the keys of its fields.
type policyKeys struct {
	MaxRollback   time.Duration           `key:"max-rollback" above:"above 0; none is 1ns" help:"how far the clock may step back before ids stop; 1ns allows no step"`
	MaxBurst      time.Duration           `key:"max-burst" above:"above 0; none is 1ns" help:"how far ahead of the clock a burst may stamp; 1ns never"`
	MaxWait       time.Duration           `key:"max-wait" above:"at least two ticks of the layout" help:"how long a request may wait for the next tick, the clock or a new term; at least two ticks"`
	WallEveryCall bool                    `key:"wall-every-call" help:"read the wall clock at every call, as older generators do"`
	Start         snowfence.SequenceStart `key:"sequence-start" help:"where a tick's sequence begins: quarter, zero, random:MAX, vibration:MAX or carry:MAX"`
}

// When a generator keeps a journal. A restart of the process goes on with it while the store is away, and
// beside a store that can lose writes without a wait for the loss. JournalAuto means in the second case,
// if the directory will do.
const (
	JournalAuto = "auto"
	JournalOn   = "true"
	JournalOff  = "false"
)

// DefaultGenerator is the name of the only generator when the configuration lists none.
const DefaultGenerator = "default"

// Default returns the configuration in which nothing is set, without a Data directory.
func Default() Config {
	var c Config
	for _, f := range newSchema().config {
		if f.fallback != "" {
			_ = f.set(&c, f.name, f.fallback) // a default is in its range
		}
	}
	return c
}

// Names returns the names of the generators in order.
func (c Config) Names() []string { return slices.Sorted(maps.Keys(c.Generators)) }

// Journals is the folder with a folder for each generator's journal. It needs a Data directory.
func (c Config) Journals() string { return filepath.Join(c.Data, "journal") }

// StoresOf returns the URLs of a generator's stores: one, or more of a kind that counts on several
// servers.
func (c Config) StoresOf(g Generator) []string {
	if len(g.Stores) == 0 {
		return []string{c.Store}
	}
	urls := make([]string, len(g.Stores))
	for i, name := range g.Stores {
		urls[i] = c.Stores[name]
	}
	return urls
}
