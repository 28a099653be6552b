package metrics

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/roster"
)

// watched is an expression of the rules or the dashboard, with the texts that show its labels.
type watched struct{ expression, shown string }

// watching returns all expressions of the rules and of the dashboard.
func watching(t *testing.T) (all []watched) {
	t.Helper()
	var rules struct {
		Groups []struct {
			Rules []struct {
				Expr        string
				Annotations map[string]string
			}
		}
	}
	var dashboard struct {
		Templating struct{ List []struct{ Definition string } }
		Panels     []struct {
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	for file, into := range map[string]any{"prometheus/snowfence.rules.yml": &rules, "grafana/snowfence.json": &dashboard} {
		text, err := os.ReadFile("../../../deploy/" + file)
		read := json.Unmarshal
		if strings.HasSuffix(file, ".yml") {
			read = yaml.Unmarshal
		}
		if err == nil {
			err = read(text, into)
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
	}
	for _, r := range rules.Groups[0].Rules {
		all = append(all, watched{r.Expr, r.Annotations["summary"] + r.Annotations["description"]})
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			all = append(all, watched{target.Expr, target.LegendFormat})
		}
	}
	for _, v := range dashboard.Templating.List {
		all = append(all, watched{v.Definition, ""})
	}
	return all
}

// labelsOf returns the labels of each metric, including labels of a target.
func labelsOf(t *testing.T) map[string][]string {
	t.Helper()
	registry, err := NewRegistry("")
	if err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	labels := map[string][]string{"up": {"job", "instance"}}
	for _, f := range families {
		labels[f.GetName()] = labels["up"]
	}
	named := regexp.MustCompile("`(\\w+)(?:\\{([^}]*)\\})?`")
	for _, row := range rows(t) {
		m := named.FindStringSubmatch(row)
		labels[m[1]] = append(strings.Split(m[2], ","), "job", "instance", "le")
	}
	return labels
}

func TestRulesAndDashboardNameMetricsAndLabelsThatExist(t *testing.T) {
	labels := labelsOf(t)
	values := []string{resultOK, resultNotFound, resultConflict, resultError, operationGet, operationSwap, operationList}
	for i := range front.Types {
		values = append(values, front.Type(i).String())
	}
	for _, state := range roster.States() {
		values = append(values, string(state))
	}
	selector := regexp.MustCompile(`\b(up|(?:snowfence|process|go)_\w+)(\{[^}]*\})?`)
	matcher := regexp.MustCompile(`(\w+)(?:=~|!=|=)"([^"]*)"`)
	grouped := regexp.MustCompile(`\b(?:by|on|group_left) \(([^)]*)\)`)
	shown := regexp.MustCompile(`\{\{(?: \$labels\.)?(\w+) ?\}\}`)
	queries := watching(t)
	for _, w := range queries {
		some := []string{}
		for _, m := range selector.FindAllStringSubmatch(w.expression, -1) {
			name := m[1]
			for _, part := range []string{"_bucket", "_sum", "_count"} {
				if whole, ok := strings.CutSuffix(name, part); ok && labels[whole] != nil {
					name = whole
				}
			}
			if labels[name] == nil {
				t.Errorf("no metric is named %s: %s", name, w.expression)
			}
			some = append(some, labels[name]...)
			for _, x := range matcher.FindAllStringSubmatch(m[2], -1) {
				if !slices.Contains(labels[name], x[1]) {
					t.Errorf("%s has no label %s", name, x[1])
				}
				for value := range strings.SplitSeq(x[2], "|") {
					if !strings.HasPrefix(value, "$") && !slices.Contains(values, value) {
						t.Errorf("%s never has %s %q", name, x[1], value)
					}
				}
			}
		}
		for _, list := range grouped.FindAllStringSubmatch(w.expression, -1) {
			for label := range strings.SplitSeq(list[1], ", ") {
				if label != "" && !slices.Contains(some, label) {
					t.Errorf("no metric has the label %s: %s", label, w.expression)
				}
			}
		}
		for _, m := range shown.FindAllStringSubmatch(w.shown, -1) {
			if !slices.Contains(some, m[1]) {
				t.Errorf("%s shows the label %s: %s", w.shown, m[1], w.expression)
			}
		}
	}
	if len(queries) < 60 {
		t.Errorf("%d expressions were read", len(queries))
	}
}
