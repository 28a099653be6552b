//go:build servers

package main

import (
	"crypto/tls"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/internal/testkit"
)

// clientWorker is the worker id of the ids that clients get here. Their layout has it in the lowest
// bits, all ones, so that an id which JavaScript has rounded is of another worker.
const (
	clientLayout = "ms41-seq12-worker10@2015-01-01"
	clientWorker = 1023
)

// clientDaemon serves the generators of docs/clients.md, and returns the page.
func clientDaemon(t *testing.T, environ []string, arguments ...string) (d *testkit.Daemon, page string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	page = string(text)
	_, rest, _ := strings.Cut(page, "\n```yaml\n")
	config, _, found := strings.Cut(rest, "\n```\n")
	if !found {
		t.Fatal("docs/clients.md has no configuration")
	}
	file := filepath.Join(t.TempDir(), "ids.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	environ = append(environ, "SNOWFENCE_GENERATORS_ORDERS_LAYOUT="+clientLayout, fmt.Sprint("SNOWFENCE_GENERATORS_ORDERS_WORKER=", clientWorker))
	d = testkit.StartDaemon(t, testkit.Build(t, programPath, ""), environ, append(arguments, "--config", file, "--data", t.TempDir())...)
	d.WaitReady()
	return d, page
}

const clientToken = "Correct-horse-battery"

// guardedDaemon is a clientDaemon that asks for clientToken, over TLS or not.
func guardedDaemon(t *testing.T, secure bool, arguments ...string) (*testkit.Daemon, *testkit.Authority) {
	t.Helper()
	tokens := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(tokens, []byte(clientToken), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := []string{"SNOWFENCE_TOKEN_FILE=" + tokens}
	authority := testkit.NewAuthority(t)
	if secure {
		certificate, key := authority.Issue(t, "snowfence", "127.0.0.1")
		environ = append(environ, "SNOWFENCE_TLS_CERTIFICATE="+certificate, "SNOWFENCE_TLS_KEY="+key)
	}
	d, _ := clientDaemon(t, environ, append(arguments, "--thrift=")...) // Thrift has no tokens
	return d, authority
}

// issued holds the ids that clients got.
type issued map[snowfence.ID]bool

// exact reports whether an id is as it was issued.
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
	return err == nil && parts.Worker == clientWorker
}

// take returns how many ids a text has. It fails the test if one is not of the daemon, not of now,
// or was taken before.
func (i issued) take(t *testing.T, text string) (n int) {
	t.Helper()
	layout, err := snowfence.ParseLayout(clientLayout)
	if err != nil {
		t.Fatal(err)
	}
	for _, digits := range regexp.MustCompile(`\d{16,}`).FindAllString(text, -1) {
		id, err := snowfence.Parse(digits)
		if err != nil {
			t.Fatalf("%s: %v", digits, err)
		}
		parts, err := layout.Decompose(id)
		if err != nil || parts.Worker != clientWorker {
			t.Fatalf("%s is not as it was issued: %+v, %v", digits, parts, err)
		}
		if age := time.Since(layout.TimeOf(parts.Tick)); age.Abs() > 10*time.Minute {
			t.Fatalf("%s is %v old", digits, age)
		}
		if i[id] {
			t.Fatalf("%s comes twice", digits)
		}
		i[id] = true
		n++
	}
	return n
}

// clientFolder is a new folder with the scripts of testdata/clients.
func clientFolder(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	if err := os.CopyFS(folder, os.DirFS("testdata/clients")); err != nil {
		t.Fatal(err)
	}
	return folder
}

// nodeModules installs the libraries of Node.js there, as package-lock.json says.
func nodeModules(t *testing.T, folder string) {
	t.Helper()
	install := exec.CommandContext(t.Context(), "npm", "ci")
	install.Dir = folder
	if out, err := install.CombinedOutput(); err != nil {
		t.Fatalf("npm ci: %v\n%s", err, out)
	}
}

// way is how a snippet is run.
type way struct {
	file    string // that it is written to
	program string // what stands around SNIPPET; empty means that the snippet is the whole program
	run     string // a command of the shell; SNOWFENCE is the program's folder
}

// The library of Python is of the Python that Debian has.
const python = "/usr/bin/python3 "

// The program's go.mod says which versions of packages are meant.
const goRun = `go run -C "$SNOWFENCE" "$PWD/ids.go"`

// ways are how the snippets of docs/clients.md are run, by their headings.
func ways() map[string]way {
	return map[string]way{
		"curl":                                  {"ids.sh", "", "sh -e ids.sh"},
		"Java":                                  {"Ids.java", javaProgram, "java Ids.java"},
		"redis-cli":                             {"ids.sh", "", "sh -e ids.sh"},
		"Go: package client":                    {"ids.go", goProgram("id", "snowfence.example/snowfence/client"), goRun},
		"grpcurl":                               {"ids.sh", "", `PATH="$SNOWFENCE/../../.bin:$PATH" sh -e ids.sh`},
		"Go: grpc-go":                           {"ids.go", goProgram("ids", "google.golang.org/grpc", "google.golang.org/grpc/credentials/insecure", "snowfence.example/snowfence/api/snowfencev1"), goRun},
		"Go: go-redis":                          {"ids.go", goProgram("id", "github.com/redis/go-redis/v9"), goRun},
		"Python: redis-py":                      {"ids.py", "", python + "ids.py"},
		"Node.js: ioredis":                      {"ids.js", "", "node ids.js"},
		"Node.js: node-redis":                   {"ids.js", "", "node ids.js"},
		"Node.js: node-redis 3":                 {"ids.js", "", `sed 's/"redis"/"redis3"/' ids.js >ids3.js && node ids3.js`},
		"Node.js: tedis":                        {"ids.js", "", "node ids.js"},
		"Node.js: grpc-js":                      {"ids.js", grpcProgram, `cp "$SNOWFENCE/../../api/snowfencev1/snowfence.proto" . && node ids.js`},
		"Node.js: the paths of Leaf and tinyid": {"ids.js", "", "node ids.js"},
		"Lua: redis-lua":                        {"ids.lua", "", "lua5.1 ids.lua"},
		"Ruby: redis":                           {"ids.rb", "", "ruby ids.rb"},
		"PHP on 32 bits":                        {"ids.php", "", "php ids.php"},
		"PHP: phpredis":                         {"ids.php", "", "php ids.php"},
		"PHP: Predis":                           {"ids.php", "", "php ids.php"},
		"Leaf":                                  {"ids.sh", "", "sh -e ids.sh"},
		"tinyid":                                {"ids.sh", "", "sh -e ids.sh"},
		"Twitter's Snowflake: Python":           {"ids.py", thriftProgram, `thrift --gen py "$SNOWFENCE/../../api/snowflake.thrift" && ` + python + "ids.py"},
		"C: hiredis":                            {"ids.c", hiredisProgram, "gcc -Wall -Werror ids.c -lhiredis -o ids && ./ids"},
	}
}

const javaProgram = `
import java.io.IOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse.BodyHandlers;

class Ids {
    public static void main(String[] arguments) throws Exception {
SNIPPET
    }
}
`

// goProgram is around a snippet of Go that sets a variable, which it prints, by some packages.
func goProgram(variable string, packages ...string) string {
	return `package main

import (
	"context"
	"fmt"
	"log"

	"` + strings.Join(packages, "\"\n\t\"") + `"
)

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
SNIPPET
	if err != nil {
		return err
	}
	fmt.Println(` + variable + `)
	return nil
}
`
}

const grpcProgram = `
import { credentials, loadPackageDefinition } from "@grpc/grpc-js"
import { loadSync } from "@grpc/proto-loader"

SNIPPET
`

const thriftProgram = `
import sys

from thrift.protocol import TBinaryProtocol
from thrift.transport import TSocket, TTransport

sys.path.insert(0, "gen-py")
from snowflake import Snowflake

SNIPPET
`

const hiredisProgram = `
#include <err.h>
#include <stdio.h>
#include <hiredis/hiredis.h>

int main(void)
{
SNIPPET
}
`

// TestSnippetsOfThePageOfClientsPrintFreshIDs runs each block below a heading of the third level. A
// heading that nothing here can run fails, so that the page has no snippet without a test.
func TestSnippetsOfThePageOfClientsPrintFreshIDs(t *testing.T) {
	t.Parallel()
	d, page := clientDaemon(t, nil)
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	ports := []string{"7600", portOf(d.Address("http")), "7601", portOf(d.Address("redis")), "7602", portOf(d.Address("grpc")), "7609", portOf(d.Address("thrift"))}
	libraries, ids := clientFolder(t), issued{}
	nodeModules(t, libraries)
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
				program = strings.Replace(w.program, "SNIPPET", snippet, 1)
			}
			program = strings.NewReplacer(ports...).Replace(program)
			if err := os.WriteFile(filepath.Join(libraries, w.file), []byte(program), 0o600); err != nil {
				t.Fatal(err)
			}
			command := exec.CommandContext(t.Context(), "sh", "-c", w.run)
			command.Dir, command.Env = libraries, append(os.Environ(), "SNOWFENCE="+here)
			var stderr strings.Builder
			command.Stderr = &stderr
			out, err := command.Output()
			if err != nil {
				t.Fatalf("%v\n%s%s\nmake clients installs what it needs", err, out, &stderr)
			}
			if ids.take(t, string(out)) == 0 {
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
	ids := issued{}
	for what, run := range map[string]string{
		"curl":      `curl -fsS --cacert "$CA" -X POST -H "Authorization: Bearer $TOKEN" https://` + d.Address("https") + `/v1/generators/orders/ids`,
		"grpcurl":   `"$BIN"/grpcurl -cacert "$CA" -H "Authorization: Bearer $TOKEN" -d '{"generator": "orders"}' ` + d.Address("grpcs") + ` snowfence.v1.Ids/Next`,
		"redis-cli": `REDISCLI_AUTH=$TOKEN redis-cli --tls --cacert "$CA" -p ` + portOf(d.Address("rediss")) + ` INCR orders`,
	} {
		command := exec.CommandContext(t.Context(), "sh", "-c", run)
		command.Env = append(os.Environ(), "BIN=../../.bin", "CA="+authority.File, "TOKEN="+clientToken)
		if out, err := command.CombinedOutput(); err != nil || ids.take(t, string(out)) != 1 {
			t.Errorf("%s: %v: %s", what, err, out)
		}
	}
	others := redis.NewClient(&redis.Options{Addr: d.Address("rediss"), Password: clientToken, TLSConfig: &tls.Config{RootCAs: authority.Pool()}})
	defer func() { _ = others.Close() }()
	if id, err := others.Incr(t.Context(), "orders").Result(); err != nil || ids.take(t, strconv.FormatInt(id, 10)) != 1 {
		t.Errorf("go-redis: %d, %v", id, err)
	}
	own, err := client.New(client.Config{
		Servers: []string{d.Address("rediss")}, Generator: "orders", Token: clientToken, TLS: &tls.Config{RootCAs: authority.Pool()},
	})
	if err != nil {
		t.Fatal(err)
	}
	if id, err := own.Next(t.Context()); err != nil || ids.take(t, id.String()) != 1 {
		t.Errorf("package client: %d, %v", id, err)
	}
	if err := own.Close(t.Context()); err != nil {
		t.Error(err)
	}
}
