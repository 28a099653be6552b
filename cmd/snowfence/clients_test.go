//go:build servers

package main

import (
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/daemon/token"
	"snowfence.example/snowfence/internal/testkit"
)

// clientWorker is the worker id of the ids that clients get here. Their layout has it in the lowest
// bits, all ones, so that an id which JavaScript has rounded is of another worker.
const (
	clientLayout = "ms41-seq12-worker10@2015-01-01"
	clientWorker = 1023
)

// clientDaemon serves the generators of docs/clients.md.
func clientDaemon(t *testing.T, environ []string, arguments ...string) *testkit.Daemon {
	t.Helper()
	environ = append(environ, "SNOWFENCE_GENERATORS_ORDERS_LAYOUT="+clientLayout, fmt.Sprint("SNOWFENCE_GENERATORS_ORDERS_WORKER=", clientWorker))
	file := written(t, block(t, "clients.md", "yaml\n"))
	d := testkit.StartDaemon(t, executable(t, ""), environ, append(arguments, "--config", file, "--data", t.TempDir())...)
	d.WaitReady()
	return d
}

const clientToken = "Correct-horse-battery"

// clientTokens is the file of tokens that grants it all.
var clientTokens = "all " + token.HashOf(clientToken).String() + "\n"

// guardedDaemon is a clientDaemon that asks for clientToken, over TLS or not.
func guardedDaemon(t *testing.T, secure bool, arguments ...string) (*testkit.Daemon, *testkit.Authority) {
	t.Helper()
	tokens := written(t, clientTokens)
	environ := []string{"SNOWFENCE_TOKEN_FILE=" + tokens}
	authority := testkit.NewAuthority(t)
	if secure {
		certificate, key := authority.Issue(t, "snowfence", "127.0.0.1")
		environ = append(environ, "SNOWFENCE_TLS_CERTIFICATE="+certificate, "SNOWFENCE_TLS_KEY="+key)
	}
	return clientDaemon(t, environ, append(arguments, "--thrift=")...), authority // Thrift has no tokens
}

// exact reports whether an id is as it was issued, and of now.
func exact(digits string) bool {
	layout, err := snowfence.ParseLayout(clientLayout)
	if err != nil {
		return false
	}
	id, err := snowfence.Parse(strings.TrimSpace(digits))
	if err != nil {
		return false
	}
	parts, err := layout.Decompose(id)
	return err == nil && parts.Worker == clientWorker && time.Since(layout.TimeOf(parts.Tick)).Abs() < 10*time.Minute
}

// takeIDs returns how many ids a text has. It fails the test if one is not exact, or comes twice.
func takeIDs(t *testing.T, had once[string], text string) int {
	t.Helper()
	ids := regexp.MustCompile(`\d{16,}`).FindAllString(text, -1)
	for _, digits := range ids {
		if !exact(digits) {
			t.Fatalf("%s is not as it was issued, or old", digits)
		}
		had.take(t, "a client", digits)
	}
	return len(ids)
}

// clientFolder is a new folder with the scripts of testdata/clients, and the libraries of Node.js.
func clientFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	libraries, err := nodeLibraries()
	if err = errors.Join(err, os.CopyFS(folder, os.DirFS("testdata/clients")), os.Symlink(libraries, filepath.Join(folder, "node_modules"))); err != nil {
		t.Fatal(err)
	}
	return folder
}

// nodeLibraries installs the libraries of Node.js as package-lock.json lists them, once for all tests, and returns their folder.
var nodeLibraries = sync.OnceValues(func() (string, error) {
	folder, err := os.MkdirTemp("", "snowfence-node")
	if err != nil {
		return "", err
	}
	lifetime.Cleanup(func() { _ = os.RemoveAll(folder) })
	if err := os.CopyFS(folder, os.DirFS("testdata/clients")); err != nil {
		return "", err
	}
	install := exec.Command("npm", "ci")
	install.Dir = folder
	if out, err := install.CombinedOutput(); err != nil {
		return "", fmt.Errorf("npm ci: %w\n%s", err, out)
	}
	return filepath.Join(folder, "node_modules"), nil
})

// way is how a snippet is run.
type way struct {
	file    string // that it is written to
	program string // what stands around SNIPPET, a file of testdata/clients/around; empty means that the snippet is the whole program
	run     string // a command of the shell; SNOWFENCE is the program's folder
}

// The library of Python is of the Python that Debian has.
const python = "/usr/bin/python3 "

// The program's go.mod sets the versions of packages.
const goRun = `go run -C "$SNOWFENCE" "$PWD/ids.go"`

// ways are how the snippets of docs/clients.md are run, by their headings.
func ways() map[string]way {
	return map[string]way{
		"curl":                                  {"ids.sh", "", "sh -e ids.sh"},
		"Java":                                  {"Ids.java", "Ids.java", "java Ids.java"},
		"redis-cli":                             {"ids.sh", "", "sh -e ids.sh"},
		"Go: package client":                    {"ids.go", "client.go.txt", goRun},
		"grpcurl":                               {"ids.sh", "", `PATH="$SNOWFENCE/../../.bin:$PATH" sh -e ids.sh`},
		"Go: grpc-go":                           {"ids.go", "grpc.go.txt", goRun},
		"Go: go-redis":                          {"ids.go", "redis.go.txt", goRun},
		"Python: redis-py":                      {"ids.py", "", python + "ids.py"},
		"Node.js: ioredis":                      {"ids.js", "", "node ids.js"},
		"Node.js: node-redis":                   {"ids.js", "", "node ids.js"},
		"Node.js: node-redis 3":                 {"ids.js", "", `sed 's/"redis"/"redis3"/' ids.js >ids3.js && node ids3.js`},
		"Node.js: tedis":                        {"ids.js", "", "node ids.js"},
		"Node.js: grpc-js":                      {"ids.js", "grpc.js", `cp "$SNOWFENCE/../../api/snowfencev1/snowfence.proto" . && node ids.js`},
		"Node.js: the paths of Leaf and tinyid": {"ids.js", "", "node ids.js"},
		"Lua: redis-lua":                        {"ids.lua", "", "lua5.1 ids.lua"},
		"Ruby: redis":                           {"ids.rb", "", "ruby ids.rb"},
		"PHP on 32 bits":                        {"ids.php", "", "php ids.php"},
		"PHP: phpredis":                         {"ids.php", "", "php ids.php"},
		"PHP: Predis":                           {"ids.php", "", "php ids.php"},
		"Leaf":                                  {"ids.sh", "", "sh -e ids.sh"},
		"tinyid":                                {"ids.sh", "", "sh -e ids.sh"},
		"Twitter's Snowflake: Python":           {"ids.py", "thrift.py", `thrift --gen py "$SNOWFENCE/../../api/snowflake.thrift" && ` + python + "ids.py"},
		"C: hiredis":                            {"ids.c", "hiredis.c", "gcc -Wall -Werror ids.c -lhiredis -o ids && ./ids"},
	}
}

// TestSnippetsOfThePageOfClientsPrintFreshIDs runs each block below a heading of the third level. A
// heading that nothing here can run fails, so that the page has no snippet without a test.
func TestSnippetsOfThePageOfClientsPrintFreshIDs(t *testing.T) {
	t.Parallel()
	d, page := clientDaemon(t, nil), pageText(t, "clients.md")
	ports := []string{"7600", portOf(d.Address("http")), "7601", portOf(d.Address("redis")), "7602", portOf(d.Address("grpc")), "7609", portOf(d.Address("thrift"))}
	libraries, ids := clientFolder(t), once[string]{}
	left := ways()
	sections := regexp.MustCompile("(?s)\n### ([^\n]+)\n(.*?)\n```[a-z]+\n(.*?)\n```\n").FindAllStringSubmatch(page, -1)
	if blocks := strings.Count(page, "\n```")/2 - 1; blocks != len(sections) { // one is the configuration
		t.Errorf("docs/clients.md has %d snippets, and %d headings with one", blocks, len(sections))
	}
	for _, section := range sections {
		heading, prose, snippet := section[1], section[2], section[3]
		w, known := left[heading]
		if !known || strings.Contains(prose, "\n#") {
			t.Errorf("%s: nothing runs its snippet, or it has none", heading)
			continue
		}
		delete(left, heading)
		t.Run(heading, func(t *testing.T) {
			if lines := strings.Count(strings.ReplaceAll(snippet, "\n\n", "\n"), "\n") + 1; lines > 5 {
				t.Errorf("the snippet has %d lines, more than five", lines)
			}
			program := snippet
			if w.program != "" {
				around, err := os.ReadFile(filepath.Join("testdata/clients/around", w.program))
				if err != nil {
					t.Fatal(err)
				}
				program = strings.Replace(string(around), "SNIPPET", snippet, 1)
			}
			program = strings.NewReplacer(ports...).Replace(program)
			write(t, filepath.Join(libraries, w.file), program)
			if out := output(t, clientCommand(t, libraries, w.run)); takeIDs(t, ids, out) == 0 {
				t.Errorf("it prints no id: %s", out)
			}
		})
	}
	for heading := range left {
		t.Errorf("docs/clients.md has no snippet %q", heading)
	}
}

// portOf returns the port of an address.
func portOf(address string) string { return address[strings.LastIndexByte(address, ':')+1:] }

func TestClientsShowATokenOverTLS(t *testing.T) {
	t.Parallel()
	d, authority := guardedDaemon(t, true)
	ids := once[string]{}
	for what, run := range map[string]string{
		"curl":      `curl -fsS --cacert "$CA" -X POST -H "Authorization: Bearer $TOKEN" https://` + d.Address("https") + `/v1/generators/orders/ids`,
		"grpcurl":   `"$BIN"/grpcurl -cacert "$CA" -H "Authorization: Bearer $TOKEN" -d '{"generator": "orders"}' ` + d.Address("grpcs") + ` snowfence.v1.Ids/Next`,
		"redis-cli": `REDISCLI_AUTH=$TOKEN redis-cli --tls --cacert "$CA" -p ` + portOf(d.Address("rediss")) + ` INCR orders`,
	} {
		command := exec.CommandContext(t.Context(), "sh", "-c", run)
		command.Env = append(os.Environ(), "BIN=../../.bin", "CA="+authority.File, "TOKEN="+clientToken)
		if out, err := command.CombinedOutput(); err != nil || takeIDs(t, ids, string(out)) != 1 {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	others := redis.NewClient(&redis.Options{Addr: d.Address("rediss"), Password: clientToken, TLSConfig: &tls.Config{RootCAs: authority.Pool()}})
	defer func() { _ = others.Close() }()
	transaction := others.TxPipeline()
	one, two := transaction.Incr(t.Context(), "orders"), transaction.Incr(t.Context(), "orders")
	if _, err := transaction.Exec(t.Context()); err != nil || takeIDs(t, ids, fmt.Sprint(one.Val(), two.Val())) != 2 {
		t.Errorf("go-redis: %d, %d, %v", one.Val(), two.Val(), err)
	}
	own := newClient(t, client.Config{Servers: []string{d.Address("rediss")}, Generator: "orders", Token: clientToken, TLS: &tls.Config{RootCAs: authority.Pool()}})
	if id, err := own.Next(t.Context()); err != nil || takeIDs(t, ids, id.String()) != 1 {
		t.Errorf("package client: %d, %v", id, err)
	}
}
