package config

import (
	"log/slog"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
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

// entry is a key of T, a [Config] or a [Generator], with the way to set it
// from text and to show it as text.
type entry[T any] struct {
	Key
	binding[T]
}

// Keys of a generator stand under this section, below the generator's name.
const (
	generatorSection = "generators"
	settingSection   = "settings"
	policySection    = "policy"
)

// Keys of files that others than this package read.
const (
	KeyTokenFile   = "token-file"
	KeyCertificate = "tls.certificate"
	KeyPrivateKey  = "tls.key"
)

// Keys that a message or another rule mentions by name.
const (
	keyStore     = "store"
	keyNamespace = "namespace"
	keyLayout    = "layout"
	keyData      = "data"
	keyHTTP      = "http"
	keyLogFormat = "log.format"

	keyKind       = "kind"
	keyPreset     = "preset"
	keyWindow     = "window"
	keyClaimWait  = "claim-wait"
	keyJournal    = "journal"
	keyWorker     = "worker"
	keyDatacenter = "datacenter"
)

// configKeys lists every key but those of the generators, in the order in
// which they are printed.
func configKeys() []entry[Config] {
	return []entry[Config]{
		{Key{keyStore, "store", "URL of the store: file:/path, etcd://, zookeeper://, redis://, postgres://, mysql://, nats://, or mem:// for a trial; ${NAME} stands for a variable"}, text(func(c *Config) *string { return &c.Store })},
		{Key{keyNamespace, "namespace", "space of unique ids that generators use unless they name their own"}, text(func(c *Config) *string { return &c.Namespace })},
		{Key{keyLayout, "layout", "layout of ids, a preset's name or a text form, that generators use unless they name their own"}, layout(func(c *Config) *snowfence.Layout { return &c.Layout })},
		{Key{keyData, "data", "directory that the program may write to"}, text(func(c *Config) *string { return &c.Data })},
		{Key{keyHTTP, "http", `address of the HTTP front as host:port; "" turns it off`}, text(func(c *Config) *string { return &c.HTTP })},
		{Key{"hosts", "", "further host names, separated by commas, that a loopback address without a token answers to"}, list(func(c *Config) *[]string { return &c.Hosts })},
		{Key{"insecure", "insecure", "allow addresses beyond loopback without TLS and a token"}, boolean(func(c *Config) *bool { return &c.Insecure })},
		{Key{KeyCertificate, "", "file of the certificate chain, PEM"}, text(func(c *Config) *string { return &c.TLS.Certificate })},
		{Key{KeyPrivateKey, "", "file of the private key, PEM"}, text(func(c *Config) *string { return &c.TLS.Key })},
		{Key{KeyTokenFile, "", "file of the token that clients must show"}, text(func(c *Config) *string { return &c.TokenFile })},
		{Key{"log.level", "log-level", "least level that is logged: debug, info, warn or error"}, level(func(c *Config) *slog.Level { return &c.Log.Level })},
		{Key{keyLogFormat, "log-format", "how the log is written: text or json"}, text(func(c *Config) *string { return &c.Log.Format })},
		{Key{"limits.batch", "", "most ids of one request"}, countLimit(func(l *Limits) *int { return &l.Batch })},
		{Key{"limits.body", "", "most bytes of a request's body"}, sizeLimit(func(l *Limits) *int { return &l.Body })},
		{Key{"limits.header", "", "most bytes of a request's header"}, sizeLimit(func(l *Limits) *int { return &l.Header })},
		{Key{"limits.read-timeout", "", "longest time to read a request"}, durationLimit(func(l *Limits) *time.Duration { return &l.ReadTimeout })},
		{Key{"limits.write-timeout", "", "longest time to mint and write an answer"}, durationLimit(func(l *Limits) *time.Duration { return &l.WriteTimeout })},
		{Key{"limits.idle-timeout", "", "longest time between two requests of a connection"}, durationLimit(func(l *Limits) *time.Duration { return &l.IdleTimeout })},
		{Key{"limits.drain", "", "longest time for requests under way when the program ends"}, durationLimit(func(l *Limits) *time.Duration { return &l.Drain })},
	}
}

// generatorKeys lists every key of a generator, relative to its name, but for
// its settings. They take effect in this order: a preset brings a layout and a
// policy, and what stands after it changes them.
func generatorKeys() []entry[Generator] {
	return []entry[Generator]{
		{Key{keyKind, "", "kind of the ids"}, text(func(g *Generator) *string { return &g.Kind })},
		{Key{keyNamespace, "", "space in which the ids are unique"}, text(func(g *Generator) *string { return &g.Namespace })},
		{Key{keyPreset, "", "preset that the layout and the policy are taken from"}, binding[Generator]{set: setPreset, show: func(g Generator) string { return g.Preset }}},
		{Key{keyLayout, "", "layout of the ids, a preset's name or a text form"}, layout(func(g *Generator) *snowfence.Layout { return &g.Layout })},
		{Key{keyWindow, "", "how far ahead of its use a lease is taken"}, duration(func(g *Generator) *time.Duration { return &g.Window })},
		{Key{keyClaimWait, "", "how long to wait for a free worker id"}, duration(func(g *Generator) *time.Duration { return &g.ClaimWait })},
		{Key{keyJournal, "", "keep the term on this host's disk, so that a restart can go on with it while the store is away"}, boolean(func(g *Generator) *bool { return &g.Journal })},
		{Key{"journal-across-reboots", "", "go on with it after a restart of the host, too; not where hosts are started from images of disks"}, boolean(func(g *Generator) *bool { return &g.JournalAcrossReboots })},
		{Key{keyWorker, "", "the one worker id that this generator uses"}, number(func(g *Generator) **int64 { return &g.Worker })},
		{Key{keyDatacenter, "", "the datacenter whose worker ids this generator uses"}, number(func(g *Generator) **int64 { return &g.Datacenter })},
		{Key{"datacenters", "", "the datacenters, separated by commas, that the store may issue where several stores share the namespace"}, numbers(func(g *Generator) *[]int64 { return &g.Datacenters })},
		{Key{"policy.max-rollback", "", "how far the clock may step back before no ids are issued; 1ns allows no step"}, policyDuration(func(p *snowfence.Policy) *time.Duration { return &p.MaxRollback })},
		{Key{"policy.max-burst", "", "how far ahead of the clock a burst may stamp; 1ns never"}, policyDuration(func(p *snowfence.Policy) *time.Duration { return &p.MaxBurst })},
		{Key{"policy.max-wait", "", "how long a request may wait for the next tick or the clock"}, policyDuration(func(p *snowfence.Policy) *time.Duration { return &p.MaxWait })},
		{Key{"policy.wall-every-call", "", "read the wall clock at every call, as older generators do"}, boolean(func(g *Generator) *bool { return &g.Policy.WallEveryCall })},
		{Key{"policy.sequence-start", "", "where a tick's sequence begins: quarter, zero, random:MAX, vibration:MAX or carry:MAX"}, binding[Generator]{set: setSequenceStart, show: showSequenceStart}},
	}
}

// Keys lists every key, in the order in which they are printed.
func Keys() []Key {
	var keys []Key
	for _, e := range configKeys() {
		keys = append(keys, e.Key)
	}
	for _, e := range generatorKeys() {
		key := e.Key
		key.Path = join(generatorSection, "NAME", key.Path)
		keys = append(keys, key)
	}
	return append(keys, Key{Path: join(generatorSection, "NAME", settingSection, "KEY"), About: "a setting of a kind that an embedding program brings"})
}

func join(names ...string) string { return strings.Join(names, ".") }

// isList reports whether the value of a key is a list.
func isList(path string) bool {
	if _, key, ok := splitGenerator(path); ok {
		return slices.ContainsFunc(generatorKeys(), func(e entry[Generator]) bool { return e.Path == key && e.list })
	}
	return slices.ContainsFunc(configKeys(), func(e entry[Config]) bool { return e.Path == path && e.list })
}
