package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestVariableInAURLIsShownByItsName: its value may be a password, wherever it was put.
func TestVariableInAURLIsShownByItsName(t *testing.T) {
	for url, want := range map[string]string{
		"etcd://${PW}/db":             "etcd://${PW}/db",
		"postgres://${PW}@h/${PW}":    "postgres://${PW}@h/${PW}",
		"postgres://ids:${PW}@h:1/db": "postgres://ids:xxxxx@h:1/db",
	} {
		file := write(t, fmt.Sprintf("{stores: {a: %q}, store: a, generators: {x: {store: a}}}", url))
		c := load(t, Sources{File: file, Environ: []string{"PW=secret"}})
		for _, got := range []string{shown(t, c, "stores.a").Text, shown(t, c, "store").Text, c.ShowStore(c.Store)} {
			if got != want {
				t.Errorf("%s is shown as %s, want %s", url, got, want)
			}
		}
		_, err := read(Sources{File: file, Environ: []string{"PW=secret"}, Flags: map[string]string{"store": url + "?bogus=1"}})
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestURLInAWrongPlaceHidesItsPassword is about every text of a file that an error shows.
func TestURLInAWrongPlaceHidesItsPassword(t *testing.T) {
	for _, content := range []string{
		"%q: x", "limits: {%q: x}", "generators: {%q: {}}", "stores: {%q: mem}", "generators: {a: {%q: x}}", "namespace: %q", "store: %q",
		"limits: %q", "hosts: [%q, [a]]", "hosts: [[%q]]", "http: [%q]", "layout: %q", "generators: {a: {store: %q}}", "thrift-generator: %q",
		"%[1]q: x\n%[1]q: x", "{[%q]: x}", "generators: {a: {kind: %q}}", "generators: {a: {preset: %q}}", "generators: {a: {aliases: %q}}", "limits: {batch: %q}",
	} {
		for _, url := range []string{"postgres://ids:hush/db", "etcd://u:p@h1,u:hush", "host=h password='a hush'"} {
			if _, err := read(Sources{File: write(t, fmt.Sprintf(content, url))}); err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("%s: %v", content, err)
			}
		}
	}
}

// TestHostileFileIsRefusedInAShortLine is about files of at most a MiB, whose values are as long, or grow by aliases.
func TestHostileFileIsRefusedInAShortLine(t *testing.T) {
	long, aliases := strings.Repeat("x", 400_000), strings.Repeat("*a,", 2000)
	var many strings.Builder
	for n := range 50_000 {
		fmt.Fprintf(&many, "  g%d: {}\n", n)
	}
	for name, test := range map[string][2]string{
		"aliases":      {"namespace: &a " + long + "\nhosts: [" + aliases + "]\n", "must be at most 65536 bytes"},
		"small ones":   {"namespace: &a " + long[:1000] + "\nhosts: [" + aliases + "]\n", "must be at most 65536 bytes"},
		"empty ones":   {"namespace: &a ''\nhosts: [" + strings.Repeat("*a,", 300_000) + "]\n", "must be at most 65536 bytes"},
		"a value":      {"namespace: " + long + "\n", "must be at most 65536 bytes"},
		"a name":       {"generators:\n  ? " + long + "\n  : {}\n", "must be at most"},
		"a key":        {"? " + long + "\n: 1\n", "unknown key"},
		"a text":       {"limits: " + long + "\n", "must be a mapping"},
		"a list":       {"http: [" + long + "]\n", "must be a single value"},
		"an anchor":    {"namespace: *" + long + "\n", "not YAML"},
		"generators":   {"generators:\n" + many.String(), "must be at most 10000"},
		"much of them": {"a: &a {window: 1s, kind: snowflake, namespace: " + long[:1000] + "}\ngenerators: {" + strings.ReplaceAll(many.String()[:20000], "{}\n", "*a,\n") + "}", "with its aliases resolved"},
	} {
		_, err := read(Sources{File: write(t, test[0]), Environ: []string{"HOME=/home/someone"}})
		if !strings.Contains(fmt.Sprint(err), test[1]) {
			t.Errorf("%s: %.300v, want %q", name, err, test[1])
		}
		for line := range strings.Lines(fmt.Sprint(err)) {
			if len(line) > 1000 {
				t.Errorf("%s: an error of %d bytes: %.300s", name, len(line), line)
			}
		}
	}
}

// TestYAMLThatIsNoneOfOursSaysWhatToWrite is about faults that the YAML library's messages do not explain.
func TestYAMLThatIsNoneOfOursSaysWhatToWrite(t *testing.T) {
	for content, want := range map[string]string{
		"generators: {a: {kind: ticket, aliases: [*]}}": `quoted: "*"`,
		"generators: {a: {aliases: *}}":                 `quoted: "*"`,
		"hosts: *.example":                              `quoted: "*"`,
		"a: &a {window: 1m}\ngenerators: {x: {<<: *a}}": "write the keys themselves",
		"log: &a {level: info}\n<<: [*a]":               "write the keys themselves",
		"store: @h":                                     "quoted",
	} {
		refused(t, content, Sources{File: write(t, content)}, want)
	}
}
