package tools

import (
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestEveryEngineStandsInEveryList holds the places that ARCHITECTURE.md names for an engine to the tree.
func TestEveryEngineStandsInEveryList(t *testing.T) {
	lists := map[string]string{"go.work": `(?s).*`, "Makefile": `(?m)^ENGINES = .*$`, "tools/fuzz.sh": `(?m)^for module in .*$`}
	replaced := []string{"daemon/go.mod", "cmd/snowfence/go.mod", "examples/go.mod"}
	for file, line := range lists {
		lists[file] = regexp.MustCompile(line).FindString(read(t, file))
	}
	modules := 0
	walk(t, func(file string) {
		folder := path.Dir(file)
		if path.Base(file) != "go.mod" || path.Dir(folder) != "store" {
			return
		}
		modules++
		named := regexp.MustCompile(regexp.QuoteMeta(folder) + `\b`)
		for list, text := range lists {
			if !named.MatchString(text) {
				t.Errorf("%s lacks %s", list, folder)
			}
		}
		for _, mod := range replaced {
			if !strings.Contains(read(t, mod), ours+"/"+folder+" => ") {
				t.Errorf("%s does not replace %s", mod, folder)
			}
		}
	})
	schemes := regexp.MustCompile(`Schemes: \[\]string\{"(\w+)"`).FindAllStringSubmatch(read(t, "daemon/engine/engine.go"), -1)
	chart := read(t, "deploy/kubernetes/chart/templates/_refuse.tpl")
	for _, m := range schemes {
		if scheme := m[1]; scheme != "file" && scheme != "mem" && !strings.Contains(chart, scheme+"://") {
			t.Errorf("the chart's _refuse.tpl refuses %s://", scheme)
		}
	}
	if modules < 5 || len(schemes) < 9 {
		t.Errorf("%d modules and %d engines: the test reads them wrongly", modules, len(schemes))
	}
}

// TestEveryFrontStandsInEveryList holds the places that ARCHITECTURE.md names for a front to the tree.
func TestEveryFrontStandsInEveryList(t *testing.T) {
	fronts := regexp.MustCompile(`\{"(\w+)", func\(c \*config\.Config\)`).FindAllStringSubmatch(read(t, "daemon/fronts.go"), -1)
	examined := read(t, "cmd/snowfence/internal/doctor/see.go")
	chart := read(t, "deploy/kubernetes/chart/values.schema.json")
	for _, m := range fronts {
		if !strings.Contains(examined, `{"`+m[1]+`", c.`) {
			t.Errorf("frontsOf of the doctor lacks %s", m[1])
		}
		if !strings.Contains(chart, `"`+m[1]+`": false`) {
			t.Errorf("the chart's values.schema.json lets config set the address of %s", m[1])
		}
	}
	if len(fronts) < 6 {
		t.Errorf("%d fronts: the test reads them wrongly", len(fronts))
	}
}

// TestNamesOfServersHaveTheirVersions compares the names in the Makefile with the versions in tools/servers/go.mod.
func TestNamesOfServersHaveTheirVersions(t *testing.T) {
	makefile, chosen := read(t, "Makefile"), read(t, "tools/servers/go.mod")
	servers := map[string]string{
		"etcd":           "go.etcd.io/etcd/server/v3",
		"nats-server":    "github.com/nats-io/nats-server/v2",
		"kube-apiserver": "k8s.io/kubernetes",
	}
	for program, module := range servers {
		version := regexp.MustCompile(`(?m)^\t` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(chosen)
		if version == nil {
			t.Errorf("tools/servers/go.mod chooses no %s", module)
			continue
		}
		named := regexp.MustCompile(`\.bin/`+program+`-([0-9.]+[0-9])`).FindAllStringSubmatch(makefile, -1)
		if len(named) == 0 {
			t.Errorf("the Makefile names no %s", program)
		}
		for _, m := range named {
			if m[1] != version[1] {
				t.Errorf("the Makefile names %s, tools/servers/go.mod chooses %s", m[0], version[1])
			}
		}
	}
}

// TestModulesChooseTheSameLibraries: with two versions of a library its users are compiled twice. The linter alone is apart.
func TestModulesChooseTheSameLibraries(t *testing.T) {
	required, shared := regexp.MustCompile(`(?m)^(?:require )?\t?(\S+\.\S+/\S+) (v\S+)( // indirect)?$`), 0
	chosen := map[string]string{}
	for _, folder := range []string{"cmd/snowfence", "bench", "examples", "tools/manifests", "tools/servers"} {
		for _, m := range required.FindAllStringSubmatch(read(t, folder+"/go.mod"), -1) {
			name, version := m[1], m[2]
			if version == "v0.0.0" { // replaced
				continue
			}
			if first := chosen[name]; first == "" {
				chosen[name] = folder + " chooses " + version
			} else if shared++; !strings.HasSuffix(first, " "+version) {
				t.Errorf("%s chooses %s of %s: %s", folder, version, name, first)
			}
		}
	}
	if shared < 50 {
		t.Errorf("%d versions were compared: the test reads them wrongly", shared)
	}
}
