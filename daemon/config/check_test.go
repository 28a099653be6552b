package config

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestWindowThatTheLossOutlastsIsNamedWithItsPlace(t *testing.T) {
	for file, want := range map[string]string{
		"store: redis://host\ngenerators: {a: {window: 45s}, b: {worker: 3}, c: {window: 46s}}": `config: %:2:26: generators.a.window: "45s": must be more than three times what the store can lose, 15s
config: %:2:32: generators.b.window: "5s": must be more than three times what the store can lose, 15s`,
		"store: redis://host?loss=1s\nstores: {durable: 'postgres://u@h/d?durable=true', nats: 'nats://h'}\ngenerators: {a: {window: 3s}, b: {window: 3s, store: durable, namespace: b}, c: {store: nats, namespace: c}}": `config: %:3:26: generators.a.window: "3s": must be more than three times what the store can lose, 1s
config: %:3:78: generators.c.window: "1m0s": must be more than three times what the store can lose, 2m30s`,
		"store: etcd://host\ngenerators: {a: {window: 1s}}": "<nil>",
	} {
		path := write(t, file)
		if got := fmt.Sprint(load(t, Sources{File: path}).CheckWindows()); got != strings.ReplaceAll(want, "%", path) {
			t.Errorf("%s:\n%s\nwant\n%s", file, got, want)
		}
	}
}

func TestLayoutThatIsNotGivenIsTheNamespaces(t *testing.T) {
	for file, want := range map[string]map[string]bool{
		"generators: {a: {namespace: x}, b: {layout: twitter}}": {"a": true, "b": false},
		"layout: twitter\ngenerators: {a: {}}":                  {"a": false},
		"generators: {a: {preset: twitter}}":                    {"a": false},
		"generators: {a: {kind: wide}}":                         {"a": false},
		"{}":                                                    {"default": true},
	} {
		c := load(t, Sources{File: write(t, file)})
		for name, free := range want {
			g := c.Generators[name]
			if g.AnyLayout != free || g.Fence().Layout.IsZero() != free || g.Layout.IsZero() {
				t.Errorf("%s: %s: any layout is %v, want %v: %s", file, name, g.AnyLayout, free, g.Layout)
			}
		}
		again, err := c.Complete()
		if err != nil || !slices.EqualFunc(again.Names(), c.Names(), func(a, b string) bool { return again.Generators[a].AnyLayout == c.Generators[b].AnyLayout }) {
			t.Errorf("%s: completed again: %v", file, err)
		}
	}
}

func TestLayoutIsWarnedOfUnlessItHoldsForAYear(t *testing.T) {
	c := load(t, Sources{File: write(t, "layout: ms41-worker10-seq12@2026-01-01")})
	l, notice := c.Generators["default"].Layout, c.Generators["default"].filled.complete.HorizonNotice
	for _, x := range []struct {
		at   time.Time
		want string
	}{
		{l.Epoch, ""},
		{l.Epoch.Add(-time.Nanosecond), "lies ahead"},
		{l.Horizon(), "ran out on 2095-09-07"},
		{l.Horizon().Add(-time.Nanosecond), "runs out on 2095-09-07"},
		{l.Horizon().Add(-notice + 1), "runs out on 2095-09-07"},
		{l.Horizon().Add(-notice), ""},
	} {
		got := strings.Join(c.LayoutWarnings(x.at), "\n")
		if (got == "") != (x.want == "") || !strings.Contains(got, x.want) || got != "" && !strings.Contains(got, "snowfence.yaml:1:9: generators.default.layout: ") {
			t.Errorf("at %s: %q, want %q", x.at, got, x.want)
		}
	}
}

func TestAddressBeyondLoopbackNeedsTLSAndATokenOrInsecure(t *testing.T) {
	const tls, ca, token = "tls: {certificate: c.pem, key: k.pem", ", client-ca: ca.pem}", "\ntoken-file: token"
	for file, ok := range map[string]bool{
		"http: 127.0.0.1:7600": true, "http: 127.3.2.1:0": true, "http: '[::1]:7600'": true, "http: localhost:7600": true, "http: ''": true,
		"http: :7600": false, "http: 0.0.0.0:7600": false, "http: '[::]:7600'": false, "http: 10.0.0.1:7600": false, "http: ids.example:7600": false,
		"http: :7600\n" + tls + "}": false, "http: :7600" + token: false, "http: :7600\n" + tls + "}" + token: true, "http: :7600\n" + tls + ca: true,
		"resp: :7601": false, "admin: :7610": false, "tls: {client-ca: ca.pem}": false, "http: :7600\ninsecure: true": true,
		"http: 127.0.0.1:http": false, "http: 127.0.0.1:65536": false, "http: '7600'": false,
	} {
		if _, err := read(Sources{File: write(t, file), Environ: []string{"HOME=/h"}}); (err == nil) != ok {
			t.Errorf("%s: error is %v", file, err)
		}
	}
}

func TestWorkerIDIsPinnedInTheFencesNumbering(t *testing.T) {
	c := load(t, Sources{File: write(t, "generators: {a: {preset: twitter, datacenter: 3, worker: 7}}")})
	g := c.Generators["a"]
	f := g.Fence()
	if f.Worker == nil || *f.Worker != 3<<5|7 || f.Datacenter != nil {
		t.Errorf("worker is %v, datacenter %v, want worker %d alone", f.Worker, f.Datacenter, 3<<5|7)
	}
	if window := g.InEffect().Window; window != 5*time.Second {
		t.Errorf("window is %s, want 5s for a pinned worker", window)
	}
}

func TestGeneratorThatStandsByWaitsForAnyTimeAndShowsNone(t *testing.T) {
	g := load(t, Sources{File: write(t, "store: file:/shared\ngenerators: {a: {layout: ms41-seq22, standby: true}}")}).Generators["a"]
	if wait := g.Fence().ClaimWait; wait < 100*365*24*time.Hour {
		t.Errorf("it waits for %s", wait)
	}
	if wait := g.InEffect().ClaimWait; wait != 0 {
		t.Errorf("it shows a claim-wait of %s", wait)
	}
}

func TestDefaultIsLeftToTheFence(t *testing.T) {
	for file, want := range map[string]time.Duration{"{}": 0, "generators: {default: {policy: {max-wait: 1s}}}": time.Second} {
		g := load(t, Sources{File: write(t, file)}).Generators["default"]
		if got := g.Fence().Policy.MaxWait; got != want {
			t.Errorf("%s: the fence waits for %s, want %s", file, got, want)
		}
		if got := g.InEffect().Policy.MaxWait; got != time.Second {
			t.Errorf("%s: %s is in effect, want 1s", file, got)
		}
	}
}

func TestCompleteTwiceIsCompleteOnce(t *testing.T) {
	once := load(t, Sources{File: write(t, everything), Kinds: []string{"ticket"}})
	twice, err := once.Complete("ticket")
	if err != nil {
		t.Fatal(err)
	}
	if got, want := twice.Values(), once.Values(); !slices.Equal(got, want) {
		t.Errorf("values are\n%v\nwant\n%v", got, want)
	}
}

func TestGeneratorIsJudgedAgainOnlyIfItChanged(t *testing.T) {
	once := load(t, Sources{})
	twice, err := once.Complete()
	if err != nil || twice.Generators["default"].filled != once.Generators["default"].filled {
		t.Errorf("an unchanged generator is judged again: %v", err)
	}
	g := twice.Generators["default"]
	g.Window = time.Hour
	twice.Generators["default"] = g
	if again, err := twice.Complete(); err != nil || again.Generators["default"].InEffect().Window != time.Hour {
		t.Errorf("a changed generator is not judged again: %v", err)
	}
	g.Window = 1
	twice.Generators["default"] = g
	if _, err := twice.Complete(); err == nil {
		t.Error("a window of 1 ns is taken")
	}
}

func TestThriftGeneratorIsDefaultOrOneThatExists(t *testing.T) {
	for name, ok := range map[string]bool{"": true, DefaultGenerator: true, "orders": true, "order": false} {
		got, err := Config{Store: "mem:", ThriftGenerator: name, Generators: map[string]Generator{"orders": {}}}.Complete()
		if want := cmp.Or(name, DefaultGenerator); (err == nil) != ok || got.ThriftGenerator != want {
			t.Errorf("%q: means %q, want %q: %v", name, got.ThriftGenerator, want, err)
		}
	}
}
