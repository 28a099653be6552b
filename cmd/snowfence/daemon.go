package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/doctor"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/token"
)

// readyTime is how long a daemon may take to answer a probe.
const readyTime = 5 * time.Second

func (p program) ready() *cobra.Command {
	var generator string
	var active bool
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a daemon whether it is ready",
		Long: `Ready asks a daemon's /readyz. The exit code is 0 if every generator gives ids,
or stands by and nothing is wrong, and 3 if not, or if no daemon answers within
5 s. With --active it asks /activez: one that stands by counts as not active.
With --generator it asks for one generator alone. It is for probes that run a
program, such as those of containers.

URL is the daemon's address, such as http://127.0.0.1:7600. Without it, the
address is that of health, http or admin in the configuration, the first that
is set. The verb sends no token, and takes any certificate.`,
		Example: `  snowfence ready
  snowfence ready --config /etc/snowfence.yaml
  snowfence ready http://127.0.0.1:7600 -g orders
  snowfence ready --active`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArguments(cmd, args[1:])
			}
			return nil
		},
	}
	generatorFlag(cmd, &generator, "ask for this generator alone (default: for all)")
	cmd.Flags().BoolVar(&active, "active", false, "ask whether ids are given here, which a daemon that stands by does not")
	s := settingFlags(cmd, "config", "http")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		var at string
		var err error
		if len(args) == 1 {
			at, err = daemon.ProbeURL(args[0])
		} else if c, loading := s.load(p); loading != nil {
			err = loading
		} else {
			at, err = daemon.OwnProbeURL(c)
		}
		if err != nil {
			return usage(cmd, err)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), readyTime)
		defer cancel()
		what := "ready"
		if active {
			what = "active"
		}
		if err := daemon.Probe(ctx, at, what, generator); err != nil {
			return unavailable(err)
		}
		return p.print(what + "\n")
	}
	return cmd
}

func (p program) doctor() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Say before the first start what will go wrong",
		Long: `Doctor reads the settings as serve does, and looks at all that a daemon of them
needs: ports, disk, clock, store, namespaces, counters and limits. It names each
trouble with a remedy. It makes nothing, and writes to no store, so a store's
right to write is not tried. It may run beside a daemon.

"wrong" keeps the daemon from starting, from giving ids or from being trusted.
"watch" is for an operator to look at. "note" is good to know. The figures that
were seen come first. -o json prints {"healthy","findings":[{"severity","check",
"text","remedy"}]}, with the figures as "seen".

Exit codes: 0 healthy, 1 something is wrong, or to watch with --strict; 2 usage,
130 interrupted by SIGINT, 143 by SIGTERM.`,
		Example: `  snowfence doctor
  snowfence doctor --config /etc/snowfence.yaml --strict
  snowfence doctor -o json | jq '.findings[] | select(.severity == "wrong")'`,
	}
	f, s := outputFlag(cmd), settingFlags(cmd)
	strict := cmd.Flags().Bool("strict", false, "exit with 1 for a finding to watch, too")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		quiet := p
		quiet.stderr = io.Discard // its warnings are findings here
		c, err := s.load(quiet)
		r := doctor.Examine(cmd.Context(), doctor.Config{Settings: c, Loading: err, Clock: p.clock, Open: doctor.OpenReading})
		if cmd.Context().Err() != nil {
			return p.interrupted(cmd.Context(), "; the findings are not complete")
		}
		healthy := r.Healthy(*strict)
		if err := p.answer(*f, page.Object{"healthy", healthy, "findings", r.Findings}, r.Text(*strict)); err != nil || healthy {
			return err
		}
		return reported(exitFailure)
	}
	return cmd
}

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
	generators := cmd.Flags().StringSlice("generators", nil,
		"the generators that it allows, by name; all if left out, and - for metrics alone")
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
		shown := "token for the client: " + text + "\nline for token-file:  " + grant.String() + "\n"
		return p.answer(*f, page.Object{"token", text, "line", grant.String()}, shown)
	}
	return cmd
}
