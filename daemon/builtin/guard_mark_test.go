//go:build servers

package builtin

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/openstore"
	"snowfence.example/snowfence/internal/testkit"
)

// TestColumnAboveSixtyThreeBitsIsRefusedAtOnce has a column with a number above every counter's limit.
func TestColumnAboveSixtyThreeBitsIsRefusedAtOnce(t *testing.T) {
	for name, of := range map[string]string{"postgres": "numeric(20,0)", "mysql": "bigint unsigned"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, db := database(t, name)
			for _, statement := range []string{"CREATE TABLE orders (id " + of + ")", "INSERT INTO orders VALUES (9223372036854775808)"} {
				if _, err := db.ExecContext(t.Context(), statement); err != nil {
					t.Fatal(err)
				}
			}
			err := mintBehind(t, url, "orders.id")
			var wrong *counter.ConfigError
			if errors.Is(err, counter.ErrUnavailable) || !errors.As(err, &wrong) || wrong.Value != "orders.id with 9223372036854775808" {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// TestGuardKnowsTheRowWhateverTheGeneratorsName has a key of Redis that goes back, and a generator that gets
// another name meanwhile. A generator of the old name that counts elsewhere has a mark of its own.
func TestGuardKnowsTheRowWhateverTheGeneratorsName(t *testing.T) {
	url := testkit.StartEngine(t, "redis").URL("", time.Second)
	redis, err := openstore.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer redis.Close() //nolint:errcheck // the server ends with the test
	marks, log := "file:"+t.TempDir(), new(bytes.Buffer)
	mint := func(generator, prefix string) error {
		t.Helper()
		c := with(t, config.Generator{Kind: "redis-dated", Stores: []string{"cache"}, Settings: map[string]string{"prefix": prefix, "guard": "marks"}})
		c.Settings.Stores["marks"], c.Settings.Stores["cache"], c.Logger = marks, url, slog.New(slog.NewTextHandler(log, nil))
		c.Settings.Generators[generator] = c.Settings.Generators["orders"]
		open, err := c.Configure(generator)
		if err != nil {
			t.Fatal(err)
		}
		m, err := open(t.Context(), kind.Spec{Generator: generator, Store: redis, Namespace: "default"})
		if err != nil {
			t.Fatal(err)
		}
		defer m.(kind.Closer).Close(t.Context()) //nolint:errcheck // the guard's store is a folder
		return m.Mint(t.Context(), 3, new(kind.Batch))
	}
	if err := mint("orders", "shop:order"); err != nil {
		t.Fatal(err)
	}
	if _, err := (commands{redis}).Do(t.Context(), "FLUSHALL"); err != nil {
		t.Fatal(err)
	}
	if err := mint("orders", "other"); err != nil {
		t.Errorf("another row of the same generator: %v", err)
	}
	if err := mint("orders-v2", "shop:order"); !errors.As(err, new(*counter.BackwardsError)) {
		t.Errorf("the same row by a generator with another name: %v", err)
	}
	if n := strings.Count(log.String(), "begins a new mark"); n != 2 || !strings.Contains(log.String(), "of=redis-dated/0/shop:order") {
		t.Errorf("a new mark is logged %d times, must be twice:\n%s", n, log)
	}
}

// TestRowOfAnotherSystemIsNamedByItsSetting has the names by which a guard keeps the mark of each system.
func TestRowOfAnotherSystemIsNamedByItsSetting(t *testing.T) {
	for _, test := range []struct{ kind, store, key, value, want string }{
		{"segment", "", "name", "bills", "default/bills"},
		{"leaf-segment", "pg", "max-wait", "1s", "leaf-segment/d/orders"},
		{"leaf-segment", "one", "tag", "Bills", "leaf-segment/d/Bills"},
		{"tinyid", "one", "biz-type", "bills", "tinyid/d/bills"},
		{"redis-dated", "cache", "prefix", "b", "redis-dated/0/b"},
	} {
		g := config.Generator{Kind: test.kind, Stores: strings.Fields(test.store), Settings: map[string]string{test.key: test.value}}
		c := with(t, g)
		p := place{Config: counter.Config{Namespace: "default", Name: "orders"}, config: c, generator: "orders", urls: c.Settings.StoresOf(g)}
		known, _, _ := find(test.kind).configure(&p)
		if err := read(test.kind, known, g.Settings); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(p.counted(), "/"); got != test.want {
			t.Errorf("%s with %s: it is %s, want %s", test.kind, test.key, got, test.want)
		}
	}
}
