package main

import (
	"context"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/systemd"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
)

func (p program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Hand out ids over HTTP",
		Long: `Serve runs the daemon. It needs no configuration: ids come from one generator
named "default", fenced by a store in the state directory, at 127.0.0.1:7600.
Daemons that share one space of ids name one folder with --data, or one store
with --store.

On SIGHUP the daemon reads the log's level, and the files of tokens and TLS,
again. On an interrupt or SIGTERM it serves on for limits.linger, not ready, if
that is set. Then it finishes the requests under way and gives the worker ids
back. A second one ends the process at once, which is as safe, but the worker
ids rest until their windows end.

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
		served, level := p.daemon(c)
		reload := make(chan func(), 1)
		served.Reload = reload
		served.File = s.file
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		m, err := systemd.Follow(cmd.Context(), &served)
		if err != nil {
			return err
		}
		onHangup(ctx, func() {
			done := m.Reloads()
			again, err := s.load(p)
			if err != nil {
				done()
				served.Logger.Error("the configuration can't be read again: everything stays as it was", "error", err)
				return
			}
			level.Set(again.Log.Level)
			served.Logger.Info("asked by SIGHUP: the log's level is set, and the files of tokens and TLS are read again", "level", again.Log.Level)
			if keys := slices.DeleteFunc(again.Changed(c), func(key string) bool { return key == "log.level" }); len(keys) > 0 {
				served.Logger.Warn("other settings changed, which takes a restart", "keys", keys)
			}
			select {
			case reload <- done:
			default: // a reload is pending already
				done()
			}
		})
		if !slices.ContainsFunc(p.environ, func(v string) bool { return strings.HasPrefix(v, "GOMEMLIMIT=") }) {
			// The collector works harder near this limit. The rest is for memory that the collector does not count.
			debug.SetMemoryLimit(int64(served.Settings.Limits.Memory) / 4 * 3)
		}
		err = daemon.Run(cmd.Context(), served)
		if cmd.Context().Err() != nil {
			return err // of an end that was asked for
		}
		return unavailable(err)
	}
	return cmd
}

// heapReserve is how many bytes a daemon allocates and never touches. They take address space but no memory. The garbage
// collector runs when the heap has doubled, and a daemon's heap has only some megabytes. With the reserve the collector
// runs a fourth as often under load, and the heap grows by at most twice the reserve.
const heapReserve = 8 << 20

// daemon is the configuration of a daemon that says where it listens and when
// it is ready: in words, unless the log is for programs.
func (p program) daemon(c config.Config) (daemon.Config, *slog.LevelVar) {
	level := new(slog.LevelVar)
	level.Set(c.Log.Level)
	d := daemon.Config{
		Settings:  c,
		Clock:     p.clock,
		Logger:    p.logger(c.Log.Format, level),
		Version:   thisBuild().Version,
		Listening: func(_, url string) { p.note("listening on %s", url) },
		Page:      func(url string) { p.note("page: %s", url) },
		Serving:   func() { p.note("ready") },
	}
	if c.Log.Format == jsonLog {
		d.Listening = func(front, url string) { d.Logger.Info("listening", "front", front, "url", url) }
		d.Page = func(url string) { d.Logger.Info("page", "url", url) }
		d.Serving = nil // the daemon logs that itself
	}
	return d, level
}

// onHangup calls f at each SIGHUP until the context ends. Windows has no such signal.
func onHangup(ctx context.Context, f func()) {
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	go func() {
		defer signal.Stop(hangups)
		for {
			select {
			case <-hangups:
				f()
			case <-ctx.Done():
				return
			}
		}
	}()
}

// jsonLog is the format of a log for programs.
const jsonLog = "json"

// logger writes to standard error in the form that is configured.
func (p program) logger(format string, level slog.Leveler) *slog.Logger {
	options := &slog.HandlerOptions{Level: level}
	if format == jsonLog {
		options.ReplaceAttr = durationText
		return slog.New(slog.NewJSONHandler(page.JSONWriter{Writer: p.stderr}, options))
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
