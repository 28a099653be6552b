//go:build servers

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

const rulesFile, dashboardFile = "../../deploy/prometheus/snowfence.rules.yml", "../../deploy/grafana/snowfence.json"

func TestRulesPassPromtoolAndTheirUnitTests(t *testing.T) {
	t.Parallel()
	tests := strings.Replace(rulesFile, ".yml", ".test.yml", 1)
	for _, arguments := range [][]string{{"check", "rules", rulesFile}, {"test", "rules", tests}} {
		if out, err := exec.CommandContext(t.Context(), "promtool", arguments...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", arguments, err, out)
		}
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

// observer is a Prometheus that looks at subjects each second, with the rules as they are but for how long they must hold.
type observer struct {
	t   *testing.T
	url string
}

func newObserver(t *testing.T, subjects []*subject) observer {
	t.Helper()
	targets := []string{}
	for _, s := range subjects {
		targets = append(targets, strings.TrimPrefix(s.current().URL, "http://"))
	}
	rules, err := os.ReadFile(rulesFile)
	if err != nil {
		t.Fatal(err)
	}
	server := testkit.StartServer(t, testkit.Program{
		Name: "prometheus", Package: "prometheus",
		Prepare: func(s *testkit.Server) error {
			write(t, filepath.Join(s.Dir, "rules.yml"), regexp.MustCompile(`(?m)^( +for:) \w+$`).ReplaceAllString(string(rules), "$1 1s"))
			write(t, filepath.Join(s.Dir, "prometheus.yml"), fmt.Sprintf(`global: {scrape_interval: 1s, evaluation_interval: 1s}
rule_files: [rules.yml]
scrape_configs: [{job_name: snowfence, honor_labels: true, static_configs: [{targets: ["%s"]}]}]
`, strings.Join(targets, `", "`)))
			return nil
		},
		Arguments: func(s *testkit.Server) []string {
			return []string{"--config.file=" + filepath.Join(s.Dir, "prometheus.yml"), "--storage.tsdb.path=" + filepath.Join(s.Dir, "data"), "--web.listen-address=" + s.Addr(), "--log.level=warn"}
		},
		Ready: func(ctx context.Context, s *testkit.Server) error {
			answer, err := askBy(ctx, http.DefaultClient, http.MethodGet, "http://"+s.Addr()+"/-/ready")
			if err == nil && answer.status != http.StatusOK {
				err = errors.New(answer.body)
			}
			return err
		},
	})
	return observer{t, "http://" + server.Addr()}
}

// query returns the series of an expression as the dashboard writes it.
func (o observer) query(ctx context.Context, expression string) (series []map[string]string, err error) {
	expression = strings.NewReplacer("$__rate_interval", "10s", "$job", ".*", "$instance", ".*", "$namespace", ".*").Replace(expression)
	answer, err := askBy(ctx, http.DefaultClient, http.MethodGet, o.url+"/api/v1/query?query="+url.QueryEscape(expression))
	if err != nil {
		return nil, err
	}
	var body struct {
		Status, Error string
		Data          struct {
			Result []struct{ Metric map[string]string }
		}
	}
	if err = json.Unmarshal([]byte(answer.body), &body); err == nil && body.Status != "success" {
		err = errors.New(body.Error)
	}
	for _, r := range body.Data.Result {
		series = append(series, r.Metric)
	}
	return series, err
}

// firing returns the alerts that fire, each with its instance or nothing.
func (o observer) firing(ctx context.Context) (alerts []string, err error) {
	series, err := o.query(ctx, `ALERTS{alertstate="firing"}`)
	for _, s := range series {
		alerts = append(alerts, strings.TrimSpace(s["alertname"]+" "+s["instance"]))
	}
	return alerts, err
}

// healthy fails the test unless each rule was evaluated, and each text that it shows was made.
func (o observer) healthy() {
	o.t.Helper()
	var rules struct {
		Data struct {
			Groups []struct {
				Rules []struct {
					Name, Health, LastError string
					Alerts                  []struct{ Annotations map[string]string }
				}
			}
		}
	}
	call(o.t, http.MethodGet, o.url+"/api/v1/rules", &rules)
	for _, r := range rules.Data.Groups[0].Rules {
		if r.Health != "ok" || strings.Contains(fmt.Sprint(r.Alerts), "error expanding") {
			o.t.Errorf("%s: %s %s %v", r.Name, r.Health, r.LastError, r.Alerts)
		}
	}
}

// TestPrometheusSeesFaultsAndAnswersTheDashboard has three daemons on one store: one is killed, one is cut off, and
// one has a wrong clock.
func TestPrometheusSeesFaultsAndAnswersTheDashboard(t *testing.T) {
	t.Parallel()
	engine := testkit.StartEngine(t, "postgres") // it has a clock
	config := written(t, "generators:\n  default: {window: 8s}\n  numbers: {kind: segment, settings: {limit: \"1000000000\"}}\n  tickets: {kind: ticket}\n"+
		"  invoices: {kind: daily}\n  uuids: {kind: uuid}\n  wide: {kind: wide, layout: uuid8, namespace: wide}\n")
	subjects := []*subject{}
	for i := range 3 {
		s := newSubject(t, i, "--config", config, "--data", t.TempDir())
		s.use(engine, 0)
		s.start().WaitReady()
		subjects = append(subjects, s)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	for _, s := range subjects {
		go s.mint(ctx, 50, 20*time.Millisecond)
	}
	o := newObserver(t, subjects)
	dashboardAnswers(t, o, func() {
		for _, s := range subjects {
			ask(t, http.MethodGet, s.current().URL+"/v1/generators/nobody/ids")
			ask(t, http.MethodPost, s.current().URL+"/v1/generators/numbers/ids?count=0")
		}
	})
	if alerts, err := o.firing(ctx); err != nil || len(alerts) > 0 {
		t.Errorf("before the faults %v fire (%v)", alerts, err)
	}

	subjects[0].current().Kill()
	subjects[1].proxy.Drop()
	subjects[2].setClock(3 * time.Minute)
	want := []string{}
	for i, alert := range []string{"SnowfenceDown", "SnowfenceStoreAway", "SnowfenceClockOff", "SnowfenceNotReady"} {
		want = append(want, alert+" "+strings.TrimPrefix(subjects[[]int{0, 1, 2, 1}[i]].current().URL, "http://"))
	}
	seen := []string{}
	testkit.Eventually(t, func(ctx context.Context) error {
		alerts, err := o.firing(ctx)
		seen = append(seen, alerts...)
		for _, alert := range want {
			if !slices.Contains(seen, alert) {
				err = errors.Join(err, fmt.Errorf("%s does not fire, but %v", alert, alerts))
			}
		}
		return err
	})
	o.healthy()
}

// dashboardAnswers fails the test unless each query of the dashboard has an answer. It does something between its looks.
func dashboardAnswers(t *testing.T, o observer, do func()) {
	t.Helper()
	text, err := os.ReadFile(dashboardFile)
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	nothing := regexp.MustCompile("certificate|limits refused|user agent") // no TLS, no limits, no client of Thrift
	open := map[string]bool{}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			open[target.Expr] = !nothing.MatchString(p.Title)
		}
	}
	if len(open) < 35 {
		t.Errorf("the dashboard has %d queries: the test reads it wrongly", len(open))
	}
	testkit.Eventually(t, func(ctx context.Context) error {
		do()
		for expression, shows := range open {
			switch series, err := o.query(ctx, expression); {
			case err != nil:
				t.Errorf("%s: %v", expression, err)
			case len(series) == 0 && shows:
				continue
			}
			delete(open, expression)
		}
		if len(open) > 0 {
			return fmt.Errorf("no series of %v", open)
		}
		return nil
	})
}
