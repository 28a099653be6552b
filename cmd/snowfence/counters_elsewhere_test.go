//go:build servers

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

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
	documents := map[string]string{} // the fate of each number of the series
	for range 2 {
		d := startDaemon(t, v...)
		for _, generator := range []string{"ids", "tickets", "orders", "members", "photos", "receipts"} {
			v.mint(t, d, generator, seen)
		}
		v.reserve(t, d.URL, documents)
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
	v.audit(t, documents)
}

// reserve reserves four numbers: one is confirmed, one voided, one left, by HTTP; one confirmed by
// the command line.
func (v verbs) reserve(t *testing.T, at string, documents map[string]string) {
	t.Helper()
	type number struct{ Number, ID, State, Token string }
	series := at + "/v1/generators/invoices/reservations"
	for _, end := range []string{"confirm", "void", ""} {
		var n number
		call(t, "POST", series+"?tenant=acme&timeout=1h", &n)
		if _, twice := documents[n.Number]; twice || n.ID != "INV-"+n.Number {
			t.Errorf("number %s, %s, came twice or has another prefix", n.Number, n.ID)
		}
		documents[n.Number] = "reserved"
		if end == "" {
			continue
		}
		query := "?tenant=acme&token=" + n.Token
		if end == "void" {
			query += "&reason=" + url.QueryEscape("spoilt: ärgerlich")
		}
		var ended number
		call(t, "POST", series+"/"+n.Number+"/"+end+query, &ended)
		documents[n.Number] = ended.State
	}
	var n number
	if err := json.Unmarshal([]byte(v.run(t, "series", "reserve", "invoices", "--tenant", "acme", "-o", "json")), &n); err != nil {
		t.Fatal(err)
	}
	if said, want := v.run(t, "series", "confirm", "invoices", n.Number, n.Token, "--tenant", "acme"), n.ID+" is confirmed\n"; said != want {
		t.Errorf("confirm said %q, want %q", said, want)
	}
	documents[n.Number] = "confirmed"
}

// audit holds the list of a series to the fate of its numbers.
func (v verbs) audit(t *testing.T, documents map[string]string) {
	t.Helper()
	next := 1000
	for line := range strings.Lines(v.run(t, "series", "audit", "invoices", "--tenant", "acme", "-o", "json")) {
		var n struct{ Number, State, Reason string }
		if err := json.Unmarshal([]byte(line), &n); err != nil {
			t.Fatal(err)
		}
		if n.Number != strconv.Itoa(next) || n.State != documents[n.Number] || (n.State == "void") != (n.Reason == "spoilt: ärgerlich") {
			t.Errorf("number %s is %s (%s), want %d, %s", n.Number, n.State, n.Reason, next, documents[n.Number])
		}
		next++
	}
	if next != 1000+len(documents) || len(documents) != 8 {
		t.Errorf("the audit ends at %d, want %d numbers", next, len(documents))
	}
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
