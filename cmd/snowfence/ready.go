package main

import (
	"context"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/daemon"
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
