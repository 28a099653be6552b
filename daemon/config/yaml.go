package config

import (
	"bytes"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// YAML nests the settings by their keys, each with its source if that is not the default.
func YAML(values []Value) (string, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	sections := map[string]*yaml.Node{"": root}
	for _, v := range values {
		if v.Unset {
			continue
		}
		parent, path := root, ""
		names := strings.Split(v.Key, ".")
		for _, name := range names[:len(names)-1] {
			path += name + "."
			if sections[path] == nil {
				sections[path] = &yaml.Node{Kind: yaml.MappingNode}
				parent.Content = append(parent.Content, yamlScalar(name), sections[path])
			}
			parent = sections[path]
		}
		value := yamlScalar(v.Text)
		if v.Origin.Source != FromDefault {
			value.LineComment = v.Origin.String()
		}
		parent.Content = append(parent.Content, yamlScalar(names[len(names)-1]), value)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return b.String(), nil
}

// yamlScalar is a text without a type: quoted only where YAML needs it.
func yamlScalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if text == "" {
		n.Style = yaml.DoubleQuotedStyle // else it would be null
	}
	return n
}
