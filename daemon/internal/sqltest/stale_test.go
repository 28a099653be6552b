//go:build servers

package sqltest

import (
	"context"
	"database/sql"
	"errors"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/counter/flickr"
	"snowfence.example/snowfence/counter/leafalloc"
	"snowfence.example/snowfence/counter/tinyid"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/filestore"
)

// replaceable is a server with another system's table or keys, which a stale copy can replace.
type replaceable struct {
	open    func(*testing.T) counter.Source // on the server of the moment, as a process that starts
	copy    func(*testing.T)                // takes the copy, which gets nothing more
	replace func(*testing.T)                // the server or its database is gone, and the copy takes its place
}

// TestStaleCopyOfAnotherSystemsTableIsRefusedByAGuard replaces the server by a copy of it: a replica
// that lagged is promoted, or a dump is restored. The copy gives numbers again, and a process that
// starts then knows nothing of them. A guard refuses them, and shows both numbers.
func TestStaleCopyOfAnotherSystemsTableIsRefusedByAGuard(t *testing.T) {
	for _, c := range []struct {
		system string
		start  func(*testing.T) replaceable
		guard  func(*testing.T) (g counter.Guard, use func(last int64))
	}{
		{"leafalloc, promoted standby of PostgreSQL", leafOnAStandby, inAFolder},
		{"leafalloc, restored dump of MariaDB", leafInADump, inAFolder},
		{"tinyid, restored dump of MariaDB", tinyInADump, byOrders},
		{"flickr, restored dump of MariaDB", ticketsInADump, inAFolder},
		{"rediscount, promoted replica of Redis", datedOnAReplica, inAFolder},
	} {
		t.Run(c.system, func(t *testing.T) {
			t.Parallel()
			r := c.start(t)
			guard, use := c.guard(t)
			draw := func(source counter.Source) counter.Range {
				t.Helper()
				got, err := source.Reserve(t.Context(), few(1))
				if err != nil {
					t.Fatal(err)
				}
				use(got.Last())
				return got
			}
			before := counter.Guarded(r.open(t), guard, "orders")
			draw(before)
			r.copy(t)
			lost, last := draw(before), draw(before).Last()
			r.replace(t)

			tickets := counter.NewTickets(counter.Guarded(r.open(t), guard, "orders"), counter.Config{Name: "orders"})
			defer tickets.Close(t.Context()) //nolint:errcheck // nothing is left behind
			id, err := tickets.Next(t.Context())
			var back *counter.BackwardsError
			if !errors.As(err, &back) || back.Next != lost.First || back.Mark != last || back.By != guard.String() || back.Counter != "orders" {
				t.Fatalf("the copy gives %d (%v), want that %d is refused, as %d is in use", id, err, lost.First, last)
			}
			t.Log(back)
			for range 10 { // what is refused is a gap, so the copy gets past the mark
				if errors.As(err, &back) {
					id, err = tickets.Next(t.Context())
				}
			}
			if err != nil || int64(id) <= last {
				t.Errorf("after the refusals: %d, %v; want a number above %d", id, err, last)
			}
		})
	}
}

// inAFolder keeps the mark in a folder.
func inAFolder(t *testing.T) (counter.Guard, func(int64)) {
	t.Helper()
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: filepath.Join(t.TempDir(), "guard")})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	guard, err := counter.OpenStoreGuard(t.Context(), s, "default", "orders")
	if err != nil {
		t.Fatal(err)
	}
	return guard, func(int64) {}
}

// byOrders has the numbers in the table of orders of another server, and the mark is the greatest.
func byOrders(t *testing.T) (counter.Guard, func(last int64)) {
	t.Helper()
	shop := mariaDB(t, sharedHome(t, "MariaDB"), nil, nil)
	must(t, shop, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	greatest := func(ctx context.Context) (mark int64, err error) {
		err = shop.QueryRowContext(ctx, "SELECT COALESCE(MAX(id), -1) FROM orders").Scan(&mark)
		return mark, err
	}
	return counter.QueryGuard{Name: "max(id) of orders", Greatest: greatest},
		func(last int64) { must(t, shop, "INSERT INTO orders VALUES (?)", last) }
}

// leafOnAStandby is PostgreSQL with a standby that follows asynchronously.
func leafOnAStandby(t *testing.T) replaceable {
	t.Helper()
	pair := startPair(t, "postgres-lossy")
	side := func(t *testing.T) leafSide {
		return leafSide{dialect: leafalloc.PostgreSQL, db: postgres(t, homeOf(pair.Primary), nil)}
	}
	must(t, side(t).db, leafalloc.DDL(leafalloc.PostgreSQL))
	side(t).tag(t, "orders", 1, 10)
	return onAPair(pair, func(t *testing.T) counter.Source { return side(t).open(t, side(t).db, "orders") })
}

// datedOnAReplica is Redis with a replica.
func datedOnAReplica(t *testing.T) replaceable {
	t.Helper()
	pair := startPair(t, "redis")
	clock := &wall{snowfence.SystemClock(), time.Now()}
	return onAPair(pair, func(t *testing.T) counter.Source {
		client := redis.NewClient(&redis.Options{Addr: pair.Primary.Addr()})
		t.Cleanup(func() { _ = client.Close() })
		return dated{Client: client, clock: clock}.open(t, nil)
	})
}

func startPair(t *testing.T, name string) *testkit.Pair {
	t.Helper()
	_, pair := testkit.StartPair(t, name)
	return pair
}

func onAPair(pair *testkit.Pair, open func(*testing.T) counter.Source) replaceable {
	return replaceable{open, func(t *testing.T) {
		t.Helper()
		if _, err := pair.Part(t.Context()); err != nil {
			t.Fatal(err)
		}
	}, func(t *testing.T) {
		t.Helper()
		pair.Primary.Kill()
		if err := pair.Promote(t.Context()); err != nil {
			t.Fatal(err)
		}
	}}
}

func leafInADump(t *testing.T) replaceable {
	t.Helper()
	side := func(db *sql.DB) leafSide { return leafSide{dialect: leafalloc.MySQL, db: db} }
	return inADump(t, func(db *sql.DB) {
		must(t, db, leafalloc.DDL(leafalloc.MySQL))
		side(db).tag(t, "orders", 1, 10)
	}, func(t *testing.T, db *sql.DB) counter.Source { return side(db).open(t, db, "orders") })
}

func tinyInADump(t *testing.T) replaceable {
	t.Helper()
	return inADump(t, func(db *sql.DB) {
		must(t, db, tinyid.DDL())
		tinyRow(t, db, "orders", 0, 20, 2, 1)
	}, func(t *testing.T, db *sql.DB) counter.Source { return openTiny(t, db, "orders") })
}

func ticketsInADump(t *testing.T) replaceable {
	t.Helper()
	return inADump(t, func(db *sql.DB) { must(t, db, flickr.DDL()) }, func(t *testing.T, db *sql.DB) counter.Source {
		source, err := flickr.Open(t.Context(), flickr.Config{Servers: []flickr.Server{{Name: "a", DB: db}}})
		if err != nil {
			t.Fatal(err)
		}
		return source
	})
}

// inADump is a database of MariaDB in whose place comes what an earlier dump holds.
func inADump(t *testing.T, fill func(*sql.DB), open func(*testing.T, *sql.DB) counter.Source) replaceable {
	t.Helper()
	server, h := hasty["mysql"](), sharedHome(t, "MariaDB")
	fill(mariaDB(t, h, nil, nil))
	dump := filepath.Join(server.Dir, h.database+".sql")
	run := func(t *testing.T, program string, arguments ...string) {
		t.Helper()
		arguments = append([]string{"--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port=" + strconv.Itoa(server.Ports[0]),
			"--user=" + testkit.SQLUser, "--password=" + testkit.SQLPassword}, append(arguments, h.database)...)
		if _, err := server.Run(t.Context(), program, arguments...); err != nil {
			t.Fatal(err)
		}
	}
	return replaceable{
		func(t *testing.T) counter.Source { return open(t, mariaDB(t, h, nil, nil)) },
		func(t *testing.T) { run(t, "mariadb-dump", "--single-transaction", "--result-file="+dump) },
		func(t *testing.T) {
			must(t, mariaDB(t, h, nil, nil), "DROP DATABASE "+h.database)
			must(t, mariaDB(t, homeOf(server), nil, nil), "CREATE DATABASE "+h.database)
			run(t, "mariadb", "--execute=source "+dump)
		},
	}
}
