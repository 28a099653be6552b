package main

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/doctor"
	"snowfence.example/snowfence/cmd/snowfence/internal/page"
	"snowfence.example/snowfence/cmd/snowfence/internal/systemd"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/token"
)

func (p program) serve() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Hand out ids over HTTP",
		Long: `Serve runs the daemon. It needs no configuration: ids come from a generator
named "default", by a store in the state directory, at 127.0.0.1:7600. Daemons
of one space of ids name one folder with --data, or one --store. SIGHUP reads
the log's level, tokens and TLS again; SIGTERM ends it in order.`,
		Example: `  snowfence serve
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
		reload := make(chan struct{}, 1)
		served.Reload = reload
		served.File = s.file
		ctx, stop := context.WithCancel(cmd.Context())
		defer stop()
		if err := systemd.Follow(cmd.Context(), &served); err != nil {
			return err
		}
		onHangup(ctx, func() {
			again, err := s.load(p)
			if err != nil {
				served.Logger.Error("the configuration can't be read again: everything stays as it was", "error", err)
				return
			}
			level.Set(again.Log.Level)
			served.Logger.Info("asked by SIGHUP: the log's level is set, and the files of tokens and TLS are read again", "level", again.Log.Level)
			if keys := slices.DeleteFunc(again.Changed(c), func(key string) bool { return key == "log.level" }); len(keys) > 0 {
				served.Logger.Warn("other settings changed, which takes a restart", "keys", keys)
			}
			select {
			case reload <- struct{}{}:
			default: // a reload is pending already
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

// daemon is the configuration of a daemon that reports where it listens and when
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
		options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			if a.Value.Kind() == slog.KindDuration { // as in text, "10s", and no bare nanoseconds
				a.Value = slog.StringValue(a.Value.Duration().String())
			}
			return a
		}
		return slog.New(slog.NewJSONHandler(page.JSONWriter{Writer: p.stderr}, options))
	}
	return slog.New(slog.NewTextHandler(p.stderr, options))
}

// readyTime is how long a daemon may take to answer a probe.
const readyTime = 5 * time.Second

func (p program) ready() *cobra.Command {
	var generator string
	var active bool
	cmd := &cobra.Command{
		Use:   "ready [URL]",
		Short: "Ask a daemon whether it is ready",
		Long: `Ready asks a daemon's /readyz, or /activez with --active: one that stands by is
ready, and not active. The exit code is 3 if it is not, or if no daemon answers
within 5 s. URL is by default that of health, http or admin in the
configuration. The verb sends no token, and takes any certificate.`,
		Example: `  snowfence ready --config /etc/snowfence.yaml
  snowfence ready http://127.0.0.1:7600 -g orders`,
		Args: func(cmd *cobra.Command, args []string) error { return noArguments(cmd, args[min(1, len(args)):]) },
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
		Long: `Doctor reads the settings as serve does, looks at ports, disk, clock, store,
namespaces and counters, and names each trouble with a remedy. It makes nothing,
writes to no store, and may run beside a daemon. The exit code is 1 if something
is wrong, or to watch with --strict. See docs/doctor.md.`,
		Example: `  snowfence doctor --config /etc/snowfence.yaml --strict
  snowfence doctor -o json | jq '.findings[] | select(.severity == "wrong")'`,
	}
	out, s := p.report(cmd), settingFlags(cmd)
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
		return out.verdict(page.Object{"healthy", healthy, "findings", r.Findings}, r.Text(*strict), exitUnless(healthy))
	}
	return cmd
}

func (p program) token() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "token NAME",
		Short: "Make a token for clients of the daemon",
		Long: `Token makes a random token and the line that grants it. The line, which has its
hash alone, goes into the file that the setting token-file names; the token goes
to the client. A running daemon reads the file again when it changes.`,
		Example: `  snowfence token billing --generators orders,invoices
  snowfence token prometheus --generators -`,
		Args: exactly(1),
	}
	out := p.report(cmd)
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
		return out.answer(page.Object{"token", text, "line", grant.String()}, shown)
	}
	return cmd
}
