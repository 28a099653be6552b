package main

import (
	"context"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/daemon"
)

// readyTime is how long a daemon may take to answer a probe.
const readyTime = 5 * time.Second

func (p program) ready() *cobra.Command {
	var generator string
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a daemon whether it is ready",
		Long: `Ready asks a daemon's /readyz. The exit code is 0 if every generator is ready,
or the one of --generator, and 3 if not, or if no daemon answers within 5 s. It
is for probes that run a program, such as those of containers.

URL is the daemon's address, such as http://127.0.0.1:7600. Without it, the
address is that of health, http or admin in the configuration, the first that
is set. The verb sends no token, and takes any certificate.`,
		Example: `  snowfence ready
  snowfence ready --config /etc/snowfence.yaml
  snowfence ready http://127.0.0.1:7600 -g orders`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) > 1 {
				return noArguments(cmd, args[1:])
			}
			return nil
		},
	}
	generatorFlag(cmd, &generator, "ask for this generator alone (default: for all)")
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
		if generator != "" {
			at += "/" + url.PathEscape(generator)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), readyTime)
		defer cancel()
		if err := daemon.Probe(ctx, at); err != nil {
			return unavailable(err)
		}
		return p.print("ready\n")
	}
	return cmd
}
