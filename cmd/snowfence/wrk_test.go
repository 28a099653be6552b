//go:build servers

package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"testing"
)

// wrkScript has wrk print each answer.
const wrkScript = `
wrk.method = "POST"
wrk.headers["Accept"] = "text/plain"
function response(status, headers, body)
	io.write(status, " ", body)
end
`

func TestProgramWrkGetsANewIDByEachRequest(t *testing.T) {
	t.Parallel()
	d := clientDaemon(t, nil)
	script := written(t, wrkScript)
	out, err := exec.CommandContext(t.Context(), "wrk", "-t", "1", "-c", "50", "-d", "1s", "-s", script, d.URL+"/v1/generators/orders/ids").CombinedOutput()
	if err != nil {
		t.Fatalf("wrk (make clients installs it): %v\n%s", err, out)
	}
	ids := regexp.MustCompile(`(?m)^200 (\d+)$`).FindAllSubmatch(out, -1)
	requests := regexp.MustCompile(`(\d+) requests in`).FindSubmatch(out)
	if requests == nil || string(requests[1]) != strconv.Itoa(len(ids)) || len(ids) < 1000 {
		t.Fatalf("%s requests, and %d ids:\n%s", requests, len(ids), out[max(0, len(out)-500):])
	}
	had := once[string]{}
	for _, id := range ids {
		if takeIDs(t, had, string(id[1])) != 1 {
			t.Fatalf("%s is no id", id[1])
		}
	}
}
