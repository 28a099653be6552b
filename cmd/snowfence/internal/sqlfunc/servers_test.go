//go:build servers

package sqlfunc

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/csv"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib" // the driver of PostgreSQL

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// perLayout is how many random ids of each layout a database reads.
var perLayout = flag.Int("sqlfunc.ids", 10_000, "random ids of each layout; the long run has 100000")

// layouts have every unit, every field in every place, both kinds of 64 bits, epochs before 1970
// and within a second, and times past the ends of all databases.
func layouts(t *testing.T) []snowfence.Layout {
	t.Helper()
	var all []snowfence.Layout
	for _, text := range []string{
		"default",
		"discord",      // 64 bits
		"instagram",    // 64 bits
		"tsid",         // 64 bits
		"seata",        // the worker highest
		"sonyflake-v1", // 10 ms, the machine lowest
		"simple",       // the worker above the datacenter
		"baidu",        // seconds
		"mastodon",     // 64 bits, no worker, beyond the year 9999
		"us49-seq4-datacenter10@1969-12-31T23:59:59.999Z",
		"min30-datacenter8-seq10-worker8@1900-01-01T00:00:00.001Z",
		"h41-worker10-seq12@2199-12-31", // beyond the year 294000
	} {
		l, err := snowfence.ParseLayout(text)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, l)
	}
	return all
}

// sample is a layout with ids, among them the lowest and the highest, and some not of it.
type sample struct {
	Options
	ids   []snowfence.ID
	spans []span
}

// span is a span of time, whole microseconds, with how many of the ids are in it.
type span struct {
	from, to time.Time
	ids      int
}

// draw makes a sample whose spans end before the year that is given.
func draw(l snowfence.Layout, n int, r *rand.Rand, end time.Time) sample {
	s := sample{Options: Options{Layout: l, Prefix: "orders"}}
	s.ids = []snowfence.ID{0, 1, -1, math.MinInt64, snowfence.MaxID}
	for len(s.ids) < n {
		s.ids = append(s.ids, snowfence.ID(r.Uint64()>>(64-l.TotalBits())))
	}
	if l.TotalBits() < 63 {
		s.ids = append(s.ids, 1<<l.TotalBits(), 1<<l.TotalBits()-1)
	}
	if l.Fields[0].Kind != snowfence.Time {
		return s
	}
	// Each end is within a microsecond of the time of an id, so that one tick more or less shows.
	within := []time.Time{l.Epoch}
	for _, id := range s.ids {
		if p, err := l.Decompose(id); err == nil && id >= 0 && l.TimeOf(p.Tick).Before(end) {
			within = append(within, l.TimeOf(p.Tick))
		}
	}
	at := func() time.Time {
		return within[r.IntN(len(within))].Add(time.Duration(r.Int64N(3)-1) * time.Microsecond)
	}
	for range 8 {
		from, to := at(), at()
		if to.Before(from) {
			from, to = to, from
		}
		s.spans = append(s.spans, span{from: from, to: to.Add(l.Unit)})
	}
	s.spans = append(s.spans, span{from: l.Epoch.AddDate(-1, 0, 0), to: s.spans[0].to})
	for _, id := range s.ids {
		if p, err := l.Decompose(id); err == nil && id >= 0 { // none else can be minted
			for i, in := range s.spans {
				if at := l.TimeOf(p.Tick); !at.Before(in.from) && at.Before(in.to) {
					s.spans[i].ids++
				}
			}
		}
	}
	return s
}

// kinds are the fields that are numbers and that the layout has.
func (s sample) kinds() []snowfence.FieldKind {
	all := []snowfence.FieldKind{snowfence.Datacenter, snowfence.Worker, snowfence.Sequence}
	return slices.DeleteFunc(all, func(kind snowfence.FieldKind) bool { return s.Layout.Bits(kind) == 0 })
}

// names are the parts that the layout has, as the functions and columns are called.
func (s sample) names() []string {
	names := []string{"tick"}
	for _, kind := range s.kinds() {
		names = append(names, kind.String())
	}
	return append(names, "time")
}

// want is what our own decoder returns for an id, in the order of names. Empty stands for NULL.
func (s sample) want(id snowfence.ID, end time.Time) []string {
	p, err := s.Layout.Decompose(id)
	if err != nil {
		return make([]string, len(s.names()))
	}
	want := []string{strconv.FormatInt(int64(p.Tick), 10)}
	for _, kind := range s.kinds() {
		want = append(want, strconv.FormatInt(p.Value(kind), 10))
	}
	at := s.Layout.TimeOf(p.Tick)
	if !at.Before(end) {
		return append(want, "")
	}
	return append(want, at.Format("2006-01-02T15:04:05.000000Z"))
}

// check compares the answer of a database, an id and its parts a row, with our own decoder.
func (s sample) check(t *testing.T, rows [][]string, end time.Time) {
	t.Helper()
	if len(rows) != len(s.ids) {
		t.Fatalf("%v: %d rows of %d ids", s.Layout, len(rows), len(s.ids))
	}
	got, want, nulls, wrong := []string{}, []string{}, 0, 0
	for i, row := range rows {
		got, want = append(got, row[0]), append(want, strconv.FormatInt(int64(s.ids[i]), 10))
		number, err := strconv.ParseInt(row[0], 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		parts := s.want(snowfence.ID(number), end)
		if parts[len(parts)-1] == "" {
			nulls++
		}
		if !slices.Equal(row[1:], parts) && wrong < 5 {
			wrong++
			t.Errorf("%v: %s is %q, want %q", s.Layout, row[0], row[1:], parts)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%v: other ids came back", s.Layout)
	}
	inside := 0
	for _, in := range s.spans {
		inside += in.ids
	}
	t.Logf("%d ids, %d without a time, %d in %d spans: %s", len(rows), nulls, inside, len(s.spans), s.Layout)
}

// write is the SQL for a sample.
func (s sample) write(t *testing.T, database Database) string {
	t.Helper()
	text, err := Write(database, s.Options)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// session is a connection of a test.
type session struct {
	t *testing.T
	*sql.Conn
}

func (s session) do(statement string) {
	s.t.Helper()
	if _, err := s.ExecContext(s.t.Context(), statement); err != nil {
		s.t.Fatalf("%v: %.300s", err, statement)
	}
}

// rows returns all rows as text, NULL as nothing.
func (s session) rows(query string) (all [][]string) {
	s.t.Helper()
	rows, err := s.QueryContext(s.t.Context(), query)
	if err != nil {
		s.t.Fatalf("%v: %s", err, query)
	}
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		s.t.Fatal(err)
	}
	cells, places := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			s.t.Fatal(err)
		}
		row := make([]string, len(cells))
		for i, cell := range cells {
			row[i] = cell.String
		}
		all = append(all, row)
	}
	if err := rows.Err(); err != nil {
		s.t.Fatal(err)
	}
	return all
}

// fill makes the table orders, of ids as they are in a signed and in an unsigned column.
func (s session) fill(columns string, ids []snowfence.ID) {
	s.t.Helper()
	s.do("DROP TABLE IF EXISTS orders")
	s.do("CREATE TABLE orders (" + columns + ")")
	for chunk := range slices.Chunk(ids, 10_000) {
		rows := make([]string, len(chunk))
		for i, id := range chunk {
			rows[i] = fmt.Sprintf("(%d,%d)", int64(id), uint64(id))
		}
		s.do("INSERT INTO orders VALUES" + strings.Join(rows, ","))
	}
}

// reads has the database read a sample, where at is the time of an id as SQL, and compares how many ids are in each
// span by its functions and by the bounds of the library. It reports whether there are any.
func (s session) reads(of sample, database Database, columns, at, moment string, end time.Time) bool {
	s.t.Helper()
	s.do(of.write(s.t, database))
	s.fill(columns, of.ids)
	query := "SELECT id"
	for _, name := range of.names() {
		query += ", orders_" + name + "(id)"
	}
	of.check(s.t, s.rows(strings.Replace(query, "orders_time(id)", at, 1)+" FROM orders"), end)
	if got := s.rows("SELECT orders_tick(NULL), orders_time(NULL)"); !slices.Equal(got[0], []string{"", ""}) {
		s.t.Errorf("%v: NULL is %q", of.Layout, got)
	}
	for _, in := range of.spans {
		lo, hi, err := of.Layout.Between(in.from, in.to)
		if err != nil {
			s.t.Fatal(err)
		}
		text := func(at time.Time) string { return "'" + at.Format(moment) + "'" }
		got := s.rows(fmt.Sprintf("SELECT COUNT(*) FROM orders WHERE id BETWEEN %d AND %d UNION ALL SELECT COUNT(*) FROM orders WHERE id BETWEEN orders_from(%s) AND orders_until(%s)",
			int64(lo), int64(hi), text(in.from), text(in.to)))
		if want := strconv.Itoa(in.ids); got[0][0] != want || got[1][0] != want {
			s.t.Errorf("%v: from %v to %v are %s ids, %s by functions; want %s", of.Layout, in.from, in.to, got[0], got[1], want)
		}
	}
	return len(of.spans) > 0
}

// TestPostgreSQLReadsIDsExactly runs all as a role without rights but to its own schema.
func TestPostgreSQLReadsIDsExactly(t *testing.T) {
	t.Parallel()
	_, db := testkit.SQL(t, "postgres")
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s := session{t, conn}
	s.do("CREATE ROLE app")
	s.do("CREATE SCHEMA app AUTHORIZATION app")
	s.do("SET ROLE app")
	s.do("SET search_path = app")
	s.do("SET TIME ZONE 'America/New_York'")
	end := time.Date(294000, 1, 1, 0, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(13, 2))
	for _, l := range layouts(t) {
		of := draw(l, *perLayout, r, end)
		if !s.reads(of, Postgres, "id bigint, word numeric", `to_char(orders_time(id) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US"Z"')`, "2006-01-02 15:04:05.000000Z", end) {
			continue
		}
		highest, _, err := l.Bounds(l.TimeOf(l.HorizonTick() - 1))
		if err != nil {
			t.Fatal(err)
		}
		highest |= 1<<l.Shift(snowfence.Time) - 1
		got := s.rows("SELECT orders_from('-infinity'), orders_until('-infinity'), orders_from('infinity'), orders_until('infinity'), orders_from(NULL), orders_until(NULL)")
		if want := []string{"0", "", "", strconv.FormatInt(int64(highest), 10), "", ""}; !slices.Equal(got[0], want) {
			t.Errorf("%v: bounds of all times are %q, want %q", l, got[0], want)
		}
	}

	// The server takes the expressions into the statement, and the key for the bounds.
	s.do("CREATE INDEX ON orders (id)")
	s.do("SET enable_seqscan = off")
	s.do("SET enable_bitmapscan = off")
	plan := fmt.Sprint(s.rows("EXPLAIN (VERBOSE, COSTS OFF) SELECT orders_tick(id), orders_time(id), orders_worker(id) FROM orders WHERE id BETWEEN orders_from('2226-11-01 UTC') AND orders_until('2226-11-02 UTC')"))
	if regexp.MustCompile(`orders_(tick|time|worker|from|until)`).MatchString(plan) || !strings.Contains(plan, "Index Cond: ((orders.id >= '") {
		t.Errorf("the plan calls functions, or does not use the key:\n%s", plan)
	}
}

// TestMariaDBReadsIDsExactly runs all as a user who may make functions in a database, and no more.
func TestMariaDBReadsIDsExactly(t *testing.T) {
	t.Parallel()
	server := testkit.MariaDB(t)
	open := func(user string) session {
		c := mysql.NewConfig()
		c.User, c.Passwd, c.Net, c.Addr, c.DBName, c.MultiStatements = user, testkit.SQLPassword, "tcp", server.Addr(), testkit.SQLDatabase, true
		connector, err := mysql.NewConnector(c)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		t.Cleanup(func() { _ = db.Close() })
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return session{t, conn}
	}
	root := open(testkit.SQLUser)
	root.do("CREATE USER app IDENTIFIED BY '" + testkit.SQLPassword + "'; GRANT SELECT, INSERT, CREATE, DROP, CREATE ROUTINE, ALTER ROUTINE, EXECUTE ON " + testkit.SQLDatabase + ".* TO app")
	s := open("app")
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(13, 3))
	if _, err := s.ExecContext(t.Context(), draw(snowfence.DefaultLayout(), 10, r, end).write(t, MySQL)); err == nil || !strings.Contains(err.Error(), "log_bin_trust_function_creators") {
		t.Errorf("functions beside a binary log: %v", err)
	}
	root.do("SET GLOBAL log_bin_trust_function_creators = 1")
	s.do("SET time_zone = '-05:00'")
	for _, l := range layouts(t) {
		of := draw(l, *perLayout, r, end)
		bounded := s.reads(of, MySQL, "id BIGINT, word BIGINT UNSIGNED", "DATE_FORMAT(orders_time(id), '%Y-%m-%dT%H:%i:%s.%fZ')", "2006-01-02 15:04:05.000000", end)
		if got := s.rows("SELECT COUNT(*) FROM orders WHERE NOT (orders_tick(id) <=> orders_tick(word) AND orders_time(id) <=> orders_time(word))"); got[0][0] != "0" {
			t.Errorf("%v: signed and unsigned columns differ at %s ids", l, got[0])
		}
		if !bounded {
			continue
		}
		if got := s.rows("SELECT orders_from('1000-01-01'), orders_until('1000-01-01'), orders_from(NULL), orders_until(NULL)"); !slices.Equal(got[0], []string{"0", "", "", ""}) {
			t.Errorf("%v: bounds of early times are %q", l, got[0])
		}
	}
}

// sqlite runs a script in a database in memory, and returns the rows that it prints.
func sqlite(t *testing.T, script string) [][]string {
	t.Helper()
	path, err := exec.LookPath("sqlite3")
	if err != nil {
		t.Fatalf("%v: install it first; on Debian and its kin: apt-get install sqlite3", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, "-batch", "-bail", "-init", os.DevNull, ":memory:")
	cmd.Stdin = strings.NewReader(script)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("sqlite3: %v: %s", err, stderr.String())
	}
	r := csv.NewReader(bytes.NewReader(out))
	r.FieldsPerRecord = -1
	rows, err := r.ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestSQLiteReadsIDsExactly(t *testing.T) {
	t.Parallel()
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	r := rand.New(rand.NewPCG(13, 4))
	for _, l := range layouts(t) {
		of := draw(l, *perLayout, r, end)
		of.Table, of.Column = "order", "key" // words of SQL
		file := filepath.Join(t.TempDir(), "ids.csv")
		var lines strings.Builder
		for _, id := range of.ids {
			fmt.Fprintln(&lines, int64(id))
		}
		if err := os.WriteFile(file, []byte(lines.String()), 0o600); err != nil {
			t.Fatal(err)
		}
		script := "CREATE TABLE \"order\" (\"key\" INTEGER);\n.mode csv\n.import " + file + " order\n" + of.write(t, SQLite) +
			"SELECT id, " + strings.Join(of.names(), ", ") + " FROM orders_ids;\n"
		for _, in := range of.spans {
			lo, hi, err := l.Between(in.from, in.to)
			if err != nil {
				t.Fatal(err)
			}
			script += fmt.Sprintf("SELECT COUNT(*) FROM \"order\" WHERE \"key\" BETWEEN %d AND %d;\n", int64(lo), int64(hi))
		}
		rows := sqlite(t, script)
		ids, counts := rows[:len(rows)-len(of.spans)], rows[len(rows)-len(of.spans):]
		of.check(t, ids, end)
		for i, in := range of.spans {
			if counts[i][0] != strconv.Itoa(in.ids) {
				t.Errorf("%v: from %v to %v are %s ids, want %d", l, in.from, in.to, counts[i], in.ids)
			}
		}
	}
	if got := sqlite(t, ".mode csv\n"+sample{Options: Options{Layout: snowfence.DefaultLayout()}}.write(t, SQLite)+"CREATE TABLE snowfence (id);\nINSERT INTO snowfence VALUES (NULL);\nSELECT * FROM snowfence_ids;\n"); !slices.Equal(got[0], make([]string, 5)) {
		t.Errorf("NULL is %q", got)
	}
}
