package main

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/wrap"
	"snowfence.example/snowfence/daemon"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/roster"
)

func (p program) exec() *cobra.Command {
	var url, token string
	window, ahead := 5*time.Minute, time.Duration(0)
	cmd := &cobra.Command{
		Use:   "exec -- PROGRAM [ARGUMENT...]",
		Short: "Run a program with a worker id of its own",
		Long: `Exec claims a worker id, of a store or by --daemon, runs a program with it, and
extends the claim meanwhile. The program gets SNOWFENCE_WORKER_ID,
SNOWFENCE_DATACENTER_ID, SNOWFENCE_LAYOUT and SNOWFENCE_EPOCH_MS; {worker} and
{datacenter} in its arguments are replaced. If the claim can't be extended, it
gets SIGTERM with a third of the window left, and SIGKILL 10 s before its end (a
sixth of a window below 1m); exit code 0 is 5 then. Under systemd, Type=notify,
KillMode=mixed, WatchdogSignal=SIGKILL and WatchdogSec= between a third and two
thirds of the window end a program whose exec is stopped. Linux only; see
docs/guarantees.md.`,
		Example: `  snowfence exec --store etcd://db1:2379 -- ./server --machine-id={worker}
  snowfence exec --daemon http://ids:7600 --token-file token -- node app.js`,
		Args: oneOrMore("a program to run, after --"),
	}
	cmd.Flags().Var(textFlag(&url, "URL"), "daemon", "borrow the worker id of this daemon, such as http://127.0.0.1:7600; it knows the store and the window")
	cmd.Flags().Var(textFlag(&token, "FILE"), "token-file", "file of the token that the daemon is shown")
	cmd.Flags().Var(durationFlag(&window, "5m"), "window", "how long the program goes on without the store; the last third is for its end")
	cmd.Flags().Var(durationFlag(&ahead, ""), "ahead", "how far ahead of the clock the program's ids may be, for generators that run ahead")
	s := settingFlags(cmd, "store", "namespace", "layout", "data")
	generatorFlag(cmd, &s.generator,
		"generator of the configuration, or of the daemon, whose ids the program makes (default: the one named default, or the only one)")
	cmd.Flags().SetInterspersed(false)
	cmd.ValidArgsFunction = cobra.NoFileCompletions
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name := filepath.Base(args[0])
		c := wrap.Config{
			Borrower: kind.LeaseForm{
				Host: p.process().Host, PID: strconv.Itoa(os.Getpid()), Program: strings.ToValidUTF8(name[:min(len(name), 50)], ""),
			},
			Clock: p.clock, Random: rand.Reader, Ahead: ahead, Arguments: args, Environ: p.environ,
			Terminal: p.terminal, Own: p.release, Note: p.note,
		}
		run := func(l wrap.Lender) error {
			c.Lender = l
			code, err := wrap.Run(cmd.Context(), c)
			if err == nil && code != 0 {
				err = reported(code)
			}
			return err
		}
		if url == "" {
			return p.lending(s, window, run)
		}
		d, err := daemonOf(cmd, url, token)
		if err != nil {
			return err
		}
		d.Generator = cmp.Or(s.generator, config.DefaultGenerator)
		return run(d)
	}
	return cmd
}

// daemonOf returns the daemon of a URL, with the token of a file; empty for none.
func daemonOf(cmd *cobra.Command, url, file string) (wrap.Daemon, error) {
	for _, flag := range []string{"store", "namespace", "layout", "data", "config", "window"} {
		if cmd.Flags().Changed(flag) {
			return wrap.Daemon{}, usage(cmd, fmt.Errorf("--daemon and --%s exclude each other: the daemon knows it", flag))
		}
	}
	at, err := daemon.ProbeURL(url)
	if err != nil {
		return wrap.Daemon{}, usage(cmd, err)
	}
	d := wrap.Daemon{URL: at}
	if file != "" {
		content, err := os.ReadFile(file)
		if err != nil {
			return d, fmt.Errorf("read the token: %w", err)
		}
		d.Token = strings.TrimSpace(string(content))
	}
	return d, nil
}

// lending opens the store and the namespace of a generator, which must exist, and lends its worker ids until run returns.
func (p program) lending(s *settings, window time.Duration, run func(wrap.Lender) error) error {
	c, name, g, err := s.loadGenerator(p)
	if err != nil {
		return err
	}
	at := p.siteAt(c, g.Namespace, c.StoresOf(g)[0])
	switch {
	case !g.Fenced():
		return usage(s.cmd, fmt.Errorf("generator %s is of kind %s, without worker ids", name, g.Kind))
	case engine.Private(at.store):
		return usage(s.cmd, fmt.Errorf("the store %s is of this process alone: its worker ids are not unique", at.store))
	}
	g.Window = window
	missing := fmt.Errorf("there is no namespace %q in %s, and exec makes none: 'snowfence next' with the same flags makes it",
		g.Namespace, c.ShowStore(at.store))
	err = at.run(s.cmd, func(r *roster.Roster, err error) error {
		if err != nil {
			return err
		}
		l, err := builtin.Lend(s.cmd.Context(), g, r.Store(), p.clock, r.Record(), r.Layout())
		if err != nil {
			return unavailable(err)
		}
		return run(l)
	})
	if absent(err) {
		return missing
	}
	return err
}
