package main

import (
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
)

func (p program) namespaceSchema() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "schema",
		Short: "Print what a store needs made by hand",
		Long: `Schema prints what has to be there before ids can be minted, for those whose
program may not create it: the statement that creates the table, for PostgreSQL
and MySQL; the stream's configuration, for NATS (nats stream add --config FILE).
With more rights the program makes it when it first needs it. The other engines
need nothing: then it says so, and prints nothing. It connects to no store.`,
		Example: `  snowfence namespace schema --store postgres://ids@db/ids | psql ...
  snowfence namespace schema --store 'nats://host/ids?replicas=3' > stream.json`,
	}
	s := siteFlags(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		schema, err := engine.Schema(c.Store)
		if err != nil {
			return err
		}
		if schema == "" {
			p.warn("nothing has to be made by hand in " + engine.Redact(c.Store))
			return nil
		}
		return p.print(strings.TrimRight(schema, "\n") + "\n")
	}
	return cmd
}
