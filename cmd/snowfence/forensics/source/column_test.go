//go:build servers

package source

import (
	"context"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
)

// eachSQL runs a test on both kinds of server, with a way to change them.
func eachSQL(t *testing.T, test func(t *testing.T, scheme, url string, do func(statements ...string))) {
	t.Helper()
	for _, scheme := range []string{"postgres", "mysql"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			address, db := testkit.SQL(t, scheme)
			test(t, scheme, address, func(statements ...string) {
				t.Helper()
				for _, s := range statements {
					if _, err := db.ExecContext(t.Context(), s); err != nil {
						t.Fatalf("%s: %v", s, err)
					}
				}
			})
		})
	}
}

// connect is how the program opens a database.
func connect(ctx context.Context, url string) (Database, error) {
	db, err := openstore.OpenDatabase(ctx, url)
	if err != nil {
		return nil, err
	}
	return db, nil
}

// columnOf reads a column to its end.
func columnOf(t *testing.T, url string, o Options) (items []Item, name string, err error) {
	t.Helper()
	o.Connect = connect
	s, err := Open(t.Context(), url, o)
	if err != nil {
		return nil, "", err
	}
	items, err = drain(t, s, 100)
	return items, s.Name(), err
}

func TestSQLColumnsAreRead(t *testing.T) {
	eachSQL(t, func(t *testing.T, scheme, url string, do func(...string)) {
		do("CREATE TABLE orders (id BIGINT, code VARCHAR(40), price DECIMAL(20,0), ratio DOUBLE PRECISION)",
			"INSERT INTO orders VALUES (5, '1541815603606036480', 7, 1.5), (-1, '0x10', 9223372036854775807, 1.5), (9223372036854775807, '1541815603606036480', 18446744073709551615, 1.5)")
		for _, x := range []struct {
			options Options
			want    string
		}{
			{Options{Query: "SELECT id FROM orders"}, "5@1 18446744073709551615@2 9223372036854775807@3"},
			{Options{Query: "SELECT code FROM orders"}, "1541815603606036480@1 16@2 1541815603606036480@3"},
			{Options{Query: "SELECT price FROM orders"}, "7@1 9223372036854775807@2 18446744073709551615@3"},
			{Options{Query: "SELECT id FROM orders WHERE id > 0 ORDER BY id DESC"}, "9223372036854775807@1 5@2"},
		} {
			items, name, err := columnOf(t, url, x.options)
			if shown(items) != x.want || err != nil || strings.Contains(name, "fence/of") || strings.Contains(name, "%2F") || !strings.Contains(name, "xxxxx") {
				t.Errorf("%+v: %s, %s, %v, want %s", x.options, name, shown(items), err, x.want)
			}
			if !strings.HasSuffix(name, "#"+x.options.Query) {
				t.Errorf("its name is %s", name)
			}
		}
		_, _, err := columnOf(t, url, Options{Query: "SELECT ratio FROM orders"})
		var bad *InvalidError
		if !errors.As(err, &bad) || bad.Place != "row 1" || !strings.Contains(err.Error(), "whole numbers") {
			t.Errorf("a column of fractions: %v", err)
		}

		do("CREATE TABLE holes (id BIGINT)", "INSERT INTO holes VALUES (1), (NULL), (2)")
		if _, _, err := columnOf(t, url, Options{Query: "SELECT id FROM holes"}); !errors.As(err, &bad) || bad.Place != "row 2" || !strings.Contains(err.Error(), "IS NOT NULL") {
			t.Errorf("NULL: %v", err)
		}

		// The password may come of the environment.
		at, _, _ := strings.Cut(url, ":fence")
		at += ":${SECRET}" + url[strings.LastIndexByte(url, '@'):]
		expand := func(url string) (string, error) { return config.Expand(url, []string{"SECRET=" + testkit.SQLPassword}) }
		if items, _, err := columnOf(t, at, Options{Query: "SELECT 8", Expand: expand}); shown(items) != "8@1" || err != nil {
			t.Errorf("a password of the environment: %s, %v", shown(items), err)
		}
	})
}

func TestSQLThatIsWrongIsRefused(t *testing.T) {
	eachSQL(t, func(t *testing.T, scheme, url string, do func(...string)) {
		do("CREATE TABLE orders (id BIGINT)", "INSERT INTO orders VALUES (1)")

		usage := func(err error) bool { return errors.As(err, new(UsageError)) }
		server := func(err error) bool { return errors.Is(err, ErrNoServer) }
		badURL := func(err error) bool { return errors.As(err, new(*engine.URLError)) }
		for _, x := range []struct {
			url     string
			options Options
			want    string
			is      func(error) bool
		}{
			{url, Options{Query: "SELECT 1, 2"}, "returns 2 columns", usage},
			{url, Options{Query: "SELECT id FROM none"}, "query:", server},
			{url, Options{Query: "DELETE FROM orders"}, "read", server},
			{url + "?durable=true", Options{Query: "SELECT id FROM orders"}, "are keys of a store", badURL},
			{url + "?table=x", Options{Query: "SELECT id FROM orders"}, "are keys of a store", badURL},
			{strings.Replace(url, "fence", "wrong", 1), Options{Query: "SELECT 1"}, "connect:", server},
		} {
			_, _, err := columnOf(t, x.url, x.options)
			if !x.is(err) || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "of@snow") || strings.Contains(err.Error(), "of%40snow") {
				t.Errorf("%+v: %v, want %s", x.options, err, x.want)
			}
		}
		if items, _, err := columnOf(t, url, Options{Query: "SELECT id FROM orders"}); shown(items) != "1@1" || err != nil {
			t.Errorf("the table was written to: %s, %v", shown(items), err)
		}
	})
}

func TestSQLColumnEndsWithItsContext(t *testing.T) {
	eachSQL(t, func(t *testing.T, scheme, url string, do func(...string)) {
		query := "SELECT generate_series(1, 100000000)"
		if scheme == "mysql" {
			query = "SELECT seq FROM seq_1_to_100000000"
		}
		ctx, stop := context.WithCancel(t.Context())
		s, err := Open(ctx, url, Options{Query: query, Connect: connect})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := s.Read(ctx, make([]Item, 10)); n != 10 || err != nil {
			t.Errorf("%d, %v", n, err)
		}
		stop()
		if _, err := s.Read(ctx, make([]Item, 10)); !errors.Is(err, context.Canceled) {
			t.Errorf("error is %v", err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}
