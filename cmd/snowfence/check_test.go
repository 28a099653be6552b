package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
)

// TestNamesOfFilesDoNotReachTheTerminalRaw has a file whose name colours a terminal.
func TestNamesOfFilesDoNotReachTheTerminalRaw(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "red\x1b[31m"
	write(t, name, "7\n7\n")
	for _, x := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"check", name}, exitFailure, `"red\x1b[31m", line 2`},
		{[]string{"check", name, name + "2"}, exitUnavailable, `"red\x1b[31m2": no such file`},
		{[]string{"merge-check", name, name}, exitFailure, `"red\x1b[31m" line 1`},
		{[]string{"merge-check", "namespace:file:" + name, name}, exitUsage, `red\x1b[31m`},
	} {
		p, stdout, stderr := inTest(t)
		code := p.run(t.Context(), x.args...)
		if said := stdout.String() + stderr.String(); code != x.want || !strings.Contains(said, x.says) || strings.Contains(said, "\x1b") {
			t.Errorf("%q: exit code %d: %q", x.args, code, said)
		}
	}
}

func TestProgressIsDrawnOverItself(t *testing.T) {
	p, stdout, stderr := inTest(t)
	p.draws = true
	p.stdin = strings.NewReader("7\n")
	if code := p.run(t.Context(), "check", "-"); code != exitOK || !strings.HasSuffix(stderr.String(), "\r\x1b[K") || !strings.HasPrefix(stdout.String(), "no duplicates") {
		t.Errorf("exit code %d: %q, %q", code, stdout, stderr)
	}
}

// TestInterruptIsNoVerdict has signals come while a check waits for input: 1 would
// mean duplicates.
func TestInterruptIsNoVerdict(t *testing.T) {
	for _, x := range []struct {
		signal syscall.Signal
		want   int
	}{{syscall.SIGINT, 130}, {syscall.SIGTERM, 143}} {
		code, stdout, stderr := interrupted(t, x.signal, "check", "-")
		if code != x.want || stdout != "" || !strings.HasPrefix(stderr, "snowfence: interrupted while reading: ") ||
			!strings.HasSuffix(stderr, "; whether there are duplicates is not known\n") {
			t.Errorf("%s: exit code %d: %q, %q", x.signal, code, stdout, stderr)
		}
	}
}

// interrupted runs a verb that reads standard input until a signal comes, and checks
// that it leaves no file behind.
func interrupted(t *testing.T, by syscall.Signal, args ...string) (code int, out, errs string) {
	t.Helper()
	silent, writer := io.Pipe()
	p, stdout, stderr := inTest(t)
	p.stdin = silent
	ctx, stop := p.interruptible()
	go func() {
		_, _ = writer.Write([]byte("7\n7\n")) // returns when it is read
		_ = syscall.Kill(syscall.Getpid(), by)
	}()
	temp := t.TempDir()
	code = p.run(ctx, append(args, "--temp", temp)...)
	stop()
	_ = writer.Close()
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v (%v)", left, err)
	}
	return code, stdout.String(), stderr.String()
}

func TestHowFarACheckIsFitsALine(t *testing.T) {
	for _, x := range []struct {
		snapshot idsort.Snapshot
		want     string
	}{
		{idsort.Snapshot{IDs: 1}, "reading: 1 id"},
		{idsort.Snapshot{IDs: 1234567}, "reading: 1,234,567 ids"},
		{idsort.Snapshot{Phase: idsort.Merging, IDs: 2000, Merged: 1000}, "comparing: 1,000 of 2,000 ids"},
		{idsort.Snapshot{Phase: idsort.Merging, IDs: 123_456_789_012, Merged: 123_456_789_012}, "comparing: 123,456,789,012 of 123,456,789,012 ids"},
	} {
		if got := howFar(x.snapshot); got != x.want || len(got) > 69 {
			t.Errorf("%+v: %q, want %q", x.snapshot, got, x.want)
		}
	}
}

// TestInterruptOfAMergeCheckIsNoVerdict has a signal come while it waits for input:
// 1 would mean a clash.
func TestInterruptOfAMergeCheckIsNoVerdict(t *testing.T) {
	file := written(t, "7\n")
	for _, args := range [][]string{
		{"eu=layout:twitter", "us=-"}, // compared with nothing
		{"eu=" + file, "us=-"},        // sorted and compared
	} {
		code, stdout, stderr := interrupted(t, syscall.SIGTERM, append([]string{"merge-check"}, args...)...)
		if code != 143 || stdout != "" || stderr != "snowfence: interrupted; whether ids clash is not known\n" {
			t.Errorf("%v: exit code %d: %q, %q", args, code, stdout, stderr)
		}
	}
}

// TestVerdictThatCannotBeWrittenIsNone has a full disk take the answer: 1 would mean
// that ids clash.
func TestVerdictThatCannotBeWrittenIsNone(t *testing.T) {
	for _, form := range []string{"text", "json"} {
		p, _, stderr := inTest(t)
		p.stdout = broken{syscall.ENOSPC}
		if code := p.run(t.Context(), "merge-check", "layout:twitter#1", "layout:twitter#2", "-o", form); code != exitUnavailable || !strings.Contains(stderr.String(), "no space left") {
			t.Errorf("%s: exit code %d: %s", form, code, stderr)
		}
	}
}
