package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestTableRefusesWhatItCannotRun(t *testing.T) {
	for _, args := range [][]string{{"-seeds", "0"}, {"-seeds", "many"}, {"all"}} {
		var out, errs bytes.Buffer
		if code := run(args, &out, &errs); code != 2 || out.Len() > 0 || errs.Len() == 0 {
			t.Errorf("%q: exit code %d, %q on the output, %q beside it", args, code, out.String(), errs.String())
		}
	}
}

func TestIncidentTablesAreThree(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run([]string{"-seeds", "1"}, &out, &errs); code != 0 {
		t.Fatalf("exit code %d: %s", code, errs.String())
	}
	if n := strings.Count(out.String(), "\n### "); n != 2 || !strings.HasPrefix(out.String(), "### ") {
		t.Errorf("it prints %d tables, want 3", n+1)
	}
}
