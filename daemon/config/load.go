package config

import (
	"cmp"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/internal/text"
)

// Sources are the places that settings come from, besides the defaults.
type Sources struct {
	// File is the path of the YAML file. Empty means the file that the variable SNOWFENCE_CONFIG names,
	// or no file without the variable.
	File string

	Environ []string          // in the form of os.Environ
	Flags   map[string]string // that the user gave, by the path of the key that each stands for: {"http": ":7600"}
	Kinds   []string          // of generator, that the program has

	// CheckURL returns a *[engine.URLError] for a URL of a store that its engine can't read. Nil means
	// that [Load] looks at the schemes alone.
	CheckURL func(url string) error
}

// Load returns the configuration that the sources make, complete and valid.
// Otherwise the error holds an [Error] for each thing that is wrong.
func Load(sources Sources) (Config, error) {
	d := loading(sources.Kinds...)
	d.environ = sources.Environ
	file, set := sources.File, false
	if file == "" {
		file, set = d.Variable(EnvironmentFile)
	}
	if file != "" {
		d.readFile(file)
	} else if set {
		d.faultAt(Origin{Source: FromEnvironment, Name: EnvironmentFile}, "", "", isEmpty)
	}
	d.readEnvironment()
	d.readFlags(sources.Flags)
	d.readStateDirectory()
	d.anchor()
	d.build()
	d.Data = cmp.Or(d.Data, d.stateDirectory())
	d.complete()
	if sources.CheckURL != nil {
		d.faults = append(d.faults, d.CheckStores(sources.CheckURL))
	}
	// An unreadable setting is at its default, so that other faults are found, too.
	return d.Config, Join(d.faults...)
}

// draft is a configuration in the course of [Load] and [Config.Complete].
type draft struct {
	Config
	*schema
	kinds  []string
	faults []error

	anyLayout bool // the layout for all generators is left out
}

// loading returns a draft in which nothing is set.
func loading(kinds ...string) *draft {
	d := &draft{Config: Default(), schema: newSchema(), kinds: kinds}
	d.set, d.written = map[string]setting{}, map[string]string{}
	return d
}

// setting is a text that was set. A generator that was named has a setting without a field at its own path, with or
// without any other. So has a path that can't be used: nothing follows from it but its place.
type setting struct {
	field  *field
	text   string
	origin Origin
}

// isEmpty and tooLong are the reasons against a text that is empty or longer than maxValue.
const (
	isEmpty = "is empty: give a value or leave it out"
	tooLong = "must be at most %d bytes"
)

// NotEmpty returns a text, and an error for an empty one, which is all that a forgotten variable
// leaves. The default in its place would be a wrong store or namespace, or would drop the token.
func NotEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New(isEmpty)
	}
	return text, nil
}

// put takes a setting, in the place of one from a weaker source.
func (d *draft) put(path, text string, origin Origin) {
	switch f := d.field(path); {
	case text == "" && !f.canBeEmpty():
		d.faultAt(origin, path, "", isEmpty)
	case len(text) > maxValue:
		d.faultAt(origin, path, "", tooLong, maxValue)
	default:
		d.set[path] = setting{f, text, origin}
	}
	if name, _, ok := splitGenerator(path); ok {
		d.name(name, origin)
	}
}

// name notes that a generator exists, and where it was first named.
func (d *draft) name(generator string, origin Origin) {
	path := join(generatorSection, generator)
	if _, known := d.set[path]; !known {
		d.set[path] = setting{origin: origin}
	}
}

// readFlags takes the settings of flags.
func (d *draft) readFlags(flags map[string]string) {
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		f := d.at[path]
		if f == nil || f.Flag == "" {
			d.faultAt(Origin{Source: FromFlag, Name: path}, path, "", "no flag stands for this key")
			continue
		}
		d.put(path, flags[path], Origin{Source: FromFlag, Name: f.Flag})
	}
}

// anchor makes paths whole. Relative ones in a file begin at its folder, as one file must mean one store wherever
// the program starts. Paths of flags begin in the working directory. Variables outlive a change of
// directory, so a store's path in one must be whole.
func (d *draft) anchor() {
	for _, key := range slices.Sorted(maps.Keys(d.set)) {
		s := d.set[key]
		switch {
		case s.field == nil:
		case s.field.holds("url"):
			s.text = d.anchorURL(key, s)
		case s.field.holds("path") || strings.HasSuffix(key, join(settingSection, keyFile)):
			path, err := engine.ExpandHome(s.text, d.lookup)
			if err = cmp.Or(err, storeurl.CheckFolder(path)); err != nil {
				d.faultAt(s.origin, key, display(key, s.text), "%s", text.Message(err))
				s.field = nil
			} else {
				s.text = d.whole(key, "", path, s.origin, key == "data")
			}
		}
		d.set[key] = s
	}
}

// anchorURL puts variables into the URL of a store, and makes the paths in it whole.
func (d *draft) anchorURL(key string, s setting) string {
	url, wrong := engine.Expand(s.text, d.lookup)
	if wrong != nil {
		d.faultAt(s.origin, key, display(key, s.text), "%s", text.Message(wrong))
	}
	path, folder := engine.Folder(url)
	switch {
	case !folder:
		if s.origin.Source == FromFile {
			at := filepath.Dir(s.origin.Name)
			url, s.text = engine.AnchorFiles(url, at), engine.AnchorFiles(s.text, at)
		}
		d.written[url] = s.text
		return url
	case wrong != nil || storeurl.CheckFolder(path) != nil:
		return url // the check of the whole URL finds the path's fault
	}
	return d.whole(key, "file:", strings.TrimPrefix(url, "file:"), s.origin, true)
}

// whole returns a path as an absolute one, behind the scheme of a URL.
func (d *draft) whole(key, scheme, path string, origin Origin, must bool) string {
	switch {
	case path == "" || filepath.IsAbs(path):
		return scheme + path
	case origin.Source == FromEnvironment:
		if must {
			d.faultAt(origin, key, scheme+path, "must be an absolute path, or each working directory has a store of its own, and ids can be equal")
		}
		return scheme + path
	case origin.Source == FromFile:
		path = filepath.Join(filepath.Dir(origin.Name), path)
	}
	if whole, err := filepath.Abs(path); err == nil { // without a working directory, opening it shows why
		path = whole
	}
	return scheme + path
}

// build makes the typed configuration of the settings, in the order of their fields. From a text that can't be read
// nothing follows.
func (d *draft) build() {
	generators := map[string]*Generator{}
	for _, path := range slices.SortedFunc(maps.Keys(d.set), func(a, b string) int { return cmp.Compare(d.set[a].order(), d.set[b].order()) }) {
		s, of := d.set[path], any(&d.Config)
		name, key, ok := splitGenerator(path)
		if ok {
			if generators[name] == nil {
				generators[name] = new(Generator)
			}
			of = generators[name]
		}
		if s.field == nil {
			continue
		}
		if err := s.field.set(of, key, s.text); err != nil {
			shown := d.display(path, s.text)
			d.faultAt(s.origin, path, shown, "%s", hide(text.Message(err), s.text, shown))
		}
	}
	d.Generators = map[string]Generator{}
	for name, g := range generators {
		d.Generators[name] = *g
	}
}

// order is the place of a setting among all.
func (s setting) order() int {
	if s.field == nil {
		return 0
	}
	return s.field.order
}
