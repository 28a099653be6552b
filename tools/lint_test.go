package tools

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const ours = "snowfence.example/snowfence"

// A tier is a package, or a family of packages, and all that it may import.
type tier struct {
	dir string
	// allowed lists packages of this project by their folder; "." is the root.
	allowed []string
	// library says that one client library or more may be imported.
	library bool
	// refused lists packages of the standard library that it must not import,
	// besides those that nothing may.
	refused []string
	// support marks test support, which only tests import and which may
	// import package testing.
	support bool
}

// io is what a package does not import that does no I/O.
var io = []string{"net", "net/http", "os", "os/exec", "os/signal", "syscall"}

// program is the folder of the program's module.
const program = "cmd/snowfence"

// tiers is the architecture. A package that is not here fails
// TestEveryPackageBelongsToATier.
var tiers = []tier{
	{dir: ".", refused: io},
	{dir: "store", allowed: []string{"."}, refused: io},
	{dir: "internal/storeurl"},
	{dir: "internal/storeclient", allowed: []string{"store"}},
	{dir: "internal/sqlsession", allowed: []string{"."}, refused: io},
	{dir: "internal/localdisk", refused: []string{"net", "net/http", "os/exec", "os/signal"}},
	{dir: "internal/disk", allowed: []string{"internal/localdisk"}, refused: []string{"net", "net/http", "os/exec", "os/signal"}},
	{dir: "internal/disk/modeldisk", allowed: []string{"internal/disk"}, refused: io},

	{dir: "internal/stored", allowed: []string{".", "store"}, refused: io},
	{dir: "fence", allowed: []string{".", "store", "internal/journal", "internal/lease", "internal/lease/drive", "internal/stored"}, refused: io},
	{dir: "internal/lease/drive", allowed: []string{".", "store", "internal/lease", "internal/stored"}, refused: io},
	{dir: "internal/lease", allowed: []string{".", "store", "internal/lease/drive", "internal/stored"}, refused: io},
	{dir: "internal/journal", allowed: []string{"internal/stored", "internal/localdisk"}, refused: []string{"net", "net/http", "os/exec", "os/signal"}},
	{dir: "internal/roster", allowed: []string{".", "store", "internal/lease", "internal/lease/drive", "internal/stored"}, refused: io},
	{dir: "counter", allowed: []string{".", "store", "internal/lease", "internal/lease/drive", "internal/stored"}},
	{dir: "counter/series", allowed: []string{".", "counter"}},
	{dir: "kind", allowed: []string{".", "store"}},
	{dir: "keys", allowed: []string{"."}, refused: io},
	{dir: "uuid", allowed: []string{".", "kind"}},
	{dir: "objectid", allowed: []string{".", "kind"}},
	{dir: "opaque", allowed: []string{".", "kind"}},

	{dir: "store/memstore", allowed: []string{".", "store", "internal/storeclient", "internal/storeurl"}},
	{dir: "store/filestore", allowed: []string{".", "store", "internal/storeclient", "internal/storeurl", "internal/disk", "internal/localdisk"}},
	{dir: "store/sqlstore", allowed: []string{".", "store", "internal/sqlsession", "internal/storeclient", "internal/storeurl"}},
	{dir: "store/etcdstore", allowed: []string{"store", "internal/storeclient", "internal/storeurl"}, library: true},
	{dir: "store/zkstore", allowed: []string{"store", "internal/storeclient", "internal/storeurl"}, library: true},
	{dir: "store/redisstore", allowed: []string{"store", "internal/storeclient", "internal/storeurl"}, library: true},
	{dir: "store/natsstore", allowed: []string{"store", "internal/storeclient", "internal/storeurl"}, library: true},
	{dir: "counter/leafalloc", allowed: []string{".", "counter", "internal/sqlsession"}, refused: io},
	{dir: "counter/tinyid", allowed: []string{".", "counter", "internal/sqlsession"}, refused: io},
	{dir: "counter/flickr", allowed: []string{".", "counter", "internal/sqlsession"}, refused: io},
	{dir: "counter/rediscount", allowed: []string{".", "counter", "internal/sqlsession"}, refused: io},
	{dir: "api", library: true},
	{dir: "api/snowfencev1", library: true},
	{dir: "client", allowed: []string{"."}},

	{dir: program, allowed: []string{".", "counter", "fence", "store", "internal/journal", "internal/roster", program + "/internal/takeover", program + "/daemon", program + "/internal/check", program + "/internal/clock", program + "/internal/metrics", program + "/internal/config", program + "/internal/decode", program + "/internal/engine", program + "/internal/idsort", program + "/internal/idsource", program + "/internal/kinds", program + "/internal/merge", program + "/internal/overlap", program + "/internal/plan", program + "/internal/service", program + "/internal/sqlfunc", program + "/internal/token", program + "/internal/wire/listen", program + "/internal/text"}, library: true, refused: []string{"net/http"}},
	{dir: program + "/daemon", allowed: []string{
		".", "store", "fence", "internal/journal", "internal/lease", "internal/lease/drive", "internal/stored", "internal/roster", program + "/internal/takeover", "counter", "keys", "kind", "uuid", "objectid", "opaque", "counter/leafalloc", "counter/tinyid", "counter/flickr", "counter/rediscount", "counter/series", "api", "api/snowfencev1", "client",
		program, program + "/internal/budget", program + "/internal/check", program + "/internal/clock", program + "/internal/config", program + "/internal/decode", program + "/internal/engine", program + "/internal/idsort", program + "/internal/idsource", program + "/internal/kinds", program + "/internal/merge", program + "/internal/metrics", program + "/internal/overlap", program + "/internal/plan", program + "/internal/service", program + "/internal/sqlfunc", program + "/internal/text", program + "/internal/token",
		program + "/internal/wire/compat", program + "/internal/wire/grpcfront", program + "/internal/wire/httpfront", program + "/internal/wire/listen", program + "/internal/wire/respfront", program + "/internal/wire/session", program + "/internal/wire/thriftfront",
	}, library: true},
	{dir: program + "/internal/service", allowed: []string{".", "store", "fence", "internal/journal", "internal/lease", "internal/lease/drive", "internal/stored", "internal/roster", "counter", "keys", "kind", "uuid", "objectid", "opaque", "counter/leafalloc", "counter/tinyid", "counter/flickr", "counter/rediscount", "counter/series", "api", "api/snowfencev1", "client", program + "/internal/budget", program + "/internal/config", program + "/internal/decode", program + "/internal/plan", program + "/internal/token"}, library: true, refused: []string{"net/http", "os", "os/exec", "os/signal"}},
	{dir: program + "/internal/kinds", allowed: []string{".", "store", "counter", "counter/leafalloc", "counter/tinyid", "counter/flickr", "counter/rediscount", "counter/series", "kind", "opaque", program + "/internal/config", program + "/internal/decode", program + "/internal/engine"}, refused: []string{"net/http"}},
	{dir: program + "/internal/wire/httpfront", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/listen", program + "/internal/wire/session"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/compat", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/listen", program + "/internal/wire/session"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/grpcfront", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/listen", program + "/internal/wire/session"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/respfront", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/listen", program + "/internal/wire/session"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/thriftfront", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/listen", program + "/internal/wire/session"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/session", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/listen"}, library: true, refused: []string{"os", "os/exec", "os/signal"}},
	{dir: program + "/internal/wire/listen", allowed: []string{".", "kind", "api", "api/snowfencev1", program + "/internal/budget", program + "/internal/config", program + "/internal/metrics", program + "/internal/service", program + "/internal/token", program + "/internal/wire/compat", program + "/internal/wire/session"}, library: true},
	{dir: program + "/internal/config", allowed: []string{".", "fence", "internal/lease", "internal/storeurl", "internal/stored", program + "/internal/engine", program + "/internal/text"}, library: true, refused: []string{"net/http"}},
	{dir: program + "/internal/engine", allowed: []string{
		".", "store", "internal/storeclient", "internal/sqlsession", "store/memstore", "store/filestore", "store/sqlstore",
		"store/etcdstore", "store/zkstore", "store/redisstore", "store/natsstore",
	}, library: true},
	{dir: program + "/internal/takeover", allowed: []string{".", "internal/lease", "internal/roster", "internal/stored", program + "/internal/text"}, library: true, refused: io},
	{dir: program + "/internal/clock", allowed: []string{".", program + "/internal/config"}, library: true},
	{dir: program + "/internal/metrics", allowed: []string{".", "store", "fence", "counter", "internal/roster", program + "/internal/config", program + "/internal/service"}, library: true},
	{dir: program + "/internal/text", refused: io},
	{dir: program + "/internal/budget", library: true, refused: []string{"net", "net/http"}},
	{dir: program + "/internal/token", library: true, refused: []string{"net", "net/http"}},
	{dir: program + "/internal/decode", allowed: []string{".", program + "/internal/text"}, refused: io},
	{dir: program + "/internal/plan", allowed: []string{".", program + "/internal/text"}, refused: io},
	{dir: program + "/internal/sqlfunc", allowed: []string{".", program + "/internal/text"}, refused: io},
	{dir: program + "/internal/idsource", allowed: []string{".", program + "/internal/decode", program + "/internal/engine", program + "/internal/text"}, library: true},
	{dir: program + "/internal/idsort", allowed: []string{".", program + "/internal/idsource", program + "/internal/text"}, library: true, refused: []string{"net/http"}},
	{dir: program + "/internal/check", allowed: []string{".", program + "/internal/decode", program + "/internal/idsort", program + "/internal/idsource", program + "/internal/text"}, library: true, refused: []string{"net/http"}},
	{dir: program + "/internal/overlap", allowed: []string{".", program + "/internal/text"}, refused: io},
	{dir: program + "/internal/merge", allowed: []string{".", "internal/roster", program + "/internal/engine", program + "/internal/idsort", program + "/internal/idsource", program + "/internal/overlap", program + "/internal/takeover", program + "/internal/text"}, refused: io},

	{dir: "store/storetest", support: true},
	{dir: "store/faultstore", support: true},
	{dir: "internal/lineartest", support: true, library: true},
	{dir: "internal/kindtest", support: true},
	{dir: "counter/countertest", support: true},
	{dir: "internal/sim", allowed: []string{".", "store", "store/memstore", "fence", "internal/lease", "internal/lease/drive", "internal/journal", "internal/stored"}, support: true},
}

// never lists what no package may import, tests included.
var never = []string{"unsafe", "log", "math/rand", "io/ioutil", "net/http/pprof", "expvar"}

// forTests lists what only tests and their support may import.
var forTests = []string{"testing", "net/http/httptest", ours + "/store/storetest", ours + "/store/faultstore", ours + "/internal/lineartest", ours + "/internal/kindtest", ours + "/counter/countertest", ours + "/internal/sim"}

// library stands for a client library.
const library = "library.example/client"

// innocent lists packages of the standard library that every tier may import,
// so that a rule that refuses too much is found as well.
var innocent = []string{"context", "errors", "log/slog", "math/rand/v2", "time", "encoding/json", "database/sql/driver"}

func TestTiersImportOnlyWhatTheyMay(t *testing.T) {
	for _, tier := range tiers {
		if tier.support {
			continue
		}
		t.Run(strings.ReplaceAll(tier.dir, "/", "."), func(t *testing.T) {
			t.Parallel()
			tree := newTree(t)
			refused := slices.Concat(never, forTests, tier.refused)
			if !tier.library {
				refused = append(refused, library)
			}
			imports := slices.Concat(refused, innocent, io, []string{library})
			for _, other := range tiers {
				// What stands in an internal folder, the compiler keeps from
				// all that stands outside.
				hidden := strings.Contains(other.dir, "/internal/") && !strings.HasPrefix(tier.dir, program)
				if other.dir == tier.dir || hidden {
					continue
				}
				write(t, tree, other.dir+"/stub.go", "package stub\n")
				imports = append(imports, path.Join(ours, other.dir))
				if !other.support && !slices.Contains(tier.allowed, other.dir) {
					refused = append(refused, path.Join(ours, other.dir))
				}
			}
			slices.Sort(refused)
			refused = slices.Compact(refused)
			slices.Sort(imports)
			imports = slices.Compact(imports)

			planted := "package stub\n\n"
			for _, name := range imports {
				planted += fmt.Sprintf("import _ %q\n", name)
			}
			write(t, tree, tier.dir+"/planted.go", planted)

			var found []string
			for _, issue := range lint(t, tree, "--enable-only", "depguard", "./"+tier.dir) {
				name := importNamed(planted, issue.Pos.Line)
				if issue.FromLinter != "depguard" || name == "" {
					t.Errorf("unexpected finding: %v", issue)
					continue
				}
				found = append(found, name)
			}
			slices.Sort(found)
			found = slices.Compact(found)
			for _, name := range refused {
				if !slices.Contains(found, name) {
					t.Errorf("%s may import %s; it must not", tier.dir, name)
				}
			}
			for _, name := range found {
				if !slices.Contains(refused, name) {
					t.Errorf("%s must not import %s; it may", tier.dir, name)
				}
			}
		})
	}
}

// TestLinesThatBreakARuleAreFound lints testdata/rules, where a comment
// `want "linter: pattern"` at the end of a line expects one finding in it,
// `want+1` one in the next, several strings several, and no other line any.
func TestLinesThatBreakARuleAreFound(t *testing.T) {
	tree := newTree(t)
	if err := os.CopyFS(tree, os.DirFS(filepath.Join("testdata", "rules"))); err != nil {
		t.Fatal(err)
	}

	type line struct {
		file   string
		number int
	}
	expected := make(map[line][]string)
	want := regexp.MustCompile(`// want(\+1)? (".*)$`)
	quoted := regexp.MustCompile(`"([^"]*)"`)
	err := filepath.WalkDir(tree, func(name string, _ os.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".go" {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(tree, name)
		if err != nil {
			return err
		}
		for i, text := range strings.Split(string(data), "\n") {
			if m := want.FindStringSubmatch(text); m != nil {
				at := line{filepath.ToSlash(rel), i + 1}
				if m[1] != "" {
					at.number++
				}
				for _, q := range quoted.FindAllStringSubmatch(m[2], -1) {
					expected[at] = append(expected[at], q[1])
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(expected) == 0 {
		t.Fatal("testdata/rules expects nothing")
	}

	for _, issue := range lint(t, tree, "./...") {
		at := line{filepath.ToSlash(issue.Pos.Filename), issue.Pos.Line}
		i := slices.IndexFunc(expected[at], func(pattern string) bool {
			linter, text, _ := strings.Cut(pattern, ": ")
			return linter == issue.FromLinter && regexp.MustCompile(text).MatchString(issue.Text)
		})
		if i < 0 {
			t.Errorf("unexpected finding: %v", issue)
			continue
		}
		expected[at] = slices.Delete(expected[at], i, i+1)
	}
	for at, patterns := range expected {
		for _, pattern := range patterns {
			t.Errorf("%s:%d: no finding matches %q", at.file, at.number, pattern)
		}
	}
}

func TestEveryPackageBelongsToATier(t *testing.T) {
	// Not the product: measurements, examples and this package. Test support stands
	// below the packages named, whatever it is called.
	outside := regexp.MustCompile(`^(bench|examples|tools|formal|internal/(sim|testkit|lineartest|kindtest)|store/(storetest|faultstore)|counter/countertest|cmd/snowfence/internal/testkit)(/|$)`)
	walk(t, func(file string) {
		dir := path.Dir(file)
		if path.Ext(file) != ".go" || isTest(file) || outside.MatchString(dir) {
			return
		}
		if !slices.ContainsFunc(tiers, func(tier tier) bool { return tier.dir == dir }) {
			t.Errorf("%s: package %s belongs to no tier: give it one in .golangci.yml and here", file, dir)
		}
	})
}

// newTree makes a project with this one's module path and linter
// configuration, and without a package.
func newTree(t *testing.T) string {
	t.Helper()
	tree := t.TempDir()
	write(t, tree, ".golangci.yml", read(t, ".golangci.yml"))
	write(t, tree, "go.mod", "module "+ours+"\n\ngo 1.25.0\n\nrequire "+library+" v1.0.0\n\nreplace "+library+" => ./library\n")
	write(t, tree, "library/go.mod", "module "+library+"\n\ngo 1.25.0\n")
	write(t, tree, "library/client.go", "// Package client stands for a client library.\npackage client\n")
	return tree
}

// An issue is one finding of the linter.
type issue struct {
	FromLinter string
	Text       string
	Pos        struct {
		Filename string
		Line     int
	}
}

func (i issue) String() string {
	return fmt.Sprintf("%s:%d: %s: %s", i.Pos.Filename, i.Pos.Line, i.FromLinter, i.Text)
}

// lint runs the pinned linter in a tree and returns what it found.
func lint(t *testing.T, tree string, args ...string) []issue {
	t.Helper()
	linter, err := filepath.Abs(filepath.Join(house, ".bin", "golangci-lint"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(linter); err != nil {
		t.Fatalf("the linter is not built, run make tools: %v", err)
	}
	cmd := exec.CommandContext(t.Context(), linter, append([]string{
		"run", "--output.json.path", "stdout", "--allow-parallel-runners", "--issues-exit-code", "0",
	}, args...)...)
	cmd.Dir = tree
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	stdout, err := cmd.Output()
	if err != nil {
		t.Fatalf("run the linter: %v\n%s", err, stderr.String())
	}
	var report struct{ Issues []issue }
	if err := json.Unmarshal(stdout, &report); err != nil {
		t.Fatalf("read the linter's report: %v\n%s", err, stdout)
	}
	return report.Issues
}

// importNamed returns the package that a line of planted source imports.
func importNamed(source string, line int) string {
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return ""
	}
	name, ok := strings.CutPrefix(lines[line-1], "import _ ")
	if !ok {
		return ""
	}
	return strings.Trim(name, `"`)
}
