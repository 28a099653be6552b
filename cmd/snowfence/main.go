package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"
	_ "time/tzdata" // an image with nothing but the program has no time zones

	"github.com/spf13/cobra"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/clock"
)

// program holds the environment, the streams and the clock of the verbs. Nothing else in this package
// reads the environment, the clock or the terminal, or ends the process.
type program struct {
	environ  []string // as os.Environ
	stdin    io.Reader
	stdout   io.Writer
	stderr   io.Writer
	closed   bool // whether stdout was closed at the start
	terminal bool // whether stdin is a terminal
	draws    bool // whether stderr is a terminal, so a line can be drawn over the last one
	clock    snowfence.Clock
	zone     *time.Location // for local times
	slow     time.Duration  // how long a verb waits without a note
	release  func()         // stops handling interrupts, for a verb that handles them itself; nil if nothing handles them
}

func main() {
	clk, err := clock.Process(os.Getenv)
	p := program{
		environ:  os.Environ(),
		stdin:    os.Stdin,
		stdout:   os.Stdout,
		stderr:   os.Stderr,
		closed:   isClosed(os.Stdout),
		terminal: isTerminal(os.Stdin),
		draws:    os.Getenv("TERM") != "dumb" && isTerminal(os.Stderr),
		clock:    clk,
		zone:     time.Local,
		slow:     2 * time.Second,
	}
	if err != nil {
		os.Exit(p.finish(err))
	}
	os.Exit(p.main(os.Args[1:]))
}

// main runs one command line and returns its exit code.
func (p program) main(args []string) int {
	// A reader that goes away (| head) is an error of the write, not the end
	// of the process, which still has to release its worker id.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := p.interruptible()
	defer stop()
	p.release = stop
	root := p.commands()
	root.SetArgs(args)
	return p.finish(root.ExecuteContext(ctx))
}

// interruptible returns a context that the first interrupt ends, with an interruptError
// as its cause, so that a verb can leave in good order. The second ends the process,
// also where interrupts were ignored at its start, as in the background of a script.
func (p program) interruptible() (ctx context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go func() {
		if first, ok := <-signals; ok {
			cancel(interruptError{first.(syscall.Signal)})
		}
		if second, ok := <-signals; ok {
			p.note("a second signal: the program ends at once, without giving its worker ids back")
			os.Exit(interruptError{second.(syscall.Signal)}.code())
		}
	}()
	return ctx, sync.OnceFunc(func() {
		signal.Stop(signals) // nothing sends from here on
		close(signals)
		cancel(nil)
	})
}

// commands is the tree of verbs.
func (p program) commands() *cobra.Command {
	root := &cobra.Command{
		Use:   "snowfence",
		Short: "Unique 64-bit ids that no clock can make repeat",
		Long: `Snowfence hands out unique 64-bit ids. The time is part of an id, and a store
gives each process its own range of it. So no two ids are equal, whatever the
clocks do.

Exit codes: 0 ok, 1 failure, 2 usage, 3 unavailable, 4 invalid id, 5 clock or
lease unsafe, 6 written to a lossy store and not certain yet.`,
		Example: `  snowfence next                              one id, no daemon needed
  snowfence doctor                            what will go wrong with serve
  snowfence serve                             ids over HTTP
  snowfence exec -- java -jar app.jar         a program with its own worker id
  snowfence decode 1541815603606036480        what an id holds
  snowfence plan --years 69 --workers 1024    which bits to give to what
  snowfence workers list                      who holds which worker id
  snowfence check orders.txt                  does any id occur twice, and why`,
		Version: thisBuild().String(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			cmd.SetOut(p.stderr) // it was not asked for
			if err := cmd.Help(); err != nil {
				return err
			}
			return reported(exitUsage)
		},
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	root.SetIn(p.stdin)
	root.SetOut(p.stdout)
	root.SetErr(p.stderr)
	root.Flags().Bool("version", false, "show the version, as the verb does")
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	root.AddCommand(
		p.serve(), p.ready(), p.doctor(), p.token(),
		p.next(), p.exec(), p.series(),
		p.decode(), p.plan(), p.bounds(), p.sql(),
		p.check(), p.mergeCheck(),
		p.workers(), p.namespace(), p.counters(),
		p.config(), p.version(),
	)
	root.InitDefaultHelpCmd()
	help, _, _ := root.Find([]string{"help"})
	help.Args = func(_ *cobra.Command, args []string) error { // cobra's own takes any verb
		verb, rest, _ := root.Find(args)
		return noArguments(verb, rest)
	}
	strict(root)
	return root
}

// isTerminal reports whether a file is a character device, and not the null device.
func isTerminal(f *os.File) bool {
	here, err := f.Stat()
	return err == nil && here.Mode()&os.ModeCharDevice != 0 && !isNull(here)
}

// isNull reports whether a file is the null device.
func isNull(file os.FileInfo) bool {
	null, err := os.Stat(os.DevNull)
	return err == nil && os.SameFile(file, null)
}

// isClosed reports whether a file to write to was closed at the start of the process. Go's runtime then has the null device
// in its place, opened for reading, too. A shell's > /dev/null opens it for writing alone.
func isClosed(f *os.File) bool {
	here, err := f.Stat()
	if err != nil || !isNull(here) {
		return err != nil
	}
	_, err = f.Read(make([]byte, 1))
	return errors.Is(err, io.EOF)
}
