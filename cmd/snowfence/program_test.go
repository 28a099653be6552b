package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/imports"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// inTest is a program of a test's own: its store is in a folder of the test, and its output is kept.
func inTest(t *testing.T) (p program, stdout, stderr *strings.Builder) {
	t.Helper()
	stdout, stderr = &strings.Builder{}, &strings.Builder{}
	return program{
		environ: []string{"XDG_STATE_HOME=" + t.TempDir()},
		stdin:   strings.NewReader(""),
		stdout:  stdout,
		stderr:  stderr,
		clock:   snowfence.SystemClock(),
		zone:    time.UTC,
		slow:    testkit.Hang,
	}, stdout, stderr
}

// run is one command line within this process.
func (p program) run(ctx context.Context, args ...string) int {
	root := p.commands()
	root.SetArgs(args)
	return p.finish(root.ExecuteContext(ctx))
}

// must is run with an exit code that is wanted. It returns the output.
func (p program) must(t testing.TB, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	out, said := &strings.Builder{}, &strings.Builder{}
	p.stdout, p.stderr = out, said
	if code := p.run(t.Context(), args...); code != want {
		t.Fatalf("%v: exit code %d, want %d: %s%s", args, code, want, out, said)
	}
	return out.String(), said.String()
}

func TestErrorsEndInTheirExitCode(t *testing.T) {
	wrap := func(err error) error { return fmt.Errorf("some verb: %w", err) }
	for _, x := range []struct {
		err  error
		want int
	}{
		{nil, exitOK},
		{errors.New("anything"), exitFailure},
		{io.ErrShortWrite, exitFailure},
		{context.Canceled, exitFailure},
		{unavailable(context.Canceled), exitFailure},
		{reported(exitInvalidID), exitInvalidID},
		{&classed{errors.New("unknown flag"), snowfence.ClassUsage, "snowfence next"}, exitUsage},
		{errors.Join(&config.Error{Key: "htpp"}, &config.Error{Key: "http"}), exitUsage},
		{snowfence.ErrInvalidLayout, exitUsage},
		{&fence.LayoutMismatchError{}, exitUsage},
		{snowfence.ErrInvalidID, exitInvalidID},
		{&classed{errors.New("permission denied"), snowfence.ClassUnavailable, ""}, exitUnavailable},
		{fence.ErrNoWorker, exitUnavailable},
		{&fence.HeldError{}, exitUnavailable},
		{&fence.ExhaustedError{}, exitUnavailable},
		{&fence.UnavailableError{Reason: errors.New("no answer")}, exitUnavailable},
		{&snowfence.WaitError{Reason: snowfence.ErrSaturated}, exitUnavailable},
		{&snowfence.WaitError{Reason: snowfence.ErrClockBehind}, exitUnsafe},
		{snowfence.ErrBeforeEpoch, exitUnsafe},
		{snowfence.ErrPastHorizon, exitUnsafe},
		{snowfence.ErrWindowEnded, exitUnsafe},
		{snowfence.ErrRevoked, exitUnsafe},
		{snowfence.ErrClockStepped, exitUnsafe},
		{&fence.ClockError{Offset: time.Hour}, exitUnsafe},
		{fence.ErrLost, exitUnsafe},
		{fence.ErrNamespaceReplaced, exitUnsafe},
		{imports.ErrRunning, exitUnsafe},
		{unavailable(store.ErrNoStore), exitFailure},
		{&classed{&merge.SideError{Side: "A", Reason: store.ErrNoStore}, snowfence.ClassUnavailable, ""}, exitUsage},
		{&classed{&merge.SideError{Side: "A", Reason: store.ErrDamaged}, snowfence.ClassUnavailable, ""}, exitUnavailable},
		// An unsafe state stays unsafe, in every report.
		{&classed{&fence.ClockError{}, snowfence.ClassUnavailable, ""}, exitUnsafe},
		{&fence.UnavailableError{Reason: &fence.ClockError{}}, exitUnsafe},
	} {
		if x.err != nil {
			x.err = wrap(x.err)
		}
		if got := exitCode(x.err); got != x.want {
			t.Errorf("%T %v: exit code %d, want %d", errors.Unwrap(x.err), x.err, got, x.want)
		}
	}
}

// walk visits every command that users see.
func walk(cmd *cobra.Command, visit func(*cobra.Command)) {
	visit(cmd)
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			walk(sub, visit)
		}
	}
}

func TestEveryVerbExplainsItself(t *testing.T) {
	p, _, _ := inTest(t)
	seen := map[string]bool{}
	walk(p.commands(), func(cmd *cobra.Command) {
		seen[cmd.CommandPath()] = true
		if cmd.Short == "" || cmd.Example == "" || cmd.Args == nil {
			t.Errorf("%s lacks a short text, examples or a rule for its arguments", cmd.CommandPath())
		}
		for line := range strings.Lines(cmd.Long + "\n" + cmd.Example) {
			if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > 80 {
				t.Errorf("%s: %d columns: %s", cmd.CommandPath(), n, line)
			}
		}
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Usage == "" || f.Value.Type() == "" {
				t.Errorf("%s --%s lacks a text or the word of its value", cmd.CommandPath(), f.Name)
			}
		})
	})
	for _, verb := range []string{"serve", "ready", "doctor", "next", "exec", "decode", "plan", "bounds", "sql", "workers list", "workers show", "workers release", "workers quarantine", "workers import", "namespace show", "namespace verify", "check", "merge-check", "config check", "config print", "version"} {
		if !seen["snowfence "+verb] {
			t.Errorf("there is no verb %s", verb)
		}
	}
}

func TestServeHasAFlagForEveryKeyThatNamesOne(t *testing.T) {
	p, _, _ := inTest(t)
	serve, _, err := p.commands().Find([]string{"serve"})
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range config.Keys() {
		if key.Flag == "" {
			continue
		}
		f := serve.Flags().Lookup(key.Flag)
		if f == nil {
			t.Errorf("--%s is missing", key.Flag)
		} else if isSwitch := f.Value.Type() == "bool"; isSwitch != slices.Contains([]string{"insecure", "store-must-exist"}, key.Flag) {
			t.Errorf("--%s: a switch: %v", key.Flag, isSwitch)
		}
	}
}

func TestFirstInterruptEndsTheContext(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		p, _, _ := inTest(t)
		ctx, stop := p.interruptible()
		if err := syscall.Kill(syscall.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		stop()
	}
}

func TestInterruptedNextPrintsNothingAndGivesItsWorkerIDBack(t *testing.T) {
	p, stdout, stderr := inTest(t)
	// The only worker id of this layout is claimed, or about to be, when the
	// interrupt comes: at the first wait.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	system := p.clock
	p.clock = waiting{system, cancel}
	args := []string{"next", "--layout", "ms41-seq1", "-n", "1000000"}
	if code := p.run(ctx, args...); code != exitFailure {
		t.Errorf("exit code %d, want %d", code, exitFailure)
	}
	if stdout.String() != "" || stderr.String() != "snowfence: interrupted\n" {
		t.Errorf("standard output %q, standard error %q", stdout, stderr)
	}
	p.clock = system
	if code := p.run(context.Background(), "next", "--layout", "ms41-seq1"); code != exitOK {
		t.Errorf("exit code %d: %s", code, stderr)
	}
}

// waiting is a clock that reports its waits.
type waiting struct {
	snowfence.Clock
	waits func()
}

func (w waiting) After(d time.Duration) (<-chan time.Time, func() bool) {
	w.waits()
	return w.Clock.After(d)
}

func TestNextMintsMoreThanOneCallMay(t *testing.T) {
	leaf := written(t, "generators: {default: {preset: leaf}}")
	for _, x := range []struct {
		n    int
		args []string
	}{
		{30_000, []string{"--layout", "sonyflake-v2"}}, // 25,600 ids a second, and calls wait for one
		{100_000, []string{"--config", leaf}},          // 4,096,000 ids a second, and calls wait for 10 ms
	} {
		p, stdout, stderr := inTest(t)
		if code := p.run(context.Background(), append([]string{"next", "-n", fmt.Sprint(x.n)}, x.args...)...); code != exitOK {
			t.Errorf("%v: exit code %d: %s", x.args, code, stderr)
			continue
		}
		last, count := snowfence.ID(-1), 0
		for line := range strings.Lines(stdout.String()) {
			id, err := snowfence.Parse(strings.TrimSuffix(line, "\n"))
			if err != nil || id <= last {
				t.Fatalf("%v: id %s after %s: %v", x.args, id, last, err)
			}
			last, count = id, count+1
		}
		if count != x.n {
			t.Errorf("%v: %d ids, want %d", x.args, count, x.n)
		}
	}
}

// broken is a standard output that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestOutputThatFailsIsAFailure(t *testing.T) {
	for _, x := range []struct {
		err  error
		says string
	}{
		{syscall.EPIPE, ""}, // the reader had enough
		{syscall.ENOSPC, "snowfence: no space left on device\n"},
	} {
		p, _, stderr := inTest(t)
		p.must(t, exitOK, "next") // it makes a namespace, and reports it
		p.stdout = broken{x.err}
		for _, args := range [][]string{
			{"version"}, {"version", "-o", "json"}, {"decode", "7"}, {"decode", "7", "-o", "json"}, {"plan"},
			{"plan", "--layout", "baidu"}, {"config", "check"}, {"config", "print"}, {"next"}, {"completion", "bash"},
		} {
			stderr.Reset()
			if code := p.run(context.Background(), args...); code != exitFailure || stderr.String() != x.says {
				t.Errorf("%v to %v: exit code %d, printed %q, want %q", args, x.err, code, stderr, x.says)
			}
		}
	}
}

// TestVerbSaysSoonWhatItWaitsFor is about a server that takes a connection and sends nothing.
func TestVerbSaysSoonWhatItWaitsFor(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	at := listener.Addr().String()
	for want, args := range map[string][]string{
		"waiting for the store etcd://" + at:  {"next", "--store", "etcd://" + at},
		"waiting for the store redis://" + at: {"workers", "list", "--store", "redis://" + at + "/0"},
		"waiting for ZooKeeper at " + at:      {"workers", "import", "leaf", "--zookeeper", at, "--name", "a", "--stopped-at", "2026-01-02T03:04:05Z"},
	} {
		t.Run(args[0], func(t *testing.T) {
			t.Parallel()
			p, _, _ := inTest(t)
			said, stderr := io.Pipe()
			p.stderr, p.slow = stderr, 2*time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				code := p.run(ctx, args...)
				_ = stderr.CloseWithError(fmt.Errorf("it ended with %d", code))
			}()
			line, err := bufio.NewReader(said).ReadString('\n')
			if err != nil || !strings.Contains(line, want) {
				t.Errorf("it printed %q, %v, want %q", line, err, want)
			}
			cancel()
			_, _ = io.Copy(io.Discard, said)
		})
	}
}

func TestLogForProgramsHasNothingElseBesideIt(t *testing.T) {
	p, _, stderr := inTest(t)
	c := config.Default()
	c.Log.Format = jsonLog
	d, _ := p.daemon(c)
	d.Listening("http", "http://127.0.0.1:7600")
	var entry struct{ Msg, URL string }
	if err := json.Unmarshal([]byte(stderr.String()), &entry); err != nil || entry.Msg != "listening" || entry.URL != "http://127.0.0.1:7600" {
		t.Errorf("printed %q: %+v, %v", stderr, entry, err)
	}
	if d.Serving != nil {
		t.Error("would report in words that it serves")
	}
}

func TestDurationsInALogForProgramsHaveTheirUnit(t *testing.T) {
	p, _, stderr := inTest(t)
	p.logger(jsonLog, slog.LevelInfo).Info("ending", "drain", 10*time.Second)
	if !strings.Contains(stderr.String(), `"drain":"10s"`) {
		t.Errorf("logged %s", stderr)
	}
}

// TestOthersTextsAreVisibleInAllOutput: a terminal would obey or hide parts of hosts, versions, reasons and names in a store,
// and an own line break would forge a line.
func TestOthersTextsAreVisibleInAllOutput(t *testing.T) {
	const hostile = "a\x1b[2J\r\nINV-7\tconfirmed\u009b\u202eb\u2066\u2028\x7f\x9b\xff\u200bé"
	p, stdout, stderr := inTest(t)
	if err := errors.Join(p.print("a\x1b[2Jb\x9b\x1b[32m\tc\n"), (&report{program: p, form: jsonForm}).answer([]string{hostile, "\U000e0041<"}, "")); err != nil {
		t.Fatal(err)
	}
	want := `a\x1b[2Jb\x9b\x1b[32m` + "\tc\n" + `["a\u001b[2J\r\nINV-7\tconfirmed\u009b\u202eb\u2066\u2028\u007f\ufffd\ufffd\u200bé","\udb40\udc41<"]` + "\n"
	if got := stdout.String(); got != want {
		t.Errorf("printed %q, want %q", got, want)
	}
	p.note("%s", hostile)
	p.logger(jsonLog, slog.LevelInfo).Info(hostile, hostile, hostile)
	p.logger("text", slog.LevelInfo).Info(hostile, hostile, hostile)
	if got := strings.ReplaceAll(strings.ReplaceAll(stderr.String(), "\n", ""), "\t", ""); strings.ContainsFunc(got, unseen) || !utf8.ValidString(got) {
		t.Errorf("printed %q", got)
	}
}

// unseen reports whether a terminal obeys or hides a character, but for a line break.
func unseen(r rune) bool { return r != '\n' && !unicode.IsGraphic(r) }
