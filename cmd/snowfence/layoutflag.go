package main

import (
	"slices"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
)

// layoutFlag is --layout of the verbs that need no configuration.
type layoutFlag struct {
	parsed[snowfence.Layout]
	layout snowfence.Layout
}

// add adds the flag, read by [snowfence.ParseLayout].
func (f *layoutFlag) add(cmd *cobra.Command, help string) {
	f.parsed = parsed[snowfence.Layout]{value: &f.layout, word: "SPEC", parse: snowfence.ParseLayout}
	cmd.Flags().Var(&f.parsed, "layout", help)
	completeFlag(cmd, "layout", presetNames()...)
}

// preset is the flag's text when that is the name of a preset: several presets
// may have one layout.
func (f *layoutFlag) preset() string {
	if slices.Contains(presetNames(), f.text) {
		return f.text
	}
	return ""
}
