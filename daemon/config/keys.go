package config

import (
	"reflect"
	"slices"
	"strings"

	"snowfence.example/snowfence"
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

// field is a key, and the field of a [Config] or a [Generator] that has its value. Its tags say the rest.
type field struct {
	Key
	index    []int
	kind     reflect.Type
	fallback string // the default as a text
	tag      reflect.StructTag
}

// configKeys lists every key but those of the generators, in the order of printing.
func configKeys() []field { return fieldsOf(reflect.TypeFor[Config](), "", nil) }

// generatorKeys lists every key of a generator, relative to its name, but for its settings. They take effect in this
// order: a preset brings a layout and a policy, and what stands after it changes them.
func generatorKeys() []field { return fieldsOf(reflect.TypeFor[Generator](), "", nil) }

// fieldsOf walks the fields of a struct that have a key. A field without help is a section.
func fieldsOf(t reflect.Type, prefix string, index []int) (all []field) {
	for i := range t.NumField() {
		f := t.Field(i)
		key, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		at, help := append(slices.Clone(index), i), f.Tag.Get("help")
		switch {
		case f.Type == reflect.TypeFor[snowfence.Policy]():
			all = append(all, fieldsOf(reflect.TypeFor[policyKeys](), key+".", at)...)
		case help == "":
			all = append(all, fieldsOf(f.Type, key+".", at)...)
		default:
			about := strings.Replace(help, "ENGINES", engine.Supported(), 1)
			all = append(all, field{Key{prefix + key, f.Tag.Get("flag"), about}, at, f.Type, f.Tag.Get("default"), f.Tag})
		}
	}
	return all
}

// fieldAt returns the field of a path, or the zero field for a path that users choose.
func fieldAt(path string) field {
	keys := configKeys
	if _, key, ok := splitGenerator(path); ok {
		keys, path = generatorKeys, key
	}
	for _, f := range keys() {
		if f.Path == path {
			return f
		}
	}
	return field{}
}

// Keys lists every key, in the order in which they are printed.
func Keys() []Key {
	var keys []Key
	for _, f := range configKeys() {
		keys = append(keys, f.Key)
	}
	keys = append(keys, Key{Path: join(storeSection, anyName), About: "URL of a further store, or of a database that a generator counts in"})
	for _, f := range generatorKeys() {
		f.Path = join(generatorSection, anyName, f.Path)
		keys = append(keys, f.Key)
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
	kind := fieldAt(path).kind
	return kind != nil && kind.Kind() == reflect.Slice
}

// canBeEmpty reports whether an empty text means something: an address that is off, a list of nothing, or what
// the kind of a setting makes of it.
func canBeEmpty(path string) bool {
	_, key, _ := splitGenerator(path)
	return strings.HasPrefix(key, settingSection+".") || fieldAt(path).tag.Get("empty") != ""
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
