package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

// choiceFlag adds a flag of a few words, listed in its help. The variable holds its default.
func choiceFlag[T ~string](cmd *cobra.Command, value *T, name, short, help string, words ...T) {
	texts := text.Strings(words)
	list := strings.Join(texts, ", ")
	cmd.Flags().VarP(&parsed[T]{value: value, text: string(*value), word: "WORD", parse: func(s string) (T, error) {
		if !slices.Contains(texts, s) {
			return "", errors.New("must be one of " + list)
		}
		return T(s), nil
	}}, name, short, fmt.Sprintf(help, list))
	completeFlag(cmd, name, texts...)
}

// encodingFlag adds --encoding to a verb.
func encodingFlag(cmd *cobra.Command, value *decode.Encoding, help string) {
	choiceFlag(cmd, value, "encoding", "", help, decode.EncodingNames()...)
}

// generatorFlag adds --generator to a verb.
func generatorFlag(cmd *cobra.Command, value *string, help string) {
	cmd.Flags().VarP(textFlag(value, "NAME"), "generator", "g", help)
}

// parsed is a flag that a function reads.
type parsed[T any] struct {
	value *T
	text  string
	word  string // the help's name for a value
	parse func(string) (T, error)
	times int // that it was given
}

func (f *parsed[T]) String() string { return f.text }
func (f *parsed[T]) Type() string   { return f.word }

func (f *parsed[T]) Set(s string) error {
	v, err := f.parse(s)
	if err != nil {
		return errors.New(text.Message(err))
	}
	*f.value, f.text = v, s
	f.times++
	return nil
}

// textFlag is a flag whose value is any text.
func textFlag(value *string, word string) *parsed[string] {
	return &parsed[string]{value: value, word: word, parse: func(s string) (string, error) { return s, nil }}
}

// numberFlag is a flag with a whole number from least to most.
func numberFlag(value *int, fallback string, least, most int) *parsed[int] {
	return &parsed[int]{value: value, text: fallback, word: "N", parse: func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		if err != nil || n < least || n > most {
			return 0, fmt.Errorf("must be a number from %d to %d", least, most)
		}
		return n, nil
	}}
}

// durationFlag is a flag with a duration above 0.
func durationFlag(value *time.Duration, fallback string) *parsed[time.Duration] {
	return &parsed[time.Duration]{value: value, text: fallback, word: "DURATION", parse: func(s string) (time.Duration, error) {
		d, err := time.ParseDuration(s)
		if err != nil || d <= 0 {
			return 0, errors.New("must be a duration above 0 such as 30s or 10m")
		}
		return d, nil
	}}
}

// oneOrMore refuses a verb without arguments, and names the missing ones.
func oneOrMore(needs string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return usage(cmd, errors.New("needs "+needs))
		}
		return nil
	}
}

// exactly refuses another number of arguments than the verb's usage names.
func exactly(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) != n {
			return usage(cmd, fmt.Errorf("needs %s, but got %d", text.Count(int64(n), "argument"), len(args)))
		}
		return nil
	}
}

// oneOf refuses arguments that are not one word of a few.
func oneOf(what string, words []string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		needs := fmt.Errorf("needs one %s of %s", what, strings.Join(words, ", "))
		switch {
		case len(args) != 1:
			return usage(cmd, needs)
		case !slices.Contains(words, args[0]):
			return usage(cmd, fmt.Errorf("%s %q is not known: %w", what, args[0], needs))
		}
		return nil
	}
}

// group returns a verb that only holds others.
func group(cmd *cobra.Command, verbs ...*cobra.Command) *cobra.Command {
	var names []string
	for _, v := range verbs {
		names = append(names, v.Name())
	}
	cmd.AddCommand(verbs...)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return usage(cmd, errors.New("needs a verb: "+text.Or(names)))
	}
	return cmd
}

// strict makes a verb, and the verbs below it, refuse arguments unless the verb checks its own.
func strict(cmd *cobra.Command) {
	if cmd.Args == nil {
		cmd.Args = noArguments
	}
	for _, verb := range cmd.Commands() {
		strict(verb)
	}
}

// noArguments refuses every argument.
func noArguments(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case cmd.HasAvailableSubCommands():
		cmd.SuggestionsMinimumDistance = 2 // letters amiss
		err := fmt.Errorf("unknown command %q", engine.Redact(args[0]))
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("%w; did you mean %s?", err, strings.Join(near, " or "))
		}
		return usage(cmd, err)
	default:
		return usage(cmd, fmt.Errorf("takes no argument, but got %q", engine.Redact(args[0])))
	}
}

// settings are the flags of keys of the configuration.
type settings struct {
	cmd  *cobra.Command
	file string
	keys map[string]string // key by flag

	generator string // that --generator names; empty for none
}

// settingFlags adds --config and the flags of some keys, with the texts of the configuration's table. Without keys it adds
// every flag that a key has.
func settingFlags(cmd *cobra.Command, only ...string) *settings {
	s := &settings{cmd: cmd, keys: map[string]string{}}
	file := &parsed[string]{value: &s.file, word: "FILE", parse: config.NotEmpty}
	cmd.Flags().Var(file, "config", "configuration file, YAML (default $SNOWFENCE_CONFIG)")
	words := map[string]string{"store": "URL", "namespace": "NAME", "layout": "SPEC", "data": "DIR", "http": "ADDR"}
	switches := []string{"insecure", config.KeyMustExist}
	for _, key := range config.Keys() {
		if key.Flag == "" || len(only) > 0 && !slices.Contains(only, key.Path) {
			continue
		}
		s.keys[key.Flag] = key.Path
		if slices.Contains(switches, key.Flag) {
			cmd.Flags().Bool(key.Flag, false, key.About)
		} else {
			cmd.Flags().Var(textFlag(new(string), cmp.Or(words[key.Flag], "WORD")), key.Flag, key.About)
		}
		choices := key.Words
		if key.Path == "layout" {
			choices = presetNames()
		}
		if len(choices) > 0 {
			completeFlag(cmd, key.Flag, choices...)
		}
	}
	return s
}

// load reads the configuration, and prints its warnings, even if the configuration has faults. It ignores the
// omitted flags. It refuses a flag that is given twice if its two values would be two spaces of ids.
func (s *settings) load(p program, omitted ...string) (config.Config, error) {
	given := map[string]string{}
	spaces, twice := []string{"config", "store", "namespace", "data"}, []error(nil)
	s.cmd.Flags().Visit(func(f *pflag.Flag) {
		if text, ok := f.Value.(*parsed[string]); ok && text.times > 1 && slices.Contains(spaces, f.Name) {
			from := config.Origin{Source: config.FromFlag, Name: f.Name}
			twice = append(twice, &config.Error{Origin: from, Key: s.keys[f.Name], Reason: "is given twice: give it once"})
		}
		if path, ok := s.keys[f.Name]; ok && !slices.Contains(omitted, f.Name) {
			given[path] = f.Value.String()
		}
	})
	c, err := daemon.Load(daemon.Sources{File: s.file, Environ: p.environ, Flags: given})
	p.warn(c.Warnings()...)
	return c, config.Join(append(twice, err)...)
}

// loadGenerator reads the configuration and finds the generator of --generator in it.
func (s *settings) loadGenerator(p program) (c config.Config, name string, g config.Generator, err error) {
	if c, err = s.load(p); err == nil {
		name, g, err = s.choose(c)
	}
	return c, name, g, err
}

// choose finds the generator of --generator; without the flag, the default one or the only one.
func (s *settings) choose(c config.Config) (string, config.Generator, error) {
	name, names := s.generator, c.Names()
	if name == "" {
		name = config.DefaultGenerator
		if len(names) == 1 {
			name = names[0]
		}
	}
	g, ok := c.Generators[name]
	if !ok {
		return name, g, usage(s.cmd, fmt.Errorf("generator %q is not configured; there are %s", name, strings.Join(names, ", ")))
	}
	return name, g, nil
}

// completeFlag lets shells complete a flag with words.
func completeFlag(cmd *cobra.Command, flag string, words ...string) {
	// The only error is that there is no such flag, or that it is completed
	// already: both are mistakes that the tests of completion would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// presetNames are the names of all presets.
func presetNames() []string {
	var names []string
	for _, preset := range append(snowfence.Presets(), snowfence.WidePresets()...) {
		names = append(names, preset.Name)
	}
	return names
}
