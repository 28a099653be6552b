//go:build servers

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// Package metrics holds the names and labels of the rules and of the dashboard to the daemon's.
const rulesFile, dashboardFile = "../../deploy/prometheus/snowfence.rules.yml", "../../deploy/grafana/snowfence.json"

func TestRulesPassPromtoolAndTheirUnitTests(t *testing.T) {
	t.Parallel()
	tests := strings.Replace(rulesFile, ".yml", ".test.yml", 1)
	for _, arguments := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", tests}} {
		output(t, exec.CommandContext(t.Context(), "promtool", arguments...))
	}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(tests)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile(`- alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(text), `alertname="`+m[1]+`"`) {
			t.Errorf("no unit test fires %s", m[1])
		}
	}
}

// TestPrometheusReadsTheQueriesOfTheDashboard has promtool check them as rules.
func TestPrometheusReadsTheQueriesOfTheDashboard(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	rules, queries := "groups: [{name: dashboard, rules: [\n", 0
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			queries++
			rules += fmt.Sprintf("{record: query_%d, expr: %q},\n", queries, strings.ReplaceAll(target.Expr, "$__rate_interval", "10s"))
		}
	}
	if queries < 35 {
		t.Errorf("the dashboard has %d queries: the test reads it wrongly", queries)
	}
	file := filepath.Join(t.TempDir(), "queries.yml")
	write(t, file, rules+"]}]\n")
	output(t, exec.CommandContext(t.Context(), "promtool", "check", "rules", file))
}
