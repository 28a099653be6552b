package main

import (
	"crypto/rand"
	"errors"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon/token"
)

func (p program) token() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for clients of the daemon",
		Long: `Token makes a random token and the line that grants it. The line goes into the
file that the setting token-file names; the token goes to the client, and is
stored nowhere else: the line has its hash alone.

The daemon reads the file again when it changes. A token whose line is taken out
is refused from then on, on open connections, too.`,
		Example: `  snowfence token billing --generators orders,invoices
  snowfence token prometheus --generators -
  snowfence token import --rate 5000 -o json`,
		Args: exactly(1),
	}
	f := outputFlag(cmd)
	generators := cmd.Flags().StringSlice("generators", nil, "the generators that it allows, by name; all if left out, and - for metrics alone")
	rate := cmd.Flags().Int("rate", 0, "most ids a second for all clients that show it; 0 for any number")
	lend := cmd.Flags().Int("lend", 0, "most worker ids that programs with it may borrow of a generator; 0 for none")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if cmd.Flags().Changed("generators") && len(*generators) == 0 {
			return usage(cmd, errors.New("--generators is empty: name generators, or leave it out to allow all of them"))
		}
		if err := p.needsOutput("token and line"); err != nil {
			return err
		}
		text, grant, err := token.New(rand.Reader, args[0], *generators, *rate, *lend)
		if err != nil {
			return usage(cmd, err)
		}
		return p.answer(*f, page.Object{"token", text, "line", grant.String()}, "token for the client: "+text+"\nline for token-file:  "+grant.String()+"\n")
	}
	return cmd
}
