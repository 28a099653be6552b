package main

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/token"
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
	script = strings.ReplaceAll(script, ", max-wait: 1m}", "}") // it waits for a slow disk
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
		t.Errorf("the log shows %d times that it ends soon, want once:\n%s", n, d.Log())
	}
	t.Logf("%d ids", len(ids))
}

// TestHangupReadsTheFilesAgainAndEndsNothing replaces a certificate, a token and the log's level under a
// daemon, and sends SIGHUP. Then it breaks the configuration, which changes nothing.
func TestHangupReadsTheFilesAgainAndEndsNothing(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	at := func(name string) string { return filepath.Join(folder, name) }
	before, after := testkit.NewAuthority(t), testkit.NewAuthority(t)
	before.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	line := func(secret string) string { return "team " + token.HashOf(secret).String() + "\n" }
	write(t, at("tokens"), line("the-first-token-of-the-team"))
	settings := fmt.Sprintf("tls: {certificate: %s, key: %s}\ntoken-file: %s\ngenerators: {orders: {}}\n", at("cert.pem"), at("key.pem"), at("tokens"))
	write(t, at("snowfence.yaml"), settings)
	d := startDaemon(t, "--config", at("snowfence.yaml"), "--thrift", "", "--data", folder)
	// mint returns the status of a request over a new connection, or 0 if the certificate is not trusted.
	mint := func(a *testkit.Authority, secret string) int {
		transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: a.Pool()}}
		defer transport.CloseIdleConnections()
		client := &http.Client{Transport: transport, Timeout: time.Minute}
		answer, err := askBy(t.Context(), client, http.MethodPost, d.URL+"/v1/generators/orders/ids", "Authorization", "Bearer "+secret)
		if err != nil {
			return 0
		}
		return answer.status
	}
	expect := func(a *testkit.Authority, secret string, want int) {
		t.Helper()
		if got := mint(a, secret); got != want {
			t.Errorf("with %q: %d, want %d\n%s", secret, got, want, d.Log())
		}
	}
	const first, second, untrusted = "the-first-token-of-the-team", "the-second-token-of-the-team", 0
	awaitLine(t, d, "msg=serving")
	expect(before, first, http.StatusOK)
	expect(before, second, http.StatusUnauthorized)

	after.IssueTo(t, at("cert.pem"), at("key.pem"), "server", "127.0.0.1")
	write(t, at("tokens"), line(second))
	write(t, at("snowfence.yaml"), settings+"log: {level: debug}\nlimits: {batch: 5}\n")
	d.Signal(syscall.SIGHUP)
	awaitLine(t, d, `msg="asked by SIGHUP: the log's level is set, and the files of tokens and TLS are read again" level=DEBUG`)
	awaitLine(t, d, `msg="other settings changed, which takes a restart" keys=[limits.batch]`)
	awaitLine(t, d, "audit: the files of TLS were read again")
	awaitLine(t, d, "audit: the tokens were read again")
	expect(before, second, untrusted)
	expect(after, first, http.StatusUnauthorized)
	expect(after, second, http.StatusOK)

	write(t, at("snowfence.yaml"), "generators: {orders: {windw: 3s}}\n")
	d.Signal(syscall.SIGHUP)
	awaitLine(t, d, `msg="the configuration can't be read again: everything stays as it was"`)
	expect(after, second, http.StatusOK)
	ended(t, d)
}

func TestVersionIsWhatTheToolchainStored(t *testing.T) {
	stored := &debug.BuildInfo{
		Main: debug.Module{Version: "v1.2.3"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123abcd"}, {Key: "vcs.time", Value: "2026-01-02T03:04:05Z"}, {Key: "vcs.modified", Value: "true"},
		},
	}
	b := buildOf(stored)
	if b.Version != "v1.2.3" || b.Revision != "0123abcd" || b.Time != "2026-01-02T03:04:05Z" || !b.Modified {
		t.Errorf("got %+v", b)
	}
	if !strings.HasPrefix(b.String(), "snowfence v1.2.3 0123abcd modified go1.") {
		t.Errorf("got %q", b)
	}
	for _, info := range []*debug.BuildInfo{nil, {}, {Main: debug.Module{Version: "(devel)"}}} {
		if b := buildOf(info); b.Version != "devel" || b.Revision != "" || b.Go == "" || b.Platform == "" {
			t.Errorf("got %+v", b)
		}
	}
}
