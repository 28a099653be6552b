//go:build servers

package main

import (
	"net"
	"net/http"
	"os/exec"
	"strconv"
	"strings"
	"testing"
)

// TestPythonClientOfTwittersSnowflakeGetsIDs runs a client that thrift's compiler makes of the IDL.
func TestPythonClientOfTwittersSnowflakeGetsIDs(t *testing.T) {
	t.Parallel()
	const clients, each = 6, 2000
	generated := t.TempDir()
	if out, err := exec.CommandContext(t.Context(), "thrift", "-out", generated, "--gen", "py", "../../api/snowflake.thrift").CombinedOutput(); err != nil {
		t.Fatalf("thrift: %v\n%s", err, out)
	}
	d := readyDaemon(t, "--data", t.TempDir(), "--layout", "twitter")
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
	once[string]{}.take(t, "Python", ids...)
	if len(ids) != clients*each {
		t.Errorf("%d ids, want %d", len(ids), clients*each)
	}
	if got := ask(t, http.MethodGet, d.URL+"/metrics").body; !strings.Contains(got, `snowfence_front_agent_ids_total{agent="python-client",front="thrift"} 12000`) ||
		!strings.Contains(got, `snowfence_front_problems_total{front="thrift",problem="bad-user-agent"} 24`) {
		t.Errorf("the counters are\n%s", got)
	}
}
