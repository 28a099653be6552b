package builtin

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/kind/kindtest"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/store/memstore"
)

// with returns the kinds' config for one generator, named orders.
func with(t *testing.T, g config.Generator) Config {
	t.Helper()
	settings := config.Default()
	settings.Store = "mem://"
	settings.Stores = map[string]string{
		"marks": "file:/marks", "pg": "postgres://u@h/d", "one": "mysql://u@h/d", "two": "mariadb://u@i/d", "cache": "redis://h", "gone": "mem://",
	}
	settings.Generators = map[string]config.Generator{"orders": g}
	settings, err := settings.Complete(Names()...)
	if err != nil {
		t.Fatal(err)
	}
	return Config{Settings: settings, Clock: snowfence.SystemClock(), Logger: slog.New(slog.DiscardHandler)}
}

// opened opens a generator of a config on an empty store, and closes it with the test.
func opened(t *testing.T, c Config, generator string) kind.Minter {
	t.Helper()
	open, err := c.Configure(generator)
	if err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), kind.Spec{Generator: generator, Store: memstore.New().Client(), Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.(kind.Closer).Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return m
}

func TestEveryKindOnAStoreKeepsTheRulesOfKinds(t *testing.T) {
	for _, name := range []string{"segment", "ticket", "daily"} {
		t.Run(name, func(t *testing.T) {
			kindtest.TestMinter(t, func(t *testing.T) kind.Minter {
				t.Helper()
				m := opened(t, with(t, config.Generator{Kind: name}), "orders")
				if err := kind.CapsOf(m).Ready(); err != nil {
					t.Errorf("not ready: %v", err)
				}
				return m
			})
		})
	}
}

func TestSettingThatCanNotBeUsedIsNamed(t *testing.T) {
	for _, test := range []struct{ kind, stores, key, value, want string }{
		{"segment", "", "step", "0", "1 or more"},
		{"segment", "", "steps", "5", "known are guard, guard-column, increment, limit, max-wait, most-step, name, start, step, target"},
		{"segment", "", "target", "-1s", "above 0"},
		{"segment", "", "guard", "nowhere", "one of the names in stores"},
		{"segment", "marks", "guard", "marks", "another store than that of the generator"},
		{"ticket", "", "guard", "cache", "durable=true in its URL declares it, and redis://h can lose 15s"},
		{"segment", "", "guard-column", "orders.id", "needs guard to name a database"},
		{"ticket", "", "start", "0", "1 or more"},
		{"ticket", "", "step", "5", "no setting of kind ticket"},
		{"daily", "", "zone", "Nowhere/Else", "time zone"},
		{"daily", "", "zone", "Local", "time zone"},
		{"daily", "", "digits", "x", "whole number"},
		{"daily", "", "guard", "marks", "no setting of kind daily"},
		{"series", "pg", "first", "0", "1 or more"},
		{"series", "pg", "timeout", "1us", "from 1ms to 8784h"},
		{"segment", "marks", "guard", "gone", "there after this process"},
		{"leaf-segment", "pg", "step", "5", "no setting of kind leaf-segment"},
		{"tinyid", "one", "tries", "0", "1 or more"},
		{"tickets64", "one,two", "skip", "x", "a duration"},
		{"redis-dated", "cache", "length", "x", "whole number"},
		{"redis-dated", "cache", "length", "30", "from 1 to 10"},
		{"segment", "", "increment", "9999999999", "from 1 to 2147483647"},
		{"segment", "", "most-step", "5", "at least the step"},
		{"ticket", "", "name", "Bad Name", "a-z0-9"},
		{"daily", "", "digits", "30", "from 1 to 18"},
		{"daily", "", "start", "1000000", "at most 999999"},
		{"daily", "", "prefix", "a b", "visible ASCII"},
		{"series", "pg", "prefix", "a b", "visible ASCII"},
		{"uuid", "", "version", "8", "must be 4 or 7"},
		{"uuid", "", "versions", "7", "no setting of kind uuid; known are version"},
		{"ulid", "", "version", "7", "no setting of kind ulid; known are none"},
		{"objectid", "", "start", "1", "no setting of kind objectid; known are none"},
	} {
		stores := strings.FieldsFunc(test.stores, func(r rune) bool { return r == ',' })
		_, err := with(t, config.Generator{Kind: test.kind, Stores: stores, Settings: map[string]string{test.key: test.value}}).Configure("orders")
		var wrong *config.Error
		if !errors.As(err, &wrong) || wrong.Key != "generators.orders.settings."+test.key || !strings.Contains(wrong.Reason, test.want) {
			t.Errorf("%s: %s=%s: %v, want %q", test.kind, test.key, test.value, err, test.want)
		}
	}
}

func TestColumnOfAGuardIsOneOfATable(t *testing.T) {
	for column, fit := range map[string]bool{"orders.id": true, "shop.orders.id": true, "id": false, "orders.": false} {
		_, err := with(t, config.Generator{Kind: "segment", Settings: map[string]string{"guard": "pg", "guard-column": column}}).Configure("orders")
		if (err == nil) != fit {
			t.Errorf("%q: %v", column, err)
		}
	}
}

func TestKindCountsInStoresThatItKnows(t *testing.T) {
	const other = "counts in databases of"
	for _, test := range []struct {
		kind   string
		stores []string
		want   string // empty if it can
	}{
		{"segment", []string{"pg"}, ""},
		{"segment", []string{"pg", "one"}, "must be one name"},
		{"ticket", []string{"marks"}, ""},
		{"ticket", []string{"cache"}, "needs a store that loses nothing"},
		{"redis-dated", []string{"cache"}, ""},
		{"redis-dated", nil, "counts on redis, and not on mem://"},
		{"series", []string{"pg"}, ""},
		{"series", []string{"two"}, ""},
		{"series", []string{"cache"}, other},
		{"series", nil, other},
		{"leaf-segment", []string{"one"}, ""},
		{"leaf-segment", []string{"marks"}, other},
		{"tinyid", []string{"pg"}, other + " mysql, and not in postgres://u@h/d"},
		{"tickets64", []string{"one", "two"}, ""},
		{"tickets64", []string{"one", "pg"}, other},
		{"leaf-segment", []string{"one", "two"}, "must be one name"},
		{"uuid", nil, ""},
		{"uuid", []string{"pg"}, "must be left out: kind uuid needs no store"},
		{"objectid", []string{"one", "two"}, "must be left out"},
	} {
		_, err := with(t, config.Generator{Kind: test.kind, Stores: test.stores}).Configure("orders")
		var wrong *config.Error
		switch {
		case test.want == "" && err != nil:
			t.Errorf("%s in %v: %v", test.kind, test.stores, err)
		case test.want != "" && (!errors.As(err, &wrong) || wrong.Key != "generators.orders.store" || !strings.Contains(wrong.Reason, test.want)):
			t.Errorf("%s in %v: %v, want %q", test.kind, test.stores, err, test.want)
		}
	}
}

func TestOnlyKindsThatCountOnAStoreNeedOne(t *testing.T) {
	for _, name := range append(Names(), "another") {
		want := !slices.Contains([]string{"series", "leaf-segment", "tinyid", "tickets64", "uuid", "ulid", "objectid", "opaque"}, name)
		if OnStore(name) != want {
			t.Errorf("%s: on a store is %t", name, !want)
		}
	}
}

func TestTableAgreesWithTheConfigurationOnWhichKindsAreFenced(t *testing.T) {
	for _, k := range table() {
		if g := (config.Generator{Kind: k.name}); g.Fenced() != k.worker {
			t.Errorf("%s: the configuration reports %t", k.name, g.Fenced())
		}
	}
}

// docs/counters.md and docs/kinds.md have between them a row for each setting of each kind.
func TestEverySettingIsDocumented(t *testing.T) {
	var rows []string
	for _, name := range []string{"counters.md", "kinds.md"} {
		page, err := os.ReadFile("../../docs/" + name)
		if err != nil {
			t.Fatal(err)
		}
		rows = slices.AppendSeq(rows, strings.Lines(string(page)))
	}
	for _, k := range table() {
		known, _, _ := k.configure(new(place))
		for key := range known {
			documented := slices.ContainsFunc(rows, func(row string) bool {
				cells := strings.Split(row, "|")
				if len(cells) < 4 || !strings.Contains(cells[1], "`"+key+"`") {
					return false
				}
				of := strings.TrimSpace(cells[2])
				return strings.Contains(of, k.name) || strings.HasPrefix(of, "all but ") && !strings.Contains(of, k.name) || of == "the same"
			})
			if !documented {
				t.Errorf("setting %s of kind %s has no row", key, k.name)
			}
		}
	}
}

func TestCounterThatIsFullIsNotReady(t *testing.T) {
	m := opened(t, with(t, config.Generator{Kind: "ticket", Settings: map[string]string{"limit": "3", "max-wait": "1s"}}), "orders")
	var b kind.Batch
	if err := m.Mint(t.Context(), 3, &b); err != nil || kind.CapsOf(m).Ready() == nil {
		t.Errorf("minted %d (%v), and it is ready", b.Len(), err)
	}
	if err := m.Mint(t.Context(), 1, &b); err == nil || !strings.Contains(err.Error(), "3 is the greatest") {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestGuardOfASettingIsKeptInItsStore(t *testing.T) {
	c := with(t, config.Generator{Kind: "ticket", Settings: map[string]string{"guard": "marks", "max-wait": "1m"}})
	c.Settings.Stores["marks"] = "file:" + t.TempDir()
	mint := func() error { return opened(t, c, "orders").Mint(t.Context(), 7, new(kind.Batch)) } // on an empty store, like a restored dump
	if err := mint(); err != nil {
		t.Fatal(err)
	}
	var back *counter.BackwardsError
	if err := mint(); !errors.As(err, &back) || back.Next != 1 || back.Mark != 7 {
		t.Errorf("after the store was emptied: %v", err)
	}
}

func TestIDsAreReadAsTheirKindWritesThem(t *testing.T) {
	formats := Formats()
	for _, k := range table() {
		if k.worker { // by their layout
			continue
		}
		if reads := formats[k.name]; (k.form == kind.Number) != (reads == decode.Number) || (k.form == kind.Wide) != (reads == decode.UUID) {
			t.Errorf("%s mints the form %s and is read as %q", k.name, k.form, reads)
		}
	}
	dated := func(digits string) config.Generator {
		return config.Generator{Kind: "daily", Settings: map[string]string{"prefix": "INV2026", "digits": digits}}
	}
	for _, g := range []config.Generator{
		dated("1"), dated("9"), {Kind: "daily"}, {Kind: "segment"}, {Kind: "uuid"}, {Kind: "ulid"}, {Kind: "objectid"},
	} {
		for _, text := range mintTexts(t, opened(t, with(t, g), "orders"), 2) {
			if _, err := decode.Of(text, "", decode.Source{Kind: g.Kind, Format: formats[g.Kind], Settings: g.Settings}); err != nil {
				t.Errorf("%s %v: %s: %v", g.Kind, g.Settings, text, err)
			}
		}
	}
}
