package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"snowfence.example/snowfence/internal/text"
)

const (
	maxFile  = 1 << 20  // bytes of a configuration file, also if each alias were written out
	maxValue = 64 << 10 // bytes of a setting's text
	maxKeys  = 10_000   // of a section
)

// readFile takes the settings of a YAML file.
func (d *draft) readFile(path string) {
	content, err := readAll(path)
	if err != nil {
		d.faultAt(Origin{Source: FromFile, Name: path}, "", "", "%v", err)
		return
	}
	d.readYAML(path, content)
}

func readAll(path string) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open: %w", errors.Unwrap(err)) // without the path
	}
	defer func() { _ = file.Close() }() // it was only read
	content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(content) > maxFile {
		err = fmt.Errorf("has more than %d bytes", maxFile)
	}
	return content, err
}

// readYAML takes the settings of a file's content. YAML gives only the structure: every
// value is a text that the key's parser reads, as for variables and flags. An empty file sets nothing.
func (d *draft) readYAML(path string, content []byte) {
	w := &yamlWalk{draft: d, path: path, left: maxFile}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var document, second yaml.Node
	err := decoder.Decode(&document)
	if err == nil {
		if err = decoder.Decode(&second); err == nil {
			w.fault(&second, "", "", "a second document begins here: there must be one")
		}
	}
	if err != nil && !errors.Is(err, io.EOF) {
		w.syntax(err)
	}
	if len(document.Content) == 1 {
		w.section(document.Content[0], "")
	}
}

// yamlWalk goes through one document.
type yamlWalk struct {
	*draft
	path string
	left int // bytes of keys and values that may follow
}

// spend counts a key or value with the sign behind it. It returns false, and notes one fault, if the
// file is too large with its aliases resolved.
func (w *yamlWalk) spend(node *yaml.Node) bool {
	before := w.left
	w.left -= len(node.Value) + 1
	if before >= 0 && w.left < 0 {
		w.fault(node, "", "", "has more than %d bytes with its aliases resolved", maxFile)
	}
	return w.left >= 0
}

func (w *yamlWalk) origin(node *yaml.Node) Origin {
	return Origin{Source: FromFile, Name: w.path, Line: node.Line, Column: node.Column}
}

func (w *yamlWalk) fault(node *yaml.Node, key, value, reason string, args ...any) {
	w.faultAt(w.origin(node), key, value, reason, args...)
}

// syntax notes an error of the YAML library, which leaves out the column, and line 1.
func (w *yamlWalk) syntax(err error) {
	origin := Origin{Source: FromFile, Name: w.path, Line: 1}
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	if n, _ := fmt.Sscanf(message, "line %d:", &origin.Line); n == 1 {
		_, message, _ = strings.Cut(message, ": ")
	}
	switch message = brief(message, mostText); {
	case strings.Contains(message, "cannot start any token"):
		message += "; YAML is indented with spaces, not with tabs, and a value that begins with @, ` or % must be quoted"
	case strings.Contains(message, "expected alphabetic or numeric character"), strings.Contains(message, "unknown anchor"):
		message += `; a value that begins with * or & must be quoted: "*"`
	}
	w.faultAt(origin, "", "", "not YAML: %s", message)
}

// section walks a mapping at a path; one that is null is empty.
func (w *yamlWalk) section(node *yaml.Node, path string) {
	node = resolve(node)
	switch {
	case node.Kind == yaml.ScalarNode && node.Tag == "!!null":
		return
	case node.Kind != yaml.MappingNode:
		w.fault(node, path, "", "must be a mapping of keys to values, is %s", describe(node))
		return
	}
	if n := len(node.Content) / 2; n > maxKeys {
		w.fault(node, path, "", "has %d keys: must be at most %d", n, maxKeys)
		return
	}
	known, lines := w.below[general(path)], map[string]int{}
	for pair := range slices.Chunk(node.Content, 2) {
		key := resolve(pair[0])
		if !w.spend(key) {
			return
		}
		if line, twice := lines[key.Value]; twice && key.Kind == yaml.ScalarNode {
			w.fault(key, path, display("", key.Value), "stands here again, first in line %d", line)
			continue
		}
		lines[key.Value] = key.Line
		switch at := strings.TrimPrefix(join(path, key.Value), "."); {
		case !w.known(known, key, path, at):
		case w.below[general(at)] != nil:
			w.section(pair[1], at)
		default:
			w.value(key, pair[1], at)
		}
	}
}

// known reports whether a section has a key, and notes why not.
func (w *yamlWalk) known(names []string, key *yaml.Node, section, path string) bool {
	shown := display("", key.Value) // it may be a URL by mistake
	switch chosen := names[0] == anyName; {
	case key.Kind != yaml.ScalarNode:
		w.fault(key, section, "", "a key must be a single word, is %s", describe(key))
	case chosen && checkName(key.Value) != "":
		w.fault(key, display("", path), shown, "%s", checkName(key.Value))
	case chosen || names[0] == anySetting || slices.Contains(names, key.Value):
		if section == generatorSection {
			w.name(key.Value, w.origin(key))
		}
		return true
	case key.Tag == "!!merge":
		w.fault(key, path, "", "YAML's merge is not read: write the keys themselves, or give the whole section as an alias")
	default:
		w.fault(key, strings.TrimPrefix(join(section, shown), "."), "", "unknown key%s", text.DidYouMean(key.Value, names))
	}
	return false
}

// value takes the text of a scalar, or of the scalars of a list.
func (w *yamlWalk) value(key, node *yaml.Node, path string) {
	node = resolve(node)
	items, limit := []*yaml.Node{node}, "must be a single value"
	inList := node.Kind == yaml.SequenceNode && w.field(path).kind.Kind() == reflect.Slice
	if inList {
		items, limit = node.Content, "each item must be a single value without a comma"
	}
	var parts []string
	size := -1
	for _, item := range items {
		item = resolve(item)
		if size += len(item.Value) + 1; size > maxValue {
			w.fault(node, path, "", tooLong, maxValue)
			return
		}
		if !w.spend(item) {
			return
		}
		switch null := item.Tag == "!!null"; {
		case item.Kind != yaml.ScalarNode || inList && (null || strings.Contains(item.Value, ",")):
			w.fault(item, path, "", "%s, is %s", limit, describe(item))
			return
		case null:
			w.fault(key, path, "", "has no value: give one or leave the key out")
			return
		}
		parts = append(parts, item.Value)
	}
	w.put(path, strings.Join(parts, ","), w.origin(node))
}

// resolve follows an alias to its node. The walk goes only as deep
// as the known keys do, so that aliases can't make it grow without bound.
func resolve(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

func describe(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	case yaml.ScalarNode:
		return fmt.Sprintf("%q", brief(display("", node.Value), mostText))
	}
	return "something else"
}
