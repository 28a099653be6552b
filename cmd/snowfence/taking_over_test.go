//go:build servers

package main

import (
	"bufio"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// TestPageOfTakingOverWorksAsWritten runs the commands of docs/taking-over.md with its configuration. Old ids
// come from a system of the same layout that has the worker ids 0 to 31.
func TestPageOfTakingOverWorksAsWritten(t *testing.T) {
	page, config := pageText(t, "taking-over.md"), block(t, "taking-over.md", "yaml\n")
	t.Chdir(t.TempDir())
	write(t, "snowfence.yaml", config)
	twitter, err := snowfence.PresetByName("twitter")
	if err != nil {
		t.Fatal(err)
	}
	p, _, _ := inTest(t)
	p.environ = append(p.environ, "HOME="+filepath.Join(t.TempDir(), "home"))
	run := func(line string) string {
		t.Helper()
		stdout, _ := p.must(t, exitOK, strings.Fields(line)[1:]...)
		return stdout
	}
	next := func() snowfence.Parts {
		t.Helper()
		id, err := snowfence.Parse(strings.TrimSpace(run("snowfence next --config snowfence.yaml")))
		if err != nil {
			t.Fatal(err)
		}
		parts, err := twitter.Layout.Decompose(id)
		if err != nil {
			t.Fatal(err)
		}
		return parts
	}
	commands := 0
	for lines := bufio.NewScanner(strings.NewReader(page)); lines.Scan(); {
		line, indented := strings.CutPrefix(lines.Text(), "    ")
		if !indented || !strings.HasPrefix(line, "snowfence ") {
			continue
		}
		commands++
		said := run(line)
		switch {
		case strings.Contains(line, "merge-check"):
			if !strings.Contains(said, "none: no id can ever be issued twice") {
				t.Errorf("%s: %s", line, said)
			}
		case strings.Contains(line, " import "):
			if !strings.Contains(said, "32 worker ids; 32 written") {
				t.Errorf("%s: %s", line, said)
			}
		}
		if commands > 1 {
			for range 3 {
				if parts := next(); parts.Datacenter == 0 {
					t.Errorf("after %q an id has a worker id of the old system: %+v", line, parts)
				}
			}
		}
	}
	if commands != 6 {
		t.Errorf("the page has %d commands, want 6", commands)
	}
	// With the division taken out, the old worker ids are claimed too, above the floor.
	open := strings.Replace(config, "workers: 32-1023", "workers: 0-31", 1)
	write(t, "snowfence.yaml", open)
	if parts := next(); parts.Datacenter != 0 {
		t.Errorf("%+v", parts)
	}
}
