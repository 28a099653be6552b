package metrics

import (
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/internal/testkit"
)

// writePage is given by "make pages".
var writePage = flag.Bool("metrics.write", false, "write docs/metrics.md")

const pageHead = `# Metrics

` + "`/metrics`" + ` of the daemon is for Prometheus: the metrics below, each with its labels, and those of Go and of the process
(` + "`go_…`, `process_…`" + `). Where the daemon asks for tokens, ` + "`snowfence token prometheus --generators -`" + ` makes one for metrics alone.
[Operating](operate.md) has alerts and a dashboard. ` + "`make pages`" + ` writes this page.

`

// every keeps the registered collectors.
type every struct {
	prometheus.Registerer
	collectors []prometheus.Collector
}

func (e *every) Register(c prometheus.Collector) error {
	e.collectors = append(e.collectors, c)
	return nil
}

// described matches the text of a [prometheus.Desc].
var described = regexp.MustCompile(`^Desc\{fqName: "(\w+)", help: "(.*)", unit: "", constLabels: \{(.*)\}, variableLabels: \{(.*)\}\}$`)

// rows returns the rows of the page.
func rows(t *testing.T) []string {
	t.Helper()
	var all every
	if _, err := NewStopwatch(snowfence.SystemClock().Monotonic, &all); err != nil {
		t.Fatal(err)
	}
	all.collectors = append(all.collectors, NewFront("http", snowfence.SystemClock().Monotonic),
		newBuild("test"), NewCertificate(snowfence.SystemClock().Wall), NewClock(snowfence.SystemClock().Wall), NewPools(nil), NewCollector(service.New(service.Config{Settings: config.Default()})))
	var rows []string
	for _, c := range all.collectors {
		descs := make(chan *prometheus.Desc, 100)
		c.Describe(descs)
		close(descs)
		for d := range descs {
			parts := described.FindStringSubmatch(d.String())
			if parts == nil {
				t.Fatal(d)
			}
			labels := strings.FieldsFunc(parts[4], func(r rune) bool { return r == ',' })
			if name, _, ok := strings.Cut(parts[3], "="); ok {
				labels = append([]string{name}, labels...)
			}
			metric := parts[1]
			if len(labels) > 0 {
				metric += "{" + strings.Join(labels, ",") + "}"
			}
			rows = append(rows, fmt.Sprintf("- `%s`: %s\n", metric, parts[2]))
		}
	}
	slices.Sort(rows)
	return slices.Compact(rows)
}

func TestPageOfTheMetricsIsUpToDate(t *testing.T) {
	testkit.Page(t, "../../../docs/metrics.md", pageHead+strings.Join(rows(t), ""), *writePage)
}
