//go:build servers

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// readmeAnswers are the commands of the README that end by themselves, and a part of each one's output.
// The tests of Go programs run the commands "go mod".
var readmeAnswers = map[string]string{
	"curl -fX POST '127.0.0.1:7600/v1/generators/default/ids?count=3'":      `{"ids":["`,
	"go install ./cmd/snowfence":                                            "",
	"snowfence doctor --config /etc/snowfence/ids.yaml":                     "healthy: 0 wrong",
	"redis-cli -p 7601 INCR default":                                        "",
	"redis-cli -p 7601 ID.NEXT default COUNT 3":                             "",
	"curl -f 127.0.0.1:7600/api/snowflake/get/default":                      "",
	"snowfence next -n 10":                                                  "",
	"snowfence exec -- printenv SNOWFENCE_WORKER_ID":                        "",
	"snowfence decode --layout twitter 1541815603606036480":                 "sequence 12",
	"snowfence plan --years 69 --workers 1024 --rate 4M":                    "69.7",
	"snowfence bounds 2026-11-01 2026-11-02":                                "hi ",
	"snowfence workers list":                                                "worker ids are taken",
	"snowfence workers release 7":                                           "worker 7",
	"snowfence workers quarantine 32-63":                                    "with --yes: worker 32 is quarantined",
	"snowfence namespace show":                                              "horizon ",
	"snowfence namespace verify":                                            "0 errors",
	"snowfence check orders.txt":                                            "no duplicates",
	"snowfence merge-check --column id eu=players_eu.csv us=players_us.csv": "no ",
}

// TestProgramRunsEveryCommandOfTheREADME runs the commands of the page in their order and as they are written, with
// etcd and PostgreSQL where the page names them.
func TestProgramRunsEveryCommandOfTheREADME(t *testing.T) {
	t.Parallel()
	r, folder := readREADME(t), t.TempDir()
	database := testkit.Postgres(t)
	database.Stop()
	authority := testkit.NewAuthority(t)
	certificate, key := authority.Issue(t, "server", "127.0.0.1")
	database.Give(certificate, "server.crt")
	database.Give(key, "server.key")
	database.Start()
	readmeDatabases(t, database)
	etcd := testkit.StartEngine(t, "etcd").URL("", 0)
	places := []string{
		"etcd://etcd1,etcd2,etcd3", etcd, "@db/", "@" + database.Addr() + "/", "/etc/ssl/db.pem", authority.File,
		"/etc/snowfence", folder, "0.0.0.0:7600", "127.0.0.1:0",
	}
	readmeFiles(t, folder)
	configs := r.blocks("yaml")
	if len(configs) != 1 {
		t.Fatalf("the README has %d configurations, want 1", len(configs))
	}
	write(t, filepath.Join(folder, "ids.yaml"), strings.NewReplacer(places...).Replace(configs[0]))
	s := &shell{t: t, root: r.root, folder: folder, environ: append(os.Environ(),
		"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "GOBIN="+filepath.Join(folder, "bin"),
		"XDG_STATE_HOME="+filepath.Join(folder, "state"), "PASSWORD=correct-horse",
		"SNOWFENCE_HTTP=127.0.0.1:0", "SNOWFENCE_RESP=127.0.0.1:0", "SNOWFENCE_GRPC=127.0.0.1:0", "SNOWFENCE_THRIFT=")}

	answered := 0
	for _, line := range r.commands() {
		command := strings.NewReplacer(places...).Replace(line)
		switch {
		case strings.HasPrefix(line, "go mod "):
		case strings.HasPrefix(line, "go run "):
			// It answers the clients of the page, and the page releases its worker id.
			d := s.serve(command, "SNOWFENCE_GENERATORS_DEFAULT_WORKER=7")
			places = append(places, "127.0.0.1:7600", d.Address("http"), "-p 7601", "-p "+portOf(d.Address("redis")))
		case strings.HasPrefix(line, "snowfence serve "):
			s.serve(command)
		default:
			part, known := readmeAnswers[line]
			if !known {
				t.Errorf("readmeAnswers lacks this command's output: %s", line)
			}
			s.run(command, part)
			answered++
		}
	}
	if answered != len(readmeAnswers) {
		t.Errorf("the README has %d commands that answer, and readmeAnswers %d", answered, len(readmeAnswers))
	}
}

// readmeDatabases makes the database of the page, with its owner.
func readmeDatabases(t *testing.T, server *testkit.Server) {
	t.Helper()
	for _, statement := range []string{"CREATE ROLE ids LOGIN PASSWORD 'correct-horse'", "CREATE DATABASE ids OWNER ids"} {
		execute(t, testkit.SQLURL("postgres", server.Addr(), "snowfence"), statement)
	}
}

// readmeFiles makes the files of the page: ids that are all different, a token, and a certificate.
func readmeFiles(t *testing.T, folder string) {
	t.Helper()
	column := func(head string, from, to int) string {
		text := strings.Builder{}
		text.WriteString(head)
		for n := range to - from {
			fmt.Fprintln(&text, 118398813712479218+int64(from+n)<<13)
		}
		return text.String()
	}
	for name, text := range map[string]string{
		"orders.txt":     column("", 0, 1000),
		"players_eu.csv": column("id\n", 0, 1000),
		"players_us.csv": column("id\n", 1000, 2000),
		"tokens":         clientTokens,
	} {
		write(t, filepath.Join(folder, name), text)
	}
	testkit.NewAuthority(t).IssueTo(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), "snowfence", "127.0.0.1")
}

// shell runs commands as a user does: Go's commands in the checkout, the others in a folder.
type shell struct {
	t            *testing.T
	root, folder string
	environ      []string
}

func (s *shell) command(line string) *exec.Cmd {
	command := exec.CommandContext(s.t.Context(), "bash", "-ec", line)
	command.Env, command.Dir = s.environ, s.folder
	if strings.HasPrefix(line, "go ") {
		command.Dir = s.root
	}
	// A signal to the group reaches the daemon that "go run" starts, too.
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	command.Cancel = func() error { return syscall.Kill(-command.Process.Pid, syscall.SIGKILL) }
	return command
}

// run wants that a command ends well and prints a part.
func (s *shell) run(line, part string) {
	s.t.Helper()
	out, err := s.command(line).CombinedOutput()
	if err != nil || !strings.Contains(string(out), part) {
		s.t.Errorf("%s: %v, and want %q in\n%s", line, err, part, out)
	}
}

// serve starts a daemon, and waits until it has ids.
func (s *shell) serve(line string, environ ...string) *testkit.Daemon {
	s.t.Helper()
	command := s.command("exec " + line)
	command.Dir = s.root
	command.Env = append(slices.Clip(command.Env), environ...)
	d := testkit.Follow(s.t, command)
	d.WaitReady()
	return d
}
