package config

import (
	"math"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/engine"
)

// EnvironmentPrefix begins the name of every variable that the program reads.
const EnvironmentPrefix = "SNOWFENCE_"

// Key is one thing that can be set.
type Key struct {
	// Path is the key: its names from the outermost in, joined by dots. NAME
	// stands for any generator's name and KEY for any setting of another kind.
	Path string

	// Flag is the name of serve's flag without hyphens, or empty.
	Flag string

	// About is one line of help.
	About string
}

// Environment returns the name of the key's environment variable.
func (k Key) Environment() string { return environmentName(k.Path) }

// environmentName is the mechanical rule from a key to its variable.
func environmentName(path string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}

// entry is a key and its place in a [Config] or a [Generator].
type entry struct {
	Key
	place
}

// Keys of a generator stand under this section, below the generator's name.
const (
	generatorSection = "generators"
	storeSection     = "stores" // its keys are names that users choose
	settingSection   = "settings"
	policySection    = "policy"

	// What stands in a [Key] for a name that users choose.
	anyName    = "NAME"
	anySetting = "KEY"
)

// Keys of files that others than this package read.
const (
	KeyMustExist   = "store-must-exist"
	KeyMemory      = "limits.memory"
	KeyConnections = "limits.connections"
	KeyTokenFile   = "token-file"
	KeyCertificate = "tls.certificate"
	KeyPrivateKey  = "tls.key"
	KeyClientCA    = "tls.client-ca"
)

// Keys that a message or another rule mentions by name.
const (
	keyStore     = "store"
	keyNamespace = "namespace"
	keyLayout    = "layout"
	keyData      = "data"
	keyHTTP      = "http"
	keyRESP      = "resp"
	keyGRPC      = "grpc"
	keyThrift    = "thrift"
	keyThriftGen = "thrift-generator"
	keyAdmin     = "admin"
	keyHealth    = "health"
	keyHosts     = "hosts"

	keyKind        = "kind"
	keyAliases     = "aliases"
	keyPreset      = "preset"
	keyStandby     = "standby"
	keyJournal     = "journal"
	keyReboots     = "journal-across-reboots"
	keyWorker      = "worker"
	keyWorkers     = "workers"
	keyDatacenter  = "datacenter"
	keyDatacenters = "datacenters"
)

// configKeys lists every key but those of the generators, in the order of printing.
func configKeys(c *Config) []entry {
	const second, minute = time.Second, time.Minute
	return []entry{
		{Key{keyStore, "store", "URL of the store, or a name in stores: " + engine.Supported() + "; mem:// is for a trial; ${NAME} stands for a variable"}, str(&c.Store)},
		{Key{keyNamespace, "namespace", "space of unique ids that generators use unless they name their own"}, str(&c.Namespace)},
		{Key{keyLayout, "layout", "layout of ids, a preset's name or a text form, of generators that name none; a namespace that exists keeps its own if none is given"}, layout(&c.Layout)},
		{Key{keyData, "data", "directory that the program may write to"}, str(&c.Data)},
		{Key{KeyMustExist, KeyMustExist, "refuse to make a store, a namespace or a counter that is gone; see docs/restoring.md"}, toggle(&c.StoreMustExist)},
		{Key{keyHTTP, "http", `address of the HTTP front as host:port; "" turns it off`}, str(&c.HTTP)},
		{Key{keyRESP, "resp", `address of the RESP front, for clients of Redis; "" turns it off`}, str(&c.RESP)},
		{Key{keyGRPC, "grpc", `address of the gRPC front; "" turns it off`}, str(&c.GRPC)},
		{Key{keyThrift, "thrift", `address of the Thrift front, for clients of Twitter's Snowflake; "" turns it off`}, str(&c.Thrift)},
		{Key{keyThriftGen, "", "generator whose ids Thrift clients get, whose protocol names none"}, str(&c.ThriftGenerator)},
		{Key{keyAdmin, "", "address of a listener of its own for metrics and admin pages, which the HTTP front then lacks"}, str(&c.Admin)},
		{Key{keyHealth, "", "address of a listener that answers /livez and /readyz alone, without TLS and a token; other hosts may reach it"}, str(&c.Health)},
		{Key{keyHosts, "", "further host names, separated by commas, that a loopback address without a token answers to"}, list(&c.Hosts)},
		{Key{"insecure", "insecure", "allow addresses beyond loopback without TLS and a token"}, toggle(&c.Insecure)},
		{Key{KeyCertificate, "", "file of the certificate chain, PEM"}, str(&c.TLS.Certificate)},
		{Key{KeyPrivateKey, "", "file of the private key, PEM"}, str(&c.TLS.Key)},
		{Key{KeyClientCA, "", "file of the authorities that certificates of clients must come from, PEM; clients then need one"}, str(&c.TLS.ClientCA)},
		{Key{KeyTokenFile, "", "file of the tokens that clients must show one of; 'snowfence token' makes them"}, str(&c.TokenFile)},
		{Key{"log.level", "log-level", "least level that is logged: debug, info, warn or error"}, level(&c.Log.Level)},
		{Key{"log.format", "log-format", "how the log is written: text or json"}, word(&c.Log.Format, LogFormats())},
		{Key{"limits.batch", "", "most ids of one request"}, count(&c.Limits.Batch, 10_000, 1, 1_000_000)},
		{Key{"limits.body", "", "most bytes of a request's body"}, size(&c.Limits.Body, 4*kiB, kiB, miB)},
		{Key{"limits.header", "", "most bytes of a request's header"}, size(&c.Limits.Header, 16*kiB, 4*kiB, miB)},
		{Key{"limits.read-timeout", "", "longest time to read a request"}, timeout(&c.Limits.ReadTimeout, 10*second, second/10, 10*minute)},
		{Key{"limits.write-timeout", "", "longest time to mint and write an answer"}, timeout(&c.Limits.WriteTimeout, 30*second, second/10, 10*minute)},
		{Key{"limits.idle-timeout", "", "longest time between two requests of a connection of HTTP or gRPC"}, timeout(&c.Limits.IdleTimeout, 2*minute, second, time.Hour)},
		{Key{"limits.session", "", "longest time between two requests of a connection of RESP or Thrift; 0 for any time if the client has a token or is on this host, and else 1h"}, pause(&c.Limits.Session, 31*24*time.Hour)},
		{Key{"limits.linger", "", "how long the program goes on serving once it is asked to end, with /readyz at 503; 0 for not at all"}, pause(&c.Limits.Linger, 10*minute)},
		{Key{"limits.drain", "", "longest time for requests under way when the program ends"}, timeout(&c.Limits.Drain, 10*second, time.Millisecond, 10*minute)},
		{Key{KeyMemory, "", "most memory of the whole program, of which half is for what clients make it keep"}, size(&c.Limits.Memory, 512*miB, 64*miB, math.MaxInt32)},
		{Key{KeyConnections, "", "most open connections of all fronts"}, count(&c.Limits.Connections, 10_000, 1, 1_000_000)},
		{Key{"limits.address-connections", "", "most open connections of all fronts from one address; 0 for any number"}, optional(&c.Limits.AddressConnections, 1_000_000)},
		{Key{"limits.address-rate", "", "most ids a second for one address; 0 for any number"}, optional(&c.Limits.AddressRate, 1_000_000_000)},
	}
}

// generatorKeys lists every key of a generator, relative to its name, but for
// its settings. They take effect in this order: a preset brings a layout and a
// policy, and what stands after it changes them.
func generatorKeys(g *Generator) []entry {
	return []entry{
		{Key{keyKind, "", "kind of the ids"}, str(&g.Kind)},
		{Key{keyAliases, "", "other names, separated by commas, that requests may use; * is any other key of Leaf's path for snowflake ids"}, list(&g.Aliases)},
		{Key{keyNamespace, "", "space in which the ids are unique"}, str(&g.Namespace)},
		{Key{keyStore, "", "which of stores the generator uses; a kind that counts on several servers names them all, separated by commas"}, list(&g.Stores)},
		{Key{keyPreset, "", "preset that the layout and the policy are taken from"}, preset(g)},
		{Key{keyLayout, "", "layout of the ids, a preset's name or a text form"}, layout(&g.Layout)},
		{Key{"window", "", "how far ahead of its use a lease is taken, from 50ms to 744h"}, duration(&g.Window, "")},
		{Key{"claim-wait", "", "how long to wait for a free worker id"}, duration(&g.ClaimWait, "")},
		{Key{keyStandby, "", "wait for as long as another process gives the ids, with a layout without worker bits"}, toggle(&g.Standby)},
		{Key{keyJournal, "", "keep the term on this host's disk, so that a restart goes on with it: true, false, or auto, which means beside a store that can lose writes"}, word(&g.Journal, []string{JournalAuto, JournalOn, JournalOff})},
		{Key{keyReboots, "", "go on with it after a restart of the host, too; not where hosts are started from images of disks"}, toggle(&g.JournalAcrossReboots)},
		{Key{keyWorker, "", "the one worker id that this generator uses"}, number(&g.Worker)},
		{Key{keyWorkers, "", "the range of worker ids that this generator uses, such as 32-1023"}, workerRange(&g.Workers)},
		{Key{keyDatacenter, "", "the datacenter whose worker ids this generator uses"}, number(&g.Datacenter)},
		{Key{keyDatacenters, "", "the datacenters, separated by commas, that the store may issue where several stores share the namespace"}, numbers(&g.Datacenters)},
		{Key{"policy.max-rollback", "", "how far the clock may step back before no ids are issued; 1ns allows no step"}, duration(&g.Policy.MaxRollback, "; none is 1ns")},
		{Key{"policy.max-burst", "", "how far ahead of the clock a burst may stamp; 1ns never"}, duration(&g.Policy.MaxBurst, "; none is 1ns")},
		{Key{"policy.max-wait", "", "how long a request may wait for the next tick or the clock"}, duration(&g.Policy.MaxWait, "; none is 1ns")},
		{Key{"policy.wall-every-call", "", "read the wall clock at every call, as older generators do"}, toggle(&g.Policy.WallEveryCall)},
		{Key{"policy.sequence-start", "", "where a tick's sequence begins: quarter, zero, random:MAX, vibration:MAX or carry:MAX"}, start(&g.Policy.Start)},
	}
}

// Keys lists every key, in the order in which they are printed.
func Keys() []Key {
	var keys []Key
	for _, e := range configKeys(new(Config)) {
		keys = append(keys, e.Key)
	}
	keys = append(keys, Key{Path: join(storeSection, anyName), About: "URL of a further store, or of a database that a generator counts in"})
	for _, e := range generatorKeys(new(Generator)) {
		e.Path = join(generatorSection, anyName, e.Path)
		keys = append(keys, e.Key)
	}
	return append(keys, Key{Path: join(generatorSection, anyName, settingSection, anySetting), About: "a setting of a kind other than snowflake"})
}

// below returns the names that may stand in a section, sorted: those at the top
// for "", those of a generator for ".generators.NAME". A value has none.
func below(section string) []string {
	var names []string
	for _, key := range Keys() {
		if rest, ok := strings.CutPrefix("."+key.Path, join(section, "")); ok {
			name, _, _ := strings.Cut(rest, ".")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isList reports whether a file may give the key's value as a list.
func isList(path string) bool {
	_, key, _ := splitGenerator(path)
	return path == keyHosts || slices.Contains([]string{keyAliases, keyDatacenters, keyStore}, key)
}

// canBeEmpty reports whether an empty text means something: an address that is off, a list of nothing, or what
// the kind of a setting makes of it.
func canBeEmpty(path string) bool {
	_, key, _ := splitGenerator(path)
	return slices.Contains([]string{keyHTTP, keyRESP, keyGRPC, keyThrift, keyAdmin, keyHealth, keyHosts}, path) ||
		key == keyAliases || key == keyDatacenters || strings.HasPrefix(key, settingSection+".")
}

func join(names ...string) string { return strings.Join(names, ".") }

// splitGenerator parts the path of a generator's key into name and relative key.
func splitGenerator(path string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(path, generatorSection+".")
	if !ok {
		return "", "", false
	}
	name, key, _ = strings.Cut(rest, ".")
	return name, key, true
}
