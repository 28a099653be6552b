package sqlfunc

import (
	"errors"
	"flag"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// update is given by "make pages".
var update = flag.Bool("sqlfunc.update", false, "write the files that TestSQLIsAsInItsFile reads")

func TestSQLIsAsInItsFile(t *testing.T) {
	for database, layout := range map[Database]string{Postgres: "default", MySQL: "discord", SQLite: "sonyflake-v1"} {
		l, err := snowfence.ParseLayout(layout)
		if err != nil {
			t.Fatal(err)
		}
		got, err := Write(database, Options{Layout: l, Prefix: "orders"})
		if err != nil {
			t.Fatal(err)
		}
		testkit.Page(t, filepath.Join("testdata", string(database)+".sql"), got, *update)
	}
}

func TestWhatNoDatabaseTakesIsRefused(t *testing.T) {
	l := snowfence.DefaultLayout()
	wide, err := snowfence.ParseLayout("game-server")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		database Database
		options  Options
		want     string
	}{
		{"oracle", Options{Layout: l}, `database is "oracle", must be one of`},
		{MySQL, Options{Layout: wide}, "total is 84 bits, must be at most 64 bits, and not wide: an integer of a database has no more"},
		{Postgres, Options{}, "time is missing"},
		{Postgres, Options{Layout: l, Prefix: "a-b"}, `prefix is "a-b", must be 1 to 52 of`},
		{Postgres, Options{Layout: l, Prefix: "1a"}, `prefix is "1a"`},
		{MySQL, Options{Layout: l, Prefix: strings.Repeat("a", 53)}, `prefix is "aaa`},
		{SQLite, Options{Layout: l, Table: `t"; DROP TABLE t; --`}, `table is "t\"; DROP`},
		{SQLite, Options{Layout: l, Column: "a\nb"}, `column is "a\nb"`},
		{SQLite, Options{Layout: l, Column: "größe"}, `column is "größe"`},
	} {
		text, err := Write(x.database, x.options)
		if err == nil || !strings.Contains(err.Error(), x.want) || text != "" {
			t.Errorf("%s %+v: %v; want %s", x.database, x.options, err, x.want)
		}
	}
	if _, err := Write(SQLite, Options{Layout: wide}); !errors.Is(err, snowfence.ErrInvalidLayout) {
		t.Errorf("wide layout: %v", err)
	}
}

func TestLongestPrefixFitsPostgreSQL(t *testing.T) {
	l, err := snowfence.ParseLayout("twitter")
	if err != nil {
		t.Fatal(err)
	}
	prefix := strings.Repeat("a", 52)
	text, err := Write(Postgres, Options{Layout: l, Prefix: prefix})
	if longest := prefix + "_datacenter"; err != nil || len(longest) != 63 || !strings.Contains(text, longest+"(") {
		t.Errorf("%v: %s", err, text)
	}
}
