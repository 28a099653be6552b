//go:build servers

package main

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestSchemaIsAllThatAUserWithoutRightsNeeds has an administrator make the schema, for a user who can't.
func TestSchemaIsAllThatAUserWithoutRightsNeeds(t *testing.T) {
	t.Parallel()
	admin, _ := database(t, "postgres", "CREATE ROLE schemaless LOGIN PASSWORD '"+testkit.SQLPassword+"'")
	file := configured(t, strings.Replace(admin, testkit.SQLUser, "schemaless", 1), "  orders: {}\n  invoices: {kind: series}\n  leaf: {kind: leaf-segment}\n")
	verb := func(want int, args ...string) string {
		t.Helper()
		p, _, _ := inTest(t)
		stdout, stderr := p.must(t, want, append(args, "--config", file)...)
		return stdout + stderr
	}
	for _, args := range [][]string{
		{"series", "reserve", "invoices"}, {"series", "confirm", "invoices", "1", "TOKEN"}, {"next", "-g", "orders"},
	} {
		if said := verb(exitUnavailable, args...); !strings.Contains(said, "'snowfence namespace schema'") || strings.Contains(said, "no rows") {
			t.Errorf("%s without tables: %s", args, said)
		}
	}
	execute(t, admin, verb(exitOK, "namespace", "schema"), "GRANT SELECT, INSERT, UPDATE ON ALL TABLES IN SCHEMA public TO schemaless",
		"INSERT INTO leaf_alloc (biz_tag, step) VALUES ('leaf', 10)")
	verb(exitOK, "series", "reserve", "invoices")
	verb(exitOK, "next", "-g", "orders")
	verb(exitOK, "next", "-g", "leaf")
}
