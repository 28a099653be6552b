package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// readme is README.md and docs/library.md, where its programs go on. The tests of this file, of readme_commands_test.go
// and of readme_programs_test.go run both pages as they are written. They replace hosts, ports and folders, and nothing else.
type readme struct {
	root string // of the checkout
	text string // of the two pages, one after the other
}

func readREADME(t *testing.T) readme {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := readme{root: root}
	for _, name := range []string{"README.md", "docs/library.md"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		r.text += string(text)
	}
	return r
}

// blocks returns the pages' blocks of code in a language.
func (r readme) blocks(language string) (texts []string) {
	for _, m := range regexp.MustCompile("(?s)\n```"+language+"\n(.*?\n)```\n").FindAllStringSubmatch(r.text, -1) {
		texts = append(texts, m[1])
	}
	return texts
}

// commands returns the commands of the blocks for a shell and of the tables, in their order.
func (r readme) commands() (lines []string) {
	for _, m := range regexp.MustCompile("(?s)\n```sh\n(.*?\n)```|\n\\| `(snowfence [^`]*)`").FindAllStringSubmatch(r.text, -1) {
		lines = append(lines, strings.Split(strings.TrimSpace(m[1]+m[2]), "\n")...)
	}
	return lines
}

// TestFiguresOfTheREADMEAreThoseOfTheirPages compares the figures that a command prints into another page.
func TestFiguresOfTheREADMEAreThoseOfTheirPages(t *testing.T) {
	r := readREADME(t)
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(r.root, "docs", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cells := func(text, begin string) []string {
		_, rest, found := strings.Cut(text, "\n| "+begin)
		row, _, _ := strings.Cut(rest, "\n")
		if !found {
			t.Fatalf("there is no row %q", begin)
		}
		cells := strings.Split(strings.Trim(row, "| "), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		return cells
	}
	// static, steady, upload and Snowfence
	theirs, ours := cells(page("incidents.md"), "[clock-back-2s]"), cells(r.text, "clocks go back 2 s")
	for i, column := range []int{1, 2, 7, 8} {
		if ours[i+1] != theirs[column] {
			t.Errorf("clock-back-2s: column %d of the README is %s, and docs/incidents.md has %s", i+1, ours[i+1], theirs[column])
		}
	}
	for ours, theirs := range map[string]string{
		"a folder: ":              "file |",
		"etcd: ":                  "etcd |",
		"PostgreSQL: ":            "PostgreSQL, `durable=true`",
		"PostgreSQL or Redis wit": "PostgreSQL, lossy by 15 s",
	} {
		starts := cells(page("engines.md"), "engine | first start")
		starts = cells(page("engines.md")[strings.Index(page("engines.md"), strings.Join(starts, " | ")):], theirs)
		first := strings.TrimSuffix(starts[max(0, len(starts)-4)], ".0")
		if says := cells(r.text, ours)[2]; !strings.HasPrefix(says, first+" s") {
			t.Errorf("%s: the README has %q, and docs/engines.md %q", theirs, says, first)
		}
	}
}

// TestTargetsOfTheREADMEExist looks for each "make target" in the Makefile.
func TestTargetsOfTheREADMEExist(t *testing.T) {
	r := readREADME(t)
	makefile, err := os.ReadFile(filepath.Join(r.root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	targets := regexp.MustCompile("(?:    |`)make ([a-z]+)").FindAllStringSubmatch(r.text, -1)
	for _, m := range targets {
		if !strings.Contains(string(makefile), "\n"+m[1]+":") {
			t.Errorf("the README names make %s, which does not exist", m[1])
		}
	}
	if len(targets) < 5 {
		t.Errorf("the README has %d targets: the test reads it wrongly", len(targets))
	}
}

// built puts files into a module that uses the checkout as docs/library.md shows, and builds it. It returns the folder.
func (r readme) built(t *testing.T, files map[string]string, build ...string) string {
	t.Helper()
	folder := t.TempDir()
	for name, text := range files {
		write(t, filepath.Join(folder, name), text)
	}
	run := func(line string) {
		command := exec.CommandContext(t.Context(), "bash", "-ec", line)
		command.Dir, command.Env = folder, append(os.Environ(), "GOWORK=off")
		output(t, command)
	}
	// The sums and the version of pgx are the program's: the newest one may not be known yet.
	run("cp '" + filepath.Join(r.root, "cmd", "snowfence", "go.sum") + "' go.sum && go mod init example")
	if strings.Contains(files["store.go"], "pgx") {
		run(`go mod edit -require github.com/jackc/pgx/v5@$(cd '` + filepath.Join(r.root, "cmd", "snowfence") + `' && go list -m -f '{{.Version}}' github.com/jackc/pgx/v5)`)
	}
	steps := 0
	for _, line := range r.commands() {
		if strings.HasPrefix(line, "go mod ") {
			steps++
			run(strings.ReplaceAll(line, "/path/to/the/checkout", r.root))
		}
	}
	if steps != 3 {
		t.Fatalf("docs/library.md has %d lines of go mod, want 3", steps)
	}
	run(strings.Join(build, " "))
	return folder
}
