//go:build servers

package main

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestSQLColumnIsCheckedWithFiles checks a column of a real server together with
// a file.
func TestSQLColumnIsCheckedWithFiles(t *testing.T) {
	t.Parallel()
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, _ := database(t, scheme, "CREATE TABLE orders (id BIGINT)", "INSERT INTO orders VALUES (11), (12), (13), (12)")
			file := written(t, "13\n14\n")
			p, stdout, stderr := inTest(t)
			p.environ = append(p.environ, "SECRET="+testkit.SQLPassword)
			database := strings.Replace(address, ":"+testkit.SQLPassword+"@", ":${SECRET}@", 1)
			code := p.run(t.Context(), "check", database+"#table=orders,column=id", file)
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
	t.Parallel()
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, _ := database(t, scheme,
				"CREATE TABLE orders_now (id BIGINT)", "INSERT INTO orders_now VALUES (21), (22)",
				"CREATE TABLE orders_old (number VARCHAR(20), id BIGINT)", "INSERT INTO orders_old VALUES ('22', 1), ('0x17', 21)")
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
			if code := p.run(t.Context(), "check", address+"#table=orders_now,colum=id"); code != exitUsage || !strings.Contains(stderr.String(), `option "colum": must be KEY=VALUE, with a key of column, encoding`) {
				t.Errorf("an option that is none: exit code %d: %s", code, stderr)
			}
			if strings.Contains(stderr.String(), testkit.SQLPassword) {
				t.Errorf("a password is shown: %s", stderr)
			}
		})
	}
}
