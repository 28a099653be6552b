package tools

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// need runs need.sh where only the given programs are to be found, each of
// them a shell script.
func need(t *testing.T, programs map[string]string, args ...string) (output string, err error) {
	t.Helper()
	path := t.TempDir()
	for name, script := range programs {
		write(t, path, name, "#!/bin/sh\n"+script+"\n")
		if err := os.Chmod(filepath.Join(path, name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{"tr", "touch", "chmod"} {
		program, err := exec.LookPath(name)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(program, filepath.Join(path, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.CommandContext(t.Context(), "/bin/sh", append([]string{"need.sh"}, args...)...)
	cmd.Env = []string{"PATH=" + path, "BIN=" + path}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

func TestOneOfSeveralProgramsIsEnough(t *testing.T) {
	programs := map[string]string{"initdb": "", "id": "echo 1000"}
	if output, err := need(t, programs, "mysqld|initdb=postgresql"); err != nil {
		t.Errorf("%v: %s", err, output)
	}
	if output, err := need(t, programs, "/bin/s?|nothing=shell"); err != nil {
		t.Errorf("a pattern that a program matches: %v: %s", err, output)
	}
	if output, err := need(t, programs, "/etc/passw?=a-file"); err != nil {
		t.Errorf("a file that is not a program: %v: %s", err, output)
	}
	output, err := need(t, programs, "mysqld|/nowhere/*/mysqld=mariadb-server")
	if err == nil || !strings.Contains(output, "mysqld|/nowhere/*/mysqld") || !strings.Contains(output, "apt-get install mariadb-server") {
		t.Errorf("%v: %s", err, output)
	}
}

func TestMissingProgramIsInstalledOrNamed(t *testing.T) {
	const (
		root   = "echo 0"
		user   = "echo 1000"
		works  = `touch "$BIN/gcc" && chmod +x "$BIN/gcc"; echo "apt-get $*"`
		breaks = "exit 100"
	)
	for _, test := range []struct {
		name     string
		programs map[string]string
		ok       bool
		says     string
	}{
		{"present", map[string]string{"gcc": "", "id": user}, true, ""},
		{"missing, not root", map[string]string{"id": user, "apt-get": works}, false, "apt-get install gcc libc6-dev"},
		{"missing, no apt-get", map[string]string{"id": root}, false, "missing: gcc"},
		{"missing, installed", map[string]string{"id": root, "apt-get": works}, true, "--no-install-recommends gcc libc6-dev"},
		{"missing, not to be had", map[string]string{"id": root, "apt-get": breaks}, false, "installing gcc libc6-dev"},
		{"missing after installing", map[string]string{"id": root, "apt-get": ":"}, false, "gcc is still missing"},
	} {
		t.Run(test.name, func(t *testing.T) {
			output, err := need(t, test.programs, "gcc=gcc,libc6-dev")
			if (err == nil) != test.ok || !strings.Contains(output, test.says) {
				t.Errorf("err %v, want success %t; it says\n%s\nwant %q in it", err, test.ok, output, test.says)
			}
		})
	}
}
