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
	Path  string
	Flag  string   // the name of serve's flag without hyphens, or empty
	About string   // one line of help
	Words []string // the only texts that it takes; empty if it takes others
}

// Environment returns the name of the key's environment variable.
func (k Key) Environment() string { return environmentName(k.Path) }

// environmentName is the mechanical rule from a key to its variable.
func environmentName(path string) string {
	return EnvironmentPrefix + strings.ToUpper(strings.NewReplacer(".", "_", "-", "_").Replace(path))
}

// Sections of names that users choose, the last one in a generator's, and the words that stand for such names in a [Key].
const (
	storeSection, generatorSection, settingSection = "stores", "generators", "settings"

	anyName, anySetting = "NAME", "KEY"
)

// Keys of files that others than this package read.
const (
	KeyMustExist   = "store-must-exist"
	KeyConnections = "limits.connections"
	KeyTokenFile   = "token-file"
	KeyCertificate = "tls.certificate"
	KeyPrivateKey  = "tls.key"
	KeyClientCA    = "tls.client-ca"
)

// Keys lists every key, in the order in which they are printed.
func Keys() []Key {
	s := newSchema()
	var keys []Key
	for _, f := range slices.Concat(s.config, s.generator) {
		keys = append(keys, f.Key)
	}
	return keys
}

// schema is the content of the tags of [Config] and [Generator]. Keys of one struct take effect in the
// order of their fields: a preset brings a layout and a policy, and the keys behind it change them.
type schema struct {
	config, generator []*field
	at                map[string]*field   // by [Key.Path]
	below             map[string][]string // names in a section, sorted
}

// field is a field of a [Config] or a [Generator] that has a key. Its tags are
//
//	key      its name below the section around it
//	help     its line of help; a struct without help is a section
//	flag     its flag
//	default  the text that means the same as zero
//	min max  the range of a number; a number without a max must be above 0
//	above    for such a number, its range in words, if a later check is stricter or a value is as good as 0
//	unit     bytes, if the number can have a unit
//	words    the only texts; in a field of type string the first one means the same as an empty text
//	empty    what an empty text means; without, it is refused
//	holds    url, path or address: the URL of a store, the path of a file, where a front listens
//	each     stands for a key of a map
//	kinds    all, if generators of every kind have the key
type field struct {
	Key
	name     string // its path within the struct
	order    int
	index    []int
	kind     reflect.Type
	tag      reflect.StructTag
	fallback string

	least, most int64 // 0 is none
}

func newSchema() *schema {
	s := &schema{at: map[string]*field{}, below: map[string][]string{}}
	s.add(reflect.TypeFor[Config](), &s.config, "", "", nil)
	for _, names := range s.below {
		slices.Sort(names)
	}
	return s
}

// add adds the fields of a struct, or of a section of it, whose keys begin with a prefix. Its own path is the section's place.
func (s *schema) add(t reflect.Type, to *[]*field, section, within string, index []int) {
	for f := range t.Fields() {
		key, ok := f.Tag.Lookup("key")
		if !ok {
			continue
		}
		at, help, path := slices.Concat(index, f.Index), f.Tag.Get("help"), strings.TrimPrefix(section+"."+key, ".")
		s.below[section] = append(s.below[section], key)
		switch each := f.Tag.Get("each"); {
		case f.Type == reflect.TypeFor[snowfence.Policy]():
			s.add(reflect.TypeFor[policyKeys](), to, path, within+key+".", at)
		case f.Type == reflect.TypeFor[map[string]Generator]():
			s.below[path] = []string{anyName}
			s.add(reflect.TypeFor[Generator](), &s.generator, join(path, anyName), "", nil)
		case help == "":
			s.add(f.Type, to, path, within+key+".", at)
		default:
			if each != "" {
				s.below[path] = []string{each}
				path = join(path, each)
			}
			about := strings.Replace(help, "ENGINES", engine.Supported(), 1)
			known := &field{
				Key: Key{path, f.Tag.Get("flag"), about, split(f.Tag.Get("words"))}, name: within + key, order: len(s.at), index: at,
				kind: f.Type, tag: f.Tag, fallback: f.Tag.Get("default"),
			}
			known.least, _ = known.quantity().parse(f.Tag.Get("min"))
			known.most, _ = known.quantity().parse(f.Tag.Get("max"))
			s.at[path], *to = known, append(*to, known)
		}
	}
}

// field returns the field of a path, or nil for an unknown path.
func (s *schema) field(path string) *field { return s.at[general(path)] }

// general returns a path as a [Key] has it, without the names that users choose.
func general(path string) string {
	names := strings.SplitN(path, ".", 4)
	if len(names) > 1 && (names[0] == generatorSection || names[0] == storeSection) {
		names[1] = anyName
		if len(names) > 3 && names[2] == settingSection {
			names[3] = anySetting
		}
	}
	return strings.Join(names, ".")
}

// in returns the field's place in a *[Config] or *[Generator].
func (f *field) in(of any) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(f.index) }

// set reads the text of a key, relative to the struct. If it can't, it changes nothing and returns the
// text's limits. A preset sets a generator's layout and policy, too.
func (f *field) set(of any, key, text string) error {
	v, err := f.codec().parse(text)
	if err != nil {
		return err
	}
	if m, ok := reflect.TypeAssert[*map[string]string](f.in(of).Addr()); ok {
		if *m == nil {
			*m = map[string]string{}
		}
		(*m)[strings.TrimPrefix(key, f.name+".")] = text
		return nil
	}
	if g, ok := of.(*Generator); ok && f.name == "preset" {
		preset, err := snowfence.PresetByName(text)
		if err != nil {
			return err
		}
		g.Layout, g.Policy = preset.Layout, preset.Policy
	}
	f.in(of).Set(reflect.ValueOf(v).Convert(f.kind))
	return nil
}

// show writes the value as set reads it.
func (f *field) show(of any) string { return f.codec().show(f.in(of)) }

// complete puts the default in the place of a zero, unless zero means something, and returns an error for a value that
// is out of range. It holds for a [Config] that is written by hand, too.
func (f *field) complete(of any) error {
	v := f.in(of)
	switch words := len(f.Words) > 0 && f.kind.Kind() == reflect.String; {
	case !v.IsZero():
		if words {
			return oneOf(v.String(), f.Words)
		} else if f.most > 0 {
			return f.inRange(v.Int())
		}
	case f.fallback != "" && !f.canBeEmpty():
		return f.set(of, f.name, f.fallback)
	case words:
		v.SetString(f.Words[0])
	}
	return nil
}

// canBeEmpty reports whether an empty text means something: an address that is off, an empty list, or
// the meaning that a setting's kind gives it.
func (f *field) canBeEmpty() bool { return f.tag.Get("empty") != "" }

// forEveryKind reports whether generators of every kind have the key.
func (f *field) forEveryKind() bool { return f.tag.Get("kinds") == "all" }

// holds reports whether the text of the key is of a sort: url, path or address.
func (f *field) holds(sort string) bool { return f.tag.Get("holds") == sort }

func join(names ...string) string { return strings.Join(names, ".") }

// splitGenerator parts the path of a generator's key into name and relative key. Another path is the key.
func splitGenerator(path string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(path, generatorSection+".")
	if !ok {
		return "", path, false
	}
	name, key, _ = strings.Cut(rest, ".")
	return name, key, true
}
