package main

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"

	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
)

func (p program) config() *cobra.Command {
	return group(&cobra.Command{
		Use:   "config",
		Short: "Check or print the configuration",
		Long: `Settings come from flags, SNOWFENCE_ variables, one YAML file and defaults, the
first of these winning. An unknown key in the file is an error. A variable that
is no setting is only a warning, because other programs set variables too.`,
		Example: `  snowfence config check --config snowfence.yaml
  snowfence config print > snowfence.yaml`,
	}, p.configCheck(), p.configPrint())
}

// fault is one thing that is wrong with a configuration, in JSON.
type fault struct {
	Key    string `json:"key,omitempty"`
	Value  string `json:"value,omitempty"`
	From   string `json:"from"`
	Reason string `json:"reason"`
}

func (p program) configCheck() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Say whether the configuration is valid",
		Long: `Check reads the configuration as serve does, and names everything that is wrong
with it, with line and column. It reads the files of tokens and of TLS, and
those that the store's URL names. It opens no store and no port. It warns of
what will stop ids, such as a layout that has run out. The exit code of an
invalid configuration is 2. -o json prints
{"valid":…,"generators":["…"],"faults":[{"key","value","from","reason"}]}.`,
		Example: `  snowfence config check
  snowfence config check --config snowfence.yaml -o json`,
	}
	f := outputFlag(cmd)
	s := settingFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		err = config.Join(err, daemon.Check(c))
		p.warn(daemon.Warnings(c, p.clock.Wall())...)
		if err == nil {
			p.warn(c.StoreWarnings()...)
			p.warn(c.LayoutWarnings(p.clock.Wall())...)
		}
		if printErr := p.printCheck(*f, c, err); printErr != nil {
			return printErr
		}
		return err
	}
	return cmd
}

// printCheck prints the verdict; the faults as text are left to standard error.
func (p program) printCheck(f form, c config.Config, err error) error {
	faults, rows := []fault{}, [][]string{}
	for _, e := range config.Faults(err) {
		faults = append(faults, fault{e.Key, e.Value, e.Origin.String(), e.Reason})
		rows = append(rows, []string{orDash(e.Key), orDash(e.Value), e.Origin.String(), e.Reason})
	}
	tabular, text := table("key, value, from, reason", rows), ""
	if err == nil {
		text = "valid; generators: " + strings.Join(c.Names(), ", ") + "\n"
		tabular = text
	}
	return p.answer(f, struct {
		Valid      bool     `json:"valid"`
		Generators []string `json:"generators"`
		Faults     []fault  `json:"faults"`
	}{err == nil, append([]string{}, c.Names()...), faults}, tabular, text)
}

func (p program) configPrint() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "print",
		Short: "Print every setting in effect and where it came from",
		Long: `Print writes the whole configuration: as text it is a YAML file with a comment
beside each setting that is not at its default, saying where it came from. A
password in a URL is printed as xxxxx: write ${NAME} there before the file is
used, so that a variable has it. -o table and -o json have the
settings of generators without a value, too. -o json prints
{"settings":[{"key","value","from"}]}.`,
		Example: `  snowfence config print
  snowfence config print --config snowfence.yaml -o table
  SNOWFENCE_HTTP=127.0.0.1:8080 snowfence config print -o json`,
	}
	f := outputFlag(cmd)
	s := settingFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		return p.printValues(*f, c.Values())
	}
	return cmd
}

func (p program) printValues(f form, values []config.Value) error {
	type setting struct {
		Key   string `json:"key"`
		Value string `json:"value"`
		From  string `json:"from"`
	}
	settings, rows := make([]setting, len(values)), make([][]string, len(values))
	for i, v := range values {
		settings[i] = setting{v.Key, v.Text, v.Origin.String()}
		rows[i] = []string{v.Key, orDash(v.Text), v.Origin.String()}
	}
	text, err := yamlText(values)
	if err != nil {
		return err
	}
	return p.answer(f, struct {
		Settings []setting `json:"settings"`
	}{settings}, table("key, value, from", rows), text)
}

// yamlText nests the settings by their keys, each with its source if that is not the default.
func yamlText(values []config.Value) (string, error) {
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
				parent.Content = append(parent.Content, scalar(name), sections[path])
			}
			parent = sections[path]
		}
		value := scalar(v.Text)
		if v.Origin.Source != config.FromDefault {
			value.LineComment = v.Origin.String()
		}
		parent.Content = append(parent.Content, scalar(names[len(names)-1]), value)
	}
	var b bytes.Buffer
	encoder := yaml.NewEncoder(&b)
	encoder.SetIndent(2)
	if err := encoder.Encode(root); err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return b.String(), nil
}

// scalar is a text without a type: quoted only where YAML needs it.
func scalar(text string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.ScalarNode, Value: text}
	if text == "" {
		n.Style = yaml.DoubleQuotedStyle // else it would be null
	}
	return n
}
