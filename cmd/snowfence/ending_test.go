package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// TestEveryCommandOfRunningOutIsRun holds docs/running-out.md to the script that runs it: each
// command of the page is a line there, and each file of the page is a file there.
func TestEveryCommandOfRunningOutIsRun(t *testing.T) {
	read := func(path string) string {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	page := read(filepath.Join("..", "..", "docs", "running-out.md"))
	script := read(filepath.Join("testdata", "script", "running_out.txtar"))
	commands := regexp.MustCompile(`(?m)^    (snowfence .*)$`).FindAllStringSubmatch(page, -1)
	for _, m := range commands {
		if !regexp.MustCompile(`(?m)^(exits \d )?` + regexp.QuoteMeta(m[1]) + `$`).MatchString(script) {
			t.Errorf("the script does not run %s", m[1])
		}
	}
	parts := strings.Split(page, "```yaml\n")
	for i, part := range parts[1:] {
		names := regexp.MustCompile("`(\\w+\\.yaml)`").FindAllStringSubmatch(parts[i], -1)
		file, _, _ := strings.Cut(part, "```")
		if name := names[len(names)-1][1]; !strings.Contains(script+"-- ", "-- "+name+" --\n"+file+"-- ") {
			t.Errorf("the script's %s is not the page's:\n%s", name, file)
		}
	}
	if len(commands) != 11 || len(parts) != 5 {
		t.Errorf("the page has %d commands and %d files, want 11 and 4", len(commands), len(parts)-1)
	}
}

// TestDaemonAtItsLayoutsEndSaysSoAndRepeatsNothing lets a running daemon come to the end of baidu's
// layout.
func TestDaemonAtItsLayoutsEndSaysSoAndRepeatsNothing(t *testing.T) {
	t.Parallel()
	preset, err := snowfence.PresetByName("baidu")
	if err != nil {
		t.Fatal(err)
	}
	horizon := preset.Layout.Horizon()
	s := newSubject(t, 0, "--data", t.TempDir(), "--layout", "baidu")
	s.setClock(time.Until(horizon.Add(-time.Minute)))
	d := s.start()
	d.WaitReady()
	client := testkit.Client()
	defer client.CloseIdleConnections()
	// comesTo waits until the daemon's readiness has a status and a text.
	comesTo := func(status int, text string) {
		t.Helper()
		testkit.Eventually(t, func(context.Context) error {
			answer, err := askBy(t.Context(), client, http.MethodGet, d.URL+"/readyz")
			if err == nil && (answer.status != status || !strings.Contains(answer.body, text)) {
				err = fmt.Errorf("%d %s, want %d with %s", answer.status, answer.body, status, text)
			}
			return err
		})
	}
	const ends = `"ends":"2024-11-20T13:24:16Z","ends_soon":true`
	comesTo(http.StatusOK, `"ready":true,`+ends)
	ids, err := testkit.Mint(t.Context(), client, d.URL, "default", 1000, nil)
	if err != nil {
		t.Fatal(err)
	}
	s.setClock(time.Until(horizon.Add(-2 * time.Second)))
	testkit.Eventually(t, func(context.Context) (err error) {
		for err == nil {
			ids, err = testkit.Mint(t.Context(), client, d.URL, "default", 100, ids)
		}
		if strings.Contains(err.Error(), "500") && strings.Contains(err.Error(), "horizon-passed") {
			return nil
		}
		return err
	})
	comesTo(http.StatusServiceUnavailable, `"ready":false,"problem":"tag:snowfence.example,2026:problem/horizon-passed",`+ends)
	for i, id := range ids[1:] {
		if id <= ids[i] {
			t.Fatalf("id %d comes after %d", id, ids[i])
		}
	}
	if n := strings.Count(d.Log(), "ends soon"); n != 1 {
		t.Errorf("the log says %d times that it ends soon, want once:\n%s", n, d.Log())
	}
	t.Logf("%d ids", len(ids))
}
