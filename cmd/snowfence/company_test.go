//go:build servers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/internal/testkit"
)

// more are the generators that the company of docs/kinds.md does not need: with them every kind,
// and every form of opaque texts, has one.
const more = `
  traces:       {kind: uuid}
  articles:     {kind: wide, layout: objectid, namespace: articles}
  players:      {kind: wide, layout: game-server, namespace: players}
  order-number: {kind: opaque, settings: {of: orders, form: permuted, key-file: NUMBER_KEYS}}
  order-code:   {kind: opaque, settings: {of: orders, form: crockford}}
  user-short:   {kind: opaque, settings: {of: users, form: hashids, salt: pepper}}
  user-shorter: {kind: opaque, settings: {of: users, form: sqids, prefix: u}}
  payment-text: {kind: opaque, settings: {of: payments, form: typeid, prefix: payment}}
`

// elsewhereOnly are the kinds that count in a database or in Redis.
var elsewhereOnly = []string{"series", "leaf-segment", "tinyid", "tickets64", "redis-dated"}

// company writes the configuration of docs/kinds.md, with more, and returns its file.
func company(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../docs/kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	_, config, _ := strings.Cut(string(page), "```yaml\n")
	config, _, found := strings.Cut(config, "```")
	if !found {
		t.Fatal("docs/kinds.md has no configuration")
	}
	folder := t.TempDir()
	keys, numberKeys := filepath.Join(folder, "order.keys"), filepath.Join(folder, "number.keys")
	config = strings.NewReplacer("file:/var/lib/snowfence", "file:"+filepath.Join(folder, "store"), "/etc/snowfence/order.keys", keys, "NUMBER_KEYS", numberKeys).Replace(config + more)
	file := filepath.Join(folder, "ids.yaml")
	for name, text := range map[string]string{keys: "a " + strings.Repeat("0f1e", 16) + "\n", numberKeys: "a " + strings.Repeat("1e2d", 16) + "\n", file: config} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// The configuration needs no server but the daemon: its store is a folder.
func TestOneConfigNamesAllIDsOfACompany(t *testing.T) {
	binary, file := testkit.Build(t, programPath, ""), company(t)
	e := elsewhere{binary: binary, arguments: []string{"--config", file}, client: testkit.Client()}
	defer e.client.CloseIdleConnections()
	seen := map[string]bool{}
	for round := range 2 { // with a kill in between
		d := testkit.StartDaemon(t, binary, nil, append(e.arguments, "--data", t.TempDir())...)
		var listed struct {
			Generators []struct{ Name, Kind string }
		}
		e.call(t, "GET", d.URL+"/v1/generators", &listed)
		var served []string
		for _, g := range listed.Generators {
			served = append(served, g.Kind)
			var texts []string
			testkit.Eventually(t, func(ctx context.Context) (err error) {
				texts, err = testkit.MintTexts(ctx, e.client, d.URL, g.Name, 3)
				return err
			})
			texts = append(texts, strings.Fields(e.run(t, "next", "--generator", g.Name, "-n", "2"))...)
			if len(texts) != 5 {
				t.Errorf("%s: minted %q", g.Name, texts)
			}
			for _, text := range texts {
				if key := g.Name + " " + text; seen[key] {
					t.Errorf("round %d: %s came twice", round, key)
				} else {
					seen[key] = true
				}
				if round == 0 {
					e.decodeBoth(t, d.URL, g.Name, text)
				}
			}
		}
		for _, kind := range builtin.Names() {
			if slices.Contains(served, kind) == slices.Contains(elsewhereOnly, kind) {
				t.Errorf("of kind %s there is a generator: %t", kind, slices.Contains(served, kind))
			}
		}
		d.Kill()
	}
}

// decodeBoth has the daemon and the command line decode an id, which must agree.
func (e elsewhere) decodeBoth(t *testing.T, at, generator, text string) {
	t.Helper()
	type answer struct{ ID, Format, Time, Generator string }
	var front, line answer
	e.call(t, "GET", fmt.Sprintf("%s/v1/decode/%s?generator=%s", at, url.PathEscape(text), generator), &front)
	out, err := exec.Command(e.binary, append([]string{"decode", "--generator", generator, "-o", "json", text}, e.arguments...)...).Output()
	if err == nil {
		err = json.Unmarshal(out, &line)
	}
	if err != nil || front != line || front.ID == "" {
		t.Errorf("%s of %s is decoded as %+v by the daemon, and as %+v by the command line, %v", text, generator, front, line, err)
	}
	if made, err := time.Parse(time.RFC3339, front.Time); front.Time != "" && (err != nil || time.Since(made).Abs() > time.Hour) {
		t.Errorf("%s of %s has the time %s", text, generator, front.Time)
	}
}
