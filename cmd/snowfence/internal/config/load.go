package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
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

	// Kinds are the names of the kinds of generator that the program knows
	// beside its own.
	Kinds []string
}

// Load returns the configuration that the sources make, complete and valid.
// Otherwise the error holds an [Error] for each thing that is wrong.
func Load(sources Sources) (Config, error) {
	s := newSettings()
	file := sources.File
	if file == "" {
		file = lookup(sources.Environ, EnvironmentFile)
	}
	if file != "" {
		s.readFile(file)
	}
	s.readEnvironment(sources.Environ)
	s.readFlags(sources.Flags)

	c := s.config()
	if expanded, err := Expand(c.Store, sources.Environ); err != nil {
		s.fault(s.byPath[keyStore].origin, keyStore, display(keyStore, c.Store), "%s", reason(err))
	} else {
		c.Store = expanded
	}
	if c.Data == "" {
		c.Data = stateDirectory(sources.Environ)
	}
	c, err := c.Complete(sources.Kinds...)
	// What could not be read is at its default in c, so that all that is
	// wrong with the rest is found at the same time.
	return c, Join(append(s.faults, err)...)
}

// setting is a key and a text from one place.
type setting struct {
	path   string
	text   string
	origin Origin
}

// settings is what was set, by path, and the generators that were named, with
// or without any setting.
type settings struct {
	byPath     map[string]setting
	generators map[string]Origin
	warnings   []string
	faults     []error
}

func newSettings() *settings {
	return &settings{byPath: map[string]setting{}, generators: map[string]Origin{}}
}

// put takes a setting, in the place of one from a weaker source.
func (s *settings) put(set setting) {
	s.byPath[set.path] = set
	if name, _, ok := splitGenerator(set.path); ok {
		s.name(name, set.origin)
	}
}

// name notes that a generator exists, and where it was first named.
func (s *settings) name(generator string, origin Origin) {
	if _, known := s.generators[generator]; !known {
		s.generators[generator] = origin
	}
}

func (s *settings) fault(origin Origin, key, value, reason string, args ...any) {
	s.faults = append(s.faults, &Error{Origin: origin, Key: key, Value: value, Reason: fmt.Sprintf(reason, args...)})
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
		s.put(setting{path, flags[path], origin})
	}
}

// config makes the typed configuration of the settings.
func (s *settings) config() Config {
	c := Default()
	c.warnings = s.warnings
	c.origins = map[string]Origin{}
	apply(s, &c, configKeys(), "", c.origins)
	if len(s.generators) > 0 {
		c.Generators = map[string]Generator{}
	}
	for name, origin := range s.generators {
		path := join(generatorSection, name)
		c.origins[path] = origin
		var g Generator
		apply(s, &g, generatorKeys(), path+".", c.origins)
		for at, set := range s.byPath {
			if key, ok := strings.CutPrefix(at, join(path, settingSection, "")); ok {
				if g.Settings == nil {
					g.Settings = map[string]string{}
				}
				g.Settings[key] = set.text
				c.origins[at] = set.origin
			}
		}
		c.Generators[name] = g
	}
	return c
}

// apply sets what the settings say of a T, whose keys stand below prefix.
func apply[T any](s *settings, t *T, keys []entry[T], prefix string, origins map[string]Origin) {
	for _, e := range keys {
		given, ok := s.byPath[prefix+e.Path]
		if !ok {
			continue
		}
		origins[given.path] = given.origin
		before := *t
		if err := set(e.place(t), given.text); err != nil {
			*t = before // so that nothing follows from what can't be read
			s.fault(given.origin, given.path, display(given.path, given.text), "%s", reason(err))
		}
	}
}

// reason is an error's text without the prefix of the package it comes from.
func reason(err error) string {
	return strings.TrimPrefix(err.Error(), "snowfence: ")
}

// stateDirectory returns where a program of this environment keeps its state:
// what systemd says, what XDG says, or the usual place below the home
// directory. It is empty when the environment has none of these.
func stateDirectory(environ []string) string {
	// systemd lists the directories of a unit, the first one being the unit's
	// own.
	if first, _, _ := strings.Cut(lookup(environ, "STATE_DIRECTORY"), ":"); first != "" {
		return first
	}
	if state := lookup(environ, "XDG_STATE_HOME"); filepath.IsAbs(state) {
		return filepath.Join(state, "snowfence")
	}
	if home := lookup(environ, "HOME"); home != "" {
		return filepath.Join(home, ".local", "state", "snowfence")
	}
	return ""
}
