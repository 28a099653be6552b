package main

import (
	"log/slog"
	"runtime"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/daemon"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
)

func (p program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Hand out ids over HTTP",
		Long: `Serve runs the daemon. It needs no configuration: ids come from one generator
named "default", fenced by a store in the state directory, at 127.0.0.1:7600.
Each user and each systemd unit has a state directory of its own. Daemons that
share one space of ids name one folder with --data, or one store with --store.

An interrupt or SIGTERM lets requests under way end and gives the worker ids
back; a second one ends the process at once, which is as safe, but lets the
worker ids rest until their windows end.

Every setting can also stand in a configuration file or in a variable:
'snowfence config print' lists them all, with where each came from.`,
		Example: `  snowfence serve
  curl -X POST 'http://127.0.0.1:7600/v1/generators/default/ids?count=3'
  snowfence serve --http 127.0.0.1:8080 --data /var/lib/snowfence
  snowfence serve --config /etc/snowfence.yaml --log-format json`,
	}
	s := settingFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		c, err := s.load(p)
		if err != nil {
			return err
		}
		reserve := make([]byte, heapReserve)
		defer runtime.KeepAlive(reserve)
		err = daemon.Run(cmd.Context(), p.daemon(c))
		if cmd.Context().Err() != nil {
			return err // of an end that was asked for
		}
		return unavailable(err)
	}
	return cmd
}

// heapReserve is what a daemon allocates and never touches, so it takes address space but no memory.
// The garbage collector runs when the heap has doubled, and a daemon's has but some megabytes. With
// the reserve it runs a fourth as often under load, and the heap grows by no more than twice the reserve.
const heapReserve = 8 << 20

// daemon is the configuration of a daemon that says where it listens and when
// it is ready: in words, unless the log is for programs.
func (p program) daemon(c config.Config) daemon.Config {
	d := daemon.Config{
		Settings:  c,
		Clock:     p.clock,
		Logger:    p.logger(c.Log),
		Version:   thisBuild().Version,
		Listening: func(_, url string) { p.note("listening on %s", url) },
		Serving:   func() { p.note("ready") },
	}
	if c.Log.Format == jsonLog {
		d.Listening = func(front, url string) { d.Logger.Info("listening", "front", front, "url", url) }
		d.Serving = nil // the daemon logs that itself
	}
	return d
}

// jsonLog is the format of a log for programs.
const jsonLog = "json"

// logger writes to standard error in the form that is configured.
func (p program) logger(c config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level}
	if c.Format == jsonLog {
		options.ReplaceAttr = durationText
		return slog.New(slog.NewJSONHandler(p.stderr, options))
	}
	return slog.New(slog.NewTextHandler(p.stderr, options))
}

// durationText writes durations as text does, "10s", not as JSON's bare nanoseconds.
func durationText(_ []string, a slog.Attr) slog.Attr {
	if a.Value.Kind() == slog.KindDuration {
		a.Value = slog.StringValue(a.Value.Duration().String())
	}
	return a
}
