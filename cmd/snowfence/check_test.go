package main

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/internal/testkit"
)

// TestSQLColumnIsCheckedWithFiles checks a column of a real server together with
// a file.
func TestSQLColumnIsCheckedWithFiles(t *testing.T) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, db := testkit.SQL(t, scheme)
			for _, s := range []string{"CREATE TABLE orders (id BIGINT)", "INSERT INTO orders VALUES (11), (12), (13), (12)"} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			file := filepath.Join(t.TempDir(), "ids")
			if err := os.WriteFile(file, []byte("13\n14\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			p, stdout, stderr := inTest(t)
			p.environ = append(p.environ, "SECRET="+testkit.SQLPassword)
			database := strings.Replace(address, ":"+testkit.SQLPassword+"@", ":${SECRET}@", 1)
			code := p.run(t.Context(), "check", "--format", "text", "--table", "orders", "--column", "id", database, file)
			said := stdout.String() + stderr.String()
			for _, want := range []string{"2 duplicates: 6 ids, 4 distinct", "orders.id, row 2\n", "orders.id, row 4\n", "orders.id, row 3\n", file + ", line 1\n"} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %s", want, said)
				}
			}
			if code != exitFailure || strings.Contains(said, testkit.SQLPassword) || strings.Contains(said, "fence%2F") {
				t.Errorf("exit code %d: %s", code, said)
			}
			stdout.Reset()
			if code := p.run(t.Context(), "check", "--table", "none", "--column", "id", database); code != exitUnavailable || stdout.String() != "" {
				t.Errorf("a table that is missing: exit code %d: %s", code, stdout)
			}
		})
	}
}

// TestSQLColumnsOfTwoTablesAreCheckedTogether names a column for each, and one by a
// statement.
func TestSQLColumnsOfTwoTablesAreCheckedTogether(t *testing.T) {
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, db := testkit.SQL(t, scheme)
			for _, s := range []string{
				"CREATE TABLE orders_now (id BIGINT)", "INSERT INTO orders_now VALUES (21), (22)",
				"CREATE TABLE orders_old (number VARCHAR(20), id BIGINT)", "INSERT INTO orders_old VALUES ('22', 1), ('0x17', 21)",
			} {
				if _, err := db.ExecContext(t.Context(), s); err != nil {
					t.Fatal(err)
				}
			}
			p, stdout, stderr := inTest(t)
			p.stdin = strings.NewReader("name;order\na;23\n")
			code := p.run(t.Context(), "check", "--column", "id", "--table", "orders_now", address, address+"#table=orders_old,column=number", "-#column=order,separator=;",
				address+"#query=select id from orders_old where id > 20")
			said := stdout.String() + stderr.String()
			for _, want := range []string{
				"3 duplicates: 6 ids, 3 distinct", "orders_now.id, row 1\n", "orders_now.id, row 2\n", "orders_old.number, row 1\n",
				"orders_old.number, row 2\n    standard input, line 2\n",
			} {
				if !strings.Contains(said, want) {
					t.Errorf("%q is not in %s", want, said)
				}
			}
			if code != exitFailure || strings.Contains(said, testkit.SQLPassword) {
				t.Errorf("exit code %d: %s", code, said)
			}
			stdout.Reset()
			stderr.Reset()
			// A --format is that of the others for a table that is named apart.
			p.stdin = strings.NewReader("\x00\x00\x00\x00\x00\x00\x00\x16")
			code = p.run(t.Context(), "check", "--format", "binary", "-", address+"#table=orders_old,column=number")
			if code != exitFailure || !strings.HasPrefix(stdout.String(), "1 duplicate: 3 ids, 2 distinct;") {
				t.Errorf("exit code %d: %s%s", code, stdout, stderr)
			}
			stdout.Reset()
			stderr.Reset()
			if code := p.run(t.Context(), "check", address+"#table=orders_now,colum=id"); code != exitUsage || !strings.Contains(stderr.String(), `option "colum": must be KEY=VALUE, with a key of column, encoding`) {
				t.Errorf("an option that is none: exit code %d: %s", code, stderr)
			}
			if strings.Contains(stderr.String(), testkit.SQLPassword) {
				t.Errorf("a password is shown: %s", stderr)
			}
		})
	}
}

// TestNamesOfFilesDoNotReachTheTerminalRaw has a file whose name colours a terminal.
func TestNamesOfFilesDoNotReachTheTerminalRaw(t *testing.T) {
	t.Chdir(t.TempDir())
	name := "red\x1b[31m"
	if err := os.WriteFile(name, []byte("7\n7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		args []string
		want int
		says string
	}{
		{[]string{"check", name}, exitFailure, `"red\x1b[31m", line 2`},
		{[]string{"check", name, name + "2"}, exitUnavailable, `"red\x1b[31m2": no such file`},
		{[]string{"check", name + "#format=binary"}, exitInvalidID, `"red\x1b[31m": `},
		{[]string{"check", name + "#colum=1"}, exitUsage, `"red\x1b[31m#colum=1": option "colum"`},
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
		{idsort.Snapshot{IDs: 1234567, Bytes: 50, Size: 101}, "reading: 1,234,567 ids, 49 % of the sources"},
		{idsort.Snapshot{Phase: idsort.Merging, IDs: 2000, Merged: 1000, Bytes: 7, Size: 7}, "comparing: 1,000 of 2,000 ids"},
		{idsort.Snapshot{Phase: idsort.Merging, IDs: 123_456_789_012, Merged: 123_456_789_012}, "comparing: 123,456,789,012 of 123,456,789,012 ids"},
	} {
		if got := howFar(x.snapshot); got != x.want || len(got) > 69 {
			t.Errorf("%+v: %q, want %q", x.snapshot, got, x.want)
		}
	}
}

func TestAmountsOfBytesAreRead(t *testing.T) {
	for text, want := range map[string]int64{"64MiB": 64 << 20, "1G": 1 << 30, "1.5GiB": 3 << 29, "2GB": 2e9, "67108864": 64 << 20, "100 mib": 100 << 20} {
		if n, err := parseMemory(text); n != want || err != nil {
			t.Errorf("%s: %d, %v", text, n, err)
		}
	}
	for _, text := range []string{"", "MiB", "1XB", "-1G", "63MiB", "1e30", "9999999TiB", "1.2.3G"} {
		if n, err := parseMemory(text); err == nil {
			t.Errorf("%q is read as %d", text, n)
		}
	}
}
