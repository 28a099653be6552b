//go:build servers

package sqltest

import (
	"context"
	"errors"
	"path/filepath"
	"strconv"
	"testing"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/filestore"
)

// replaceable is a system whose server or database a stale copy can replace.
type replaceable struct {
	system
	copy    func() error                // takes the copy, which gets nothing more
	replace func(y *system) (err error) // the original is gone, and the copy takes its place
}

// TestStaleCopyOfAnotherSystemsTableIsRefusedByAGuard replaces the server by a copy of it: a replica
// that lagged is promoted, or a dump is restored. The copy gives numbers again, and a process that
// starts then knows nothing of them. A guard refuses them, and shows both numbers.
func TestStaleCopyOfAnotherSystemsTableIsRefusedByAGuard(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		start func(*testing.T) replaceable
		guard func(*testing.T) (g counter.Guard, use func(last int64))
	}{
		"leafalloc, promoted standby of PostgreSQL": {func(t *testing.T) replaceable {
			return onAPair(t, "postgres-lossy", func(s *testkit.Server) system { return leaf(t, postgreSQL.on(s)) })
		}, inAFolder},
		"rediscount, promoted replica of Redis": {func(t *testing.T) replaceable {
			return onAPair(t, "redis", func(s *testkit.Server) system { return onRedisOf(t, s).system(s) })
		}, inAFolder},
		"leafalloc, restored dump of MariaDB": {func(t *testing.T) replaceable { return inADump(t, systems["leafalloc"](t)) }, inAFolder},
		"tinyid, restored dump of MariaDB":    {func(t *testing.T) replaceable { return inADump(t, systems["tinyid"](t)) }, byOrders},
		"flickr, restored dump of MariaDB":    {func(t *testing.T) replaceable { return inADump(t, systems["flickr"](t)) }, inAFolder},
	} {
		t.Run(name, func(t *testing.T) {
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
			before := counter.Guarded(r.process(t), guard, "orders")
			draw(before)
			if err := r.copy(); err != nil {
				t.Fatal(err)
			}
			lost, last := draw(before), draw(before).Last()
			if err := r.replace(&r.system); err != nil {
				t.Fatal(err)
			}
			tickets := counter.NewTickets(counter.Guarded(r.process(t), guard, "orders"), counter.Config{Name: "orders"})
			defer tickets.Close(t.Context()) //nolint:errcheck // nothing is left behind
			id, err := tickets.Next(t.Context())
			var back *counter.BackwardsError
			if !errors.As(err, &back) || back.Next != lost.First || back.Mark != last || back.By != guard.String() || back.Counter != "orders" {
				t.Fatalf("the copy gives %d (%v), want that %d is refused, as %d is in use", id, err, lost.First, last)
			}
			for range 10 { // refused numbers are gaps, so the copy gets past the mark
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
	shop := mariaDB.within(t, mariaDB.hasty()).admin(t)
	do(t, shop, "CREATE TABLE orders (id bigint PRIMARY KEY)")
	greatest := func(context.Context) (int64, error) {
		return read[int64](t, shop, "SELECT COALESCE(MAX(id), -1) FROM orders"), nil
	}
	return counter.QueryGuard{Name: "max(id) of orders", Greatest: greatest},
		func(last int64) { do(t, shop, "INSERT INTO orders VALUES ("+strconv.FormatInt(last, 10)+")") }
}

// onAPair is a server with a replica that follows asynchronously.
func onAPair(t *testing.T, name string, start func(*testkit.Server) system) replaceable {
	t.Helper()
	_, pair := testkit.StartPair(t, name)
	return replaceable{start(pair.Primary), func() error {
		_, err := pair.Part(t.Context())
		return err
	}, func(y *system) error {
		pair.Primary.Kill()
		err := pair.Promote(t.Context())
		y.server = pair.Primary
		return err
	}}
}

// inADump is a database of MariaDB that an earlier dump replaces.
func inADump(t *testing.T, y system) replaceable {
	t.Helper()
	dump := filepath.Join(y.server.Dir, y.database+".sql")
	run := func(program string, arguments ...string) error {
		arguments = append([]string{"--no-defaults", "--protocol=tcp", "--host=127.0.0.1", "--port=" + strconv.Itoa(y.server.Ports[0]),
			"--user=" + testkit.SQLUser, "--password=" + testkit.SQLPassword}, append(arguments, y.database)...)
		_, err := y.server.Run(t.Context(), program, arguments...)
		return err
	}
	return replaceable{y,
		func() error { return run("mariadb-dump", "--single-transaction", "--result-file="+dump) },
		func(*system) error {
			do(t, y.admin(t), "DROP DATABASE "+y.database, "CREATE DATABASE "+y.database)
			return run("mariadb", "--execute=source "+dump)
		}}
}
