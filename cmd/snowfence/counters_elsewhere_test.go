//go:build servers

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
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

// newElsewhere is a configuration of every kind that counts in databases and Redis, beside two that
// count on registers, with the servers that it names.
func newElsewhere(t *testing.T) verbs {
	t.Helper()
	const tickets = "CREATE TABLE Tickets64 (id bigint unsigned NOT NULL auto_increment, stub char(1) NOT NULL default '', PRIMARY KEY (id), UNIQUE KEY stub (stub))"
	server := func(number string, more ...string) string {
		s := testkit.MariaDB(t, "--auto-increment-increment=2", "--auto-increment-offset="+number)
		at := testkit.SQLURL("mysql", s.Addr(), testkit.SQLDatabase)
		execute(t, at, append(more, tickets)...)
		return at
	}
	pg, _ := database(t, "postgres", leafTables, "INSERT INTO leaf_alloc (biz_tag, step) VALUES ('orders', 100)")
	stores := map[string]string{
		"pg":    pg + "?durable=true",
		"a":     server("1", tinyTables, "INSERT INTO tiny_id_info (biz_type, step) VALUES ('users', 100)"),
		"b":     server("2"),
		"cache": "redis://" + testkit.Redis(t).Addr() + "?loss=200ms",
		"marks": "file:" + t.TempDir(),
	}
	config := "stores:\n"
	for name, url := range stores {
		config += fmt.Sprintf("  %s: %q\n", name, url)
	}
	config += `generators:
  ids: {}
  tickets: {kind: ticket, store: pg, settings: {guard: marks}}
  orders: {kind: leaf-segment, store: pg, settings: {guard: marks}}
  members: {kind: tinyid, store: a, settings: {biz-type: users}}
  photos: {kind: tickets64, store: [a, b]}
  receipts: {kind: redis-dated, store: cache, settings: {length: "8", zone: Asia/Shanghai}}
  invoices: {kind: series, store: pg, settings: {prefix: INV-, first: "1000"}}
`
	return verbs{"--config", written(t, config), "--data", t.TempDir()}
}

// TestOneConfigCountsInOtherSystemsTables mints from the tables and keys of other systems by HTTP
// and by next, and reserves numbers of a series in both ways. It kills the daemon and begins again.
func TestOneConfigCountsInOtherSystemsTables(t *testing.T) {
	t.Parallel()
	v := newElsewhere(t)
	seen := once[string]{}
	for range 2 {
		d := startDaemon(t, v...)
		for _, generator := range []string{"ids", "tickets", "orders", "members", "photos", "receipts"} {
			v.mint(t, d, generator, seen)
		}
		v.reserve(t, d.URL)
		var standing struct {
			Generators []struct{ Ready bool }
		}
		call(t, "GET", d.URL+"/readyz", &standing)
		if len(standing.Generators) != 7 {
			t.Errorf("%d generators are ready, want 7", len(standing.Generators))
		}
		d.Kill()
	}
	if want := 2 * 6 * 5; len(seen) != want {
		t.Errorf("%d numbers, want %d", len(seen), want)
	}
	next := 1000
	for line := range strings.Lines(v.run(t, "series", "audit", "invoices", "--tenant", "acme", "-o", "json")) {
		var n struct{ Number, State, Reason string }
		err := json.Unmarshal([]byte(line), &n)
		if want := [][2]string{{"confirmed", ""}, {"void", spoilt}}[next%2]; err != nil || n.Number != strconv.Itoa(next) || [2]string{n.State, n.Reason} != want {
			t.Errorf("the audit shows %s, want %d, %s (%v)", line, next, want, err)
		}
		next++
	}
	if next != 1004 {
		t.Errorf("the audit ends at %d, want 4 numbers", next)
	}
}

const spoilt = "spoilt: ärgerlich"

// reserve reserves a number by HTTP, which the command line confirms, and one by the command line, which is voided by HTTP.
func (v verbs) reserve(t *testing.T, at string) {
	t.Helper()
	var one, two struct{ Number, ID, Token string }
	series := at + "/v1/generators/invoices/reservations"
	call(t, "POST", series+"?tenant=acme&timeout=1h", &one)
	if said, want := v.run(t, "series", "confirm", "invoices", one.Number, one.Token, "--tenant", "acme"), "INV-"+one.Number+" is confirmed\n"; said != want {
		t.Errorf("confirm printed %q, want %q", said, want)
	}
	if err := json.Unmarshal([]byte(v.run(t, "series", "reserve", "invoices", "--tenant", "acme", "-o", "json")), &two); err != nil {
		t.Fatal(err)
	}
	call(t, "POST", series+"/"+two.Number+"/void?tenant=acme&token="+two.Token+"&reason="+url.QueryEscape(spoilt), &two)
}

// TestLockedSeriesStopsNoOtherTenant holds the row of one tenant: who wants it gets an answer in
// time, and other tenants get numbers.
func TestLockedSeriesStopsNoOtherTenant(t *testing.T) {
	t.Parallel()
	at, db := database(t, "postgres")
	config := fmt.Sprintf("store: %q\ngenerators:\n  invoices: {kind: series, settings: {max-wait: 2s}}\n", at)
	file := written(t, config)
	d := startDaemon(t, "--config", file, "--data", t.TempDir())
	reservations := d.URL + "/v1/generators/invoices/reservations"
	post := func(tenant string) (status int, err error) {
		answer, err := askBy(t.Context(), http.DefaultClient, http.MethodPost, reservations+"?tenant="+tenant)
		return answer.status, err
	}
	reserves := func(tenant string) {
		t.Helper()
		testkit.Eventually(t, func(context.Context) error {
			status, err := post(tenant)
			if err == nil && status != http.StatusOK {
				err = errors.New(http.StatusText(status))
			}
			return err
		})
	}
	reserves("acme")

	tx, err := db.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "SELECT 1 FROM snowfence_series WHERE tenant = 'acme' FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	statuses := make(chan int)
	for range 20 {
		go func() {
			status, _ := post("acme") // without an answer it is 0
			statuses <- status
		}()
	}
	var n struct{ Number string }
	call(t, "POST", reservations+"?tenant=beta", &n)
	if n.Number != "1" {
		t.Errorf("the other tenant got number %s, want 1", n.Number)
	}
	for range 20 {
		if status := <-statuses; status != http.StatusServiceUnavailable {
			t.Errorf("the tenant that is locked was answered %d, want 503", status)
		}
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	reserves("acme") // the server goes on waiting for a while for clients that have left
}
