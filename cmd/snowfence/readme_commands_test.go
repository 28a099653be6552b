//go:build servers

package main

import (
	"compress/gzip"
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

// readmeAnswers are the commands of the README that end by themselves, and a part of what each prints. The tests
// of Go programs run the commands "go mod".
var readmeAnswers = map[string]string{
	"curl -X POST '127.0.0.1:7600/v1/generators/default/ids?count=3'":                  `{"ids":["`,
	"go install ./cmd/snowfence":                                                       "",
	"snowfence doctor --config /etc/snowfence/ids.yaml":                                "\nhealthy: 0 wrong",
	"redis-cli -p 7601 INCR default":                                                   "",
	"redis-cli -p 7601 ID.NEXT default COUNT 3":                                        "",
	"curl 127.0.0.1:7600/api/snowflake/get/default":                                    "",
	"snowfence next -n 10":                                                             "",
	"snowfence exec -- printenv SNOWFENCE_WORKER_ID":                                   "",
	"snowfence decode --layout twitter 1541815603606036480":                            "sequence 12",
	"snowfence plan --years 69 --workers 1024 --rate 4M":                               "69.7",
	"snowfence bounds -24h now":                                                        "hi ",
	"snowfence sql postgres --prefix orders":                                           "CREATE OR REPLACE FUNCTION",
	"snowfence config print":                                                           "generators:",
	"snowfence workers list":                                                           "worker ids are taken",
	"snowfence workers show 7":                                                         "worker 7 of namespace default: held",
	"snowfence workers release 7 --dry-run":                                            "worker 7",
	"snowfence workers quarantine 32-63":                                               "quarantined",
	"snowfence namespace list":                                                         "default ",
	"snowfence namespace show":                                                         "horizon ",
	"snowfence namespace verify":                                                       "0 errors",
	"snowfence check orders.txt":                                                       "no duplicates",
	"snowfence check --column order_id eu.csv.gz us.csv.gz":                            "no duplicates",
	"snowfence check --table orders --column id 'postgres://me:${PGPASSWORD}@db/shop'": "no duplicates",
	"snowfence merge-check --column id eu=players_eu.csv us=players_us.csv":            "no ",
	"snowfence workers import list --store etcd://etcd1,etcd2,etcd3/ids --namespace orders --workers 0-31 --layout bwmarrin --stopped-at 2026-11-20T12:00:00Z --last-id 2123748182507679747": "32 to be written",
}

// TestProgramRunsEveryCommandOfTheREADME runs the commands of the page in their order and as they are written, with
// etcd and PostgreSQL where the page names them.
func TestProgramRunsEveryCommandOfTheREADME(t *testing.T) {
	t.Parallel()
	r, folder := readREADME(t), t.TempDir()
	database := testkit.Postgres(t)
	database.Stop()
	authority := database.Certify()
	database.Start()
	readmeDatabases(t, database)
	etcd := testkit.StartEngine(t, "etcd").URL("", 0)
	places := []string{
		"etcd://etcd1,etcd2,etcd3", etcd, "@db/", "@" + database.Addr() + "/", "/etc/ssl/db.pem", authority,
		"/etc/snowfence", folder, "0.0.0.0:7600", "127.0.0.1:0",
	}
	readmeFiles(t, folder)
	for i, text := range r.blocks("yaml") {
		name := []string{"ids.yaml", "counters.yaml"}[i]
		text = strings.NewReplacer(places...).Replace(text)
		write(t, filepath.Join(folder, name), text)
	}
	s := &shell{t: t, root: r.root, folder: folder, environ: append(os.Environ(),
		"PATH="+filepath.Join(folder, "bin")+":"+os.Getenv("PATH"), "GOBIN="+filepath.Join(folder, "bin"),
		"XDG_STATE_HOME="+filepath.Join(folder, "state"), "PASSWORD=correct-horse", "PGPASSWORD=correct-horse",
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
				t.Errorf("readmeAnswers does not say what this prints: %s", line)
			}
			s.run(command, part)
			answered++
		}
	}
	if answered != len(readmeAnswers) {
		t.Errorf("the README has %d commands that answer, and readmeAnswers %d", answered, len(readmeAnswers))
	}
	s.run("snowfence next --config counters.yaml -g invoices", "INV20")
}

// readmeDatabases makes the databases of the page, each with its owner.
func readmeDatabases(t *testing.T, server *testkit.Server) {
	t.Helper()
	for _, x := range [][2]string{
		{"snowfence", "CREATE ROLE ids LOGIN PASSWORD 'correct-horse'"},
		{"snowfence", "CREATE ROLE me LOGIN PASSWORD 'correct-horse'"},
		{"snowfence", "CREATE DATABASE ids OWNER ids"},
		{"snowfence", "CREATE DATABASE shop OWNER me"},
		{"shop", "CREATE TABLE orders AS SELECT generate_series(1, 1000)::bigint AS id"},
		{"shop", "ALTER TABLE orders OWNER TO me"},
	} {
		execute(t, testkit.SQLURL("postgres", server.Addr(), x[0]), x[1])
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
		"eu.csv.gz":      column("order_id\n", 0, 1000),
		"us.csv.gz":      column("order_id\n", 1000, 2000),
		"players_eu.csv": column("id\n", 0, 1000),
		"players_us.csv": column("id\n", 1000, 2000),
		"tokens":         "Correct-horse-battery",
	} {
		file, err := os.OpenFile(filepath.Join(folder, name), os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, ".gz") {
			packed := gzip.NewWriter(file)
			_, err = packed.Write([]byte(text))
			if err == nil {
				err = packed.Close()
			}
		} else {
			_, err = file.WriteString(text)
		}
		if err != nil || file.Close() != nil {
			t.Fatal(err)
		}
	}
	testkit.NewAuthority(t).IssueTo(t, filepath.Join(folder, "cert.pem"), filepath.Join(folder, "key.pem"), "snowfence", "127.0.0.1")
}

// shell runs commands as a user does: those of Go in the checkout, the others in a folder.
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
