//go:build servers

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/builtin"
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

// The configuration needs no server but the daemon: its store is a folder.
func TestOneConfigNamesAllIDsOfACompany(t *testing.T) {
	t.Parallel()
	config := block(t, "kinds.md", "yaml\n")
	folder := t.TempDir()
	keys, numberKeys := filepath.Join(folder, "order.keys"), filepath.Join(folder, "number.keys")
	config = strings.NewReplacer("file:/var/lib/snowfence", "file:"+filepath.Join(folder, "store"), "/etc/snowfence/order.keys", keys, "NUMBER_KEYS", numberKeys).Replace(config + more)
	file := filepath.Join(folder, "ids.yaml")
	for name, text := range map[string]string{keys: "a " + strings.Repeat("0f1e", 16) + "\n", numberKeys: "a " + strings.Repeat("1e2d", 16) + "\n", file: config} {
		write(t, name, text)
	}
	v := verbs{"--config", file}
	seen := once[string]{}
	for round := range 2 { // with a kill in between
		d := startDaemon(t, append(v, "--data", t.TempDir())...)
		var listed struct {
			Generators []struct{ Name, Kind string }
		}
		call(t, "GET", d.URL+"/v1/generators", &listed)
		var served []string
		for _, g := range listed.Generators {
			served = append(served, g.Kind)
			texts := v.mint(t, d, g.Name, seen)
			if len(texts) != 5 {
				t.Fatalf("%s: minted %q", g.Name, texts)
			}
			if round == 0 {
				v.decodeBoth(t, d.URL, g.Name, texts[0]) // by the daemon
				v.decodeBoth(t, d.URL, g.Name, texts[4]) // by next
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
func (v verbs) decodeBoth(t *testing.T, at, generator, text string) {
	t.Helper()
	type answer struct{ ID, Format, Time, Generator string }
	var front, line answer
	call(t, "GET", fmt.Sprintf("%s/v1/decode/%s?generator=%s", at, url.PathEscape(text), generator), &front)
	if err := json.Unmarshal([]byte(v.run(t, "decode", "--generator", generator, "-o", "json", text)), &line); err != nil || front != line || front.ID == "" {
		t.Errorf("%s of %s is decoded as %+v by the daemon, and as %+v by the command line, %v", text, generator, front, line, err)
	}
	if made, err := time.Parse(time.RFC3339, front.Time); front.Time != "" && (err != nil || time.Since(made).Abs() > time.Hour) {
		t.Errorf("%s of %s has the time %s", text, generator, front.Time)
	}
}
