package config

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// settings is what was set, by path, and the generators that were named, with
// or without any setting.
type settings struct {
	byPath     map[string]setting
	generators map[string]Origin
	warnings   []string
	faults     []error
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

// splitGenerator parts the path of a generator's key into the generator's name
// and the key relative to it.
func splitGenerator(path string) (name, key string, ok bool) {
	rest, ok := strings.CutPrefix(path, generatorSection+".")
	if !ok {
		return "", "", false
	}
	name, key, _ = strings.Cut(rest, ".")
	return name, key, true
}

// generatorName is what the name of a generator and of a kind's setting must
// be. Without underscores and capitals, the way from a key to its variable has
// a way back.
var generatorName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the greatest length of a generator's name.
const maxName = 63

const nameRule = "must be at most 63 lower-case letters, digits and single hyphens between them, beginning with a letter"

// checkName returns what is wrong with a generator's name, or nothing.
func checkName(name string) string {
	switch {
	case len(name) > maxName || !generatorName.MatchString(name):
		return nameRule
	case strings.HasSuffix(name, "-"+settingSection) || strings.Contains(name, "-"+settingSection+"-"):
		// Its variables would read as settings of another generator.
		return fmt.Sprintf("must not have the word %q after the first", settingSection)
	}
	return ""
}

// schema is the tree of known keys that the paths of the tables make. A node
// without children is a value.
type schema map[string]schema

// knownKeys returns the tree of the keys of the configuration; that of one
// generator is below "generators".
func knownKeys() schema {
	root := schema{}
	for _, e := range configKeys() {
		root.add(e.Path)
	}
	for _, e := range generatorKeys() {
		root.add(join(generatorSection, e.Path))
	}
	root.add(join(generatorSection, settingSection))
	return root
}

func (s schema) add(path string) {
	node := s
	for name := range strings.SplitSeq(path, ".") {
		if node[name] == nil {
			node[name] = schema{}
		}
		node = node[name]
	}
}

// names returns the names at this level, sorted.
func (s schema) names() []string {
	var names []string
	for name := range s {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
