package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/internal/text"
)

// Sources are the places that settings come from, besides the defaults.
type Sources struct {
	// File is the path of the YAML file. Empty means the one that the variable
	// SNOWFENCE_CONFIG names, and none if there is no such variable.
	File string

	// Environ is the environment in the form of os.Environ.
	Environ []string

	// Flags are the flags that the user gave, by the path of the key that each
	// stands for (see [Key]): {"http": ":7600"}.
	Flags map[string]string

	// Kinds are the kinds of generator that the program has.
	Kinds []string

	// CheckURL returns a *[engine.URLError] for a URL of a store that its engine can't read. Nil means that only the
	// schemes are looked at.
	CheckURL func(url string) error
}

// Load returns the configuration that the sources make, complete and valid.
// Otherwise the error holds an [Error] for each thing that is wrong.
func Load(sources Sources) (Config, error) {
	s := newSettings()
	file := sources.File
	if file == "" {
		var set bool
		if file, set = (Config{environ: sources.Environ}).Variable(EnvironmentFile); set && file == "" {
			_, err := NotEmpty(file)
			s.fault(Origin{Source: FromEnvironment, Name: EnvironmentFile}, "", "", "%v", err)
		}
	}
	if file != "" {
		s.readFile(file)
	}
	s.readEnvironment(sources.Environ)
	s.readFlags(sources.Flags)
	s.readStateDirectory(sources.Environ)
	s.anchor(sources.Environ)

	c := s.config()
	c.environ = sources.Environ
	c.Data = cmp.Or(c.Data, stateDirectory(sources.Environ))
	c, err := c.Complete(sources.Kinds...)
	if sources.CheckURL != nil {
		err = Join(err, c.CheckStores(sources.CheckURL))
	}
	// What could not be read is at its default in c, so that other faults are found, too.
	return c, Join(append(s.faults, err)...)
}

// settings is what was set, by path, and where. A generator that was named has an
// origin at its own path, with or without any setting.
type settings struct {
	texts    map[string]string
	origins  map[string]Origin
	warnings []string
	faults   []error
	written  map[string]string // as in [Config]
}

func newSettings() *settings {
	return &settings{texts: map[string]string{}, origins: map[string]Origin{}, written: map[string]string{}}
}

// NotEmpty returns a text, and an error for an empty one, which is all that a forgotten variable leaves. The default
// in its place would be another store or namespace than the one that was meant, or no token.
func NotEmpty(text string) (string, error) {
	if text == "" {
		return "", errors.New("is empty: give a value or leave it out")
	}
	return text, nil
}

// tooLong is the reason against a longer text than maxValue.
const tooLong = "must be at most %d bytes"

// put takes a setting, in the place of one from a weaker source.
func (s *settings) put(path, text string, origin Origin) {
	if _, err := NotEmpty(text); err != nil && !canBeEmpty(path) {
		s.fault(origin, path, "", "%v", err)
	} else if len(text) > maxValue {
		s.fault(origin, path, "", tooLong, maxValue)
	} else {
		s.texts[path], s.origins[path] = text, origin
	}
	if name, _, ok := splitGenerator(path); ok {
		s.name(name, origin)
	}
}

// name notes that a generator exists, and where it was first named.
func (s *settings) name(generator string, origin Origin) {
	path := join(generatorSection, generator)
	if _, known := s.origins[path]; !known {
		s.origins[path] = origin
	}
}

func (s *settings) fault(origin Origin, key, value, reason string, args ...any) {
	s.faults = append(s.faults, &Error{Origin: origin, Key: brief(key), Value: brief(value), Reason: cut(fmt.Sprintf(reason, args...), mostReason)})
}

// expand puts variables into the URL of a store, and the home directory into the path of a file. It returns false for
// a path that can't be meant as it is written.
func (s *settings) expand(key string, expand func(string, func(string) string) (string, error), environ []string) bool {
	expanded, err := expand(s.texts[key], func(name string) string { return lookup(environ, name) })
	if !isStore(key) {
		err = cmp.Or(err, storeurl.CheckFolder(expanded))
	}
	if err != nil {
		s.fault(s.origins[key], key, display(key, s.texts[key]), "%s", text.Message(err))
	}
	if s.texts[key] = expanded; err != nil && !isStore(key) {
		delete(s.texts, key) // so that nothing follows from it
	}
	return err == nil
}

// anchor makes paths whole. Relative ones in a file begin at its folder, as one file must mean one store wherever
// the program starts. Those of flags begin in the working directory. Variables outlive a change of directory, so
// a store's path in one must be whole.
func (s *settings) anchor(environ []string) {
	for _, key := range slices.Sorted(maps.Keys(s.texts)) {
		scheme, mustBeWhole := "", key == keyData
		switch {
		case isStore(key):
			written := s.texts[key]
			whole := s.expand(key, engine.Expand, environ)
			path, folder := engine.Folder(s.texts[key])
			if origin := s.origins[key]; !folder && origin.Source == FromFile {
				s.texts[key], written = engine.AnchorFiles(s.texts[key], filepath.Dir(origin.Name)), engine.AnchorFiles(written, filepath.Dir(origin.Name))
			}
			if !folder {
				s.written[s.texts[key]] = written
			}
			if !whole || !folder || storeurl.CheckFolder(path) != nil {
				continue // what is wrong with the path is found with the rest of the URL
			}
			scheme, mustBeWhole = "file:", true
		case isPath(key):
			if !s.expand(key, engine.ExpandHome, environ) {
				continue
			}
		default:
			continue
		}
		path, origin := strings.TrimPrefix(s.texts[key], scheme), s.origins[key]
		switch {
		case path == "" || filepath.IsAbs(path):
			continue
		case origin.Source == FromEnvironment && mustBeWhole:
			s.fault(origin, key, s.texts[key], "must be an absolute path, or each working directory has a store of its own, and ids can be equal")
			continue
		case origin.Source == FromEnvironment:
			continue
		case origin.Source == FromFile:
			path = filepath.Join(filepath.Dir(origin.Name), path)
		}
		if whole, err := filepath.Abs(path); err == nil { // without a working directory, opening it says why
			s.texts[key] = scheme + whole
		}
	}
}

// isStore reports whether a key has the URL of a store.
func isStore(key string) bool { return key == keyStore || strings.HasPrefix(key, storeSection+".") }

// isPath reports whether a key has the path of a file or folder.
func isPath(key string) bool {
	return fieldAt(key).tag.Get("path") != "" || strings.HasSuffix(key, settingSection+"."+keyFile)
}

// readStateDirectory takes the folder that systemd gives a unit, unless one is set. Of several it is the first.
func (s *settings) readStateDirectory(environ []string) {
	const name = "STATE_DIRECTORY"
	first, _, _ := strings.Cut(lookup(environ, name), ":")
	if _, given := s.texts[keyData]; !given && first != "" {
		s.put(keyData, first, Origin{Source: FromEnvironment, Name: name})
	}
}

// readFlags takes the settings of flags.
func (s *settings) readFlags(flags map[string]string) {
	names := map[string]string{}
	for _, e := range configKeys() {
		names[e.Path] = e.Flag
	}
	for _, path := range slices.Sorted(maps.Keys(flags)) {
		origin := Origin{Source: FromFlag, Name: names[path]}
		if origin.Name == "" {
			s.fault(Origin{Source: FromFlag, Name: path}, path, "", "no flag stands for this key")
			continue
		}
		s.put(path, flags[path], origin)
	}
}

// config makes the typed configuration of the settings.
func (s *settings) config() Config {
	c := Default()
	c.warnings, c.origins, c.written, c.Generators = s.warnings, s.origins, s.written, map[string]Generator{}
	s.apply(configKeys(), "", &c)
	for path, url := range s.texts {
		if name, ok := strings.CutPrefix(path, storeSection+"."); ok {
			if c.Stores == nil {
				c.Stores = map[string]string{}
			}
			c.Stores[name] = url
		}
	}
	for path := range s.origins {
		name, key, ok := splitGenerator(path)
		if !ok || key != "" {
			continue
		}
		var g Generator
		s.apply(generatorKeys(), path+".", &g)
		for at, value := range s.texts {
			if key, ok := strings.CutPrefix(at, join(path, settingSection, "")); ok {
				if g.Settings == nil {
					g.Settings = map[string]string{}
				}
				g.Settings[key] = value
			}
		}
		c.Generators[name] = g
	}
	return c
}

// apply sets the keys below a prefix. From what can't be read nothing follows.
func (s *settings) apply(keys []field, prefix string, of any) {
	for _, e := range keys {
		path := prefix + e.Path
		if value, given := s.texts[path]; given {
			if err := e.apply(of, value); err != nil {
				shown := display(path, value)
				s.fault(s.origins[path], path, shown, "%s", hide(text.Message(err), value, shown))
			}
		}
	}
}

// apply sets the field. A preset sets a generator's layout and policy, too.
func (f field) apply(of any, value string) error {
	if g, ok := of.(*Generator); ok && f.Path == keyPreset {
		preset, err := snowfence.PresetByName(value)
		if err != nil {
			return err
		}
		g.Layout, g.Policy = preset.Layout, preset.Policy
	}
	return f.set(of, value)
}

// stateDirectory returns where a program without systemd keeps its state: what XDG says, which has it that a
// relative path is no path, or the usual place below the home directory; empty if none is known.
func stateDirectory(environ []string) string {
	if state := lookup(environ, "XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "snowfence")
	}
	if home := lookup(environ, "HOME"); filepath.IsAbs(home) {
		return filepath.Join(home, ".local", "state", "snowfence")
	}
	return ""
}
