//go:build servers

package main

import (
	"io"
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestPythonClientOfTwittersSnowflakeGetsIDs runs a client that thrift's compiler makes of the IDL.
func TestPythonClientOfTwittersSnowflakeGetsIDs(t *testing.T) {
	const clients, each = 6, 2000
	generated := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "thrift", "-out", generated, "--gen", "py", "../../api/snowflake.thrift").CombinedOutput(); err != nil {
		t.Fatalf("thrift: %v\n%s", err, out)
	}
	d := testkit.StartDaemon(t, testkit.Build(t, programPath, ""), nil, "--data", t.TempDir(), "--layout", "twitter")
	d.WaitReady()
	host, port, err := net.SplitHostPort(d.Address("thrift"))
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "/usr/bin/python3", "testdata/snowflake_client.py", generated, host, port, strconv.Itoa(each))
	var faults strings.Builder
	command.Stderr = &faults
	out, err := command.Output()
	if err != nil {
		t.Fatalf("client: %v\n%s", err, faults.String())
	}
	ids := strings.Fields(string(out))
	seen := map[string]bool{}
	for _, id := range ids {
		seen[id] = true
	}
	if len(ids) != clients*each || len(seen) != len(ids) {
		t.Errorf("%d ids, %d different ones, want %d", len(ids), len(seen), clients*each)
	}
	if got := fetchText(t, d.URL+"/metrics"); !strings.Contains(got, `snowfence_front_agent_ids_total{agent="python-client",front="thrift"} 12000`) ||
		!strings.Contains(got, `snowfence_front_problems_total{front="thrift",problem="bad-user-agent"} 24`) {
		t.Errorf("the counters are\n%s", got)
	}
}

// fetchText returns the body that a URL answers with.
func fetchText(t *testing.T, url string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
