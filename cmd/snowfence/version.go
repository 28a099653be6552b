package main

import (
	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/build"
)

func (p program) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the revision and the Go version",
		Example: `  snowfence version
  snowfence version -o json`,
	}
	f := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := build.This()
		return p.answer(*f, b, b.String()+"\n")
	}
	return cmd
}
