//go:build servers

package main

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// Both are given by "make pages", and the first by "make clients".
var (
	allClients   = flag.Bool("clients.all", false, "converse by all clients, also by the ones without TLS; some take long to install")
	writeClients = flag.Bool("clients.write", false, "write the list of clients in docs/clients.md")
)

// conversation is a client library, and its program in testdata/clients. Its commands are of the shell.
type conversation struct {
	name, front string
	version     string // a command that prints the library's
	run         string // a command; SNOWFENCE is the folder of the program
	secure      bool   // TLS is tried, too
	set         string // what its users set
}

// conversations are in the order of the page.
func conversations() []conversation {
	debian := func(name string) string { return "dpkg-query -W -f '${Version}' " + name }
	npm := func(name string) string {
		return "node -p 'JSON.parse(fs.readFileSync(\"node_modules/" + name + "/package.json\")).version'"
	}
	module := func(name, folder string) string { return "go list -C " + folder + " -m -f {{.Version}} " + name }
	stubs := func(generator, run string) string {
		return "thrift --gen " + generator + ` "$SNOWFENCE/../../api/snowflake.thrift" && ` + run
	}
	const (
		ours   = `"$SNOWFENCE"`
		texts  = "`ID.NEXT`"
		reopen = "reopen"
	)
	return []conversation{
		{"Go: go-redis 9", "redis", module("github.com/redis/go-redis/v9", ours), `go run -C "$SNOWFENCE" "$PWD/go-redis-9.go"`, false, ""},
		{"Go: go-redis 6", "redis", "GOWORK=off " + module("github.com/go-redis/redis", "go-redis-6"), "GOWORK=off go run -C go-redis-6 .", false, ""},
		{"Python: redis-py", "redis", debian("python3-redis"), python + "redis-py.py", true, ""},
		{"Node.js: ioredis", "redis", npm("ioredis"), "node ioredis.js", true, texts},
		{"Node.js: node-redis", "redis", npm("redis"), "node node-redis.js", true, texts + "; `commandOptions: { timeout: undefined }`, for a long pipeline"},
		{"Ruby: redis", "redis", debian("ruby-redis"), "ruby ruby.rb", true, ""},
		{"PHP: phpredis", "redis", debian("php-redis"), "php phpredis.php", true, ""},
		{"PHP: Predis", "redis", debian("php-nrk-predis"), "php predis.php", true, ""},
		{"Perl: Redis", "redis", debian("libredis-perl"), "/usr/bin/perl redis.pl", false, "`reconnect => 60`"},
		{"Haskell: hedis", "redis", debian("libghc-hedis-dev"), "ghc -v0 hedis.hs -o hedis && ./hedis", false, ""},
		{"Lua: redis-lua", "redis", debian("lua-redis"), "lua5.1 redis-lua.lua", false, texts + "; connect again after an error"},
		{"OpenResty: lua-resty-redis", "redis", debian("lua-nginx-redis"), "sh resty.sh", false, texts + "; connect again after an error"},
		{"C: hiredis", "redis", debian("libhiredis-dev"), "gcc -Wall -Werror hiredis.c -lhiredis -o hiredis && ./hiredis", false, "`redisReconnect` after an error"},

		{"Go: grpc-go, gzip", "grpc", module("google.golang.org/grpc", ours), `go run -C "$SNOWFENCE" "$PWD/grpc.go"`, false, "`WaitForReady`"},
		{
			"Python: grpcio, gzip", "grpc", debian("python3-grpcio"),
			`protoc -I "$SNOWFENCE/../../api/snowfencev1" --plugin=protoc-gen-grpc="$(which grpc_python_plugin)" --python_out=. --grpc_out=. snowfence.proto && ` + python + "grpc-python.py",
			false, "`wait_for_ready`",
		},

		{"Python: Thrift", "thrift", debian("python3-thrift"), stubs("py", python+"thrift-python.py"), false, reopen},
		{
			"Java: Thrift", "thrift", debian("libthrift-java"),
			stubs("java:generated_annotations=suppress", "javac -cp '/usr/share/java/*' -d . gen-java/*.java Thrift.java && java -cp '.:/usr/share/java/*' Thrift"), false, reopen,
		},
		{
			"Go: Thrift", "thrift", module("github.com/apache/thrift", ours),
			stubs("go", `sed -i 's/^package .*/package main/' gen-go/snowflake/*.go && cp thrift.go gen-go/snowflake && go run -C "$SNOWFENCE" "$PWD"/gen-go/snowflake/*.go`), false, reopen,
		},
		{"C++: Thrift", "thrift", debian("libthrift-dev"), stubs("cpp", "g++ -o thrift-cpp thrift.cpp gen-cpp/Snowflake.cpp -lthrift && ./thrift-cpp"), false, reopen},
		{"PHP: Thrift", "thrift", debian("php-thrift"), stubs("php", "php thrift.php"), false, reopen},
		{"Node.js: Thrift", "thrift", npm("thrift"), stubs("js:node,es6", "echo {} >gen-nodejs/package.json && node thrift-node.js"), false, "`id.toOctetString()`, for all digits; `max_attempts`"},
	}
}

// pipelined is how many commands a client of Redis sends before it reads the first reply: with all clients more than
// fit into the buffers of a connection.
func pipelined() int {
	if *allClients {
		return 200_000
	}
	return 20_000
}

// asks returns the arguments of a program, and its expected output: so many ids, and such texts.
func (c conversation) asks(address, scheme, ca string, n int) (arguments []string, ids map[string]int, texts map[string]string) {
	const unknown = `generator is "nosuch": must be one of orders`
	switch c.front {
	case "grpc":
		return []string{address, clientToken, strconv.Itoa(n)}, map[string]int{"batch": n, "again": 1}, map[string]string{"unknown": unknown, "refused": "the token is not known"}
	case "thrift":
		host, port, _ := net.SplitHostPort(address)
		return []string{host, port, strconv.Itoa(n)}, map[string]int{"batch": n, "again": 1}, map[string]string{"refused": "InvalidUserAgentError: "}
	}
	return []string{scheme + "://:" + clientToken + "@" + address, ca, strconv.Itoa(n)}, map[string]int{"pipelined": n, "batch": 1000, "again": 1},
		map[string]string{"name": "teller", "unknown": "unknown-generator: " + unknown, "refused": "invalid-token: "}
}

// TestClientsConverse has each client use the daemon as programs do: it asks for ids, one by one or in
// a pipeline, and for 1,000 by one command; it asks for ids of no generator, and with a wrong token or
// name. A client of Redis also gives its connection a name and selects the database 0. It prints what
// it gets. When it prints "cut:", the daemon is killed and started again, or its connection is cut, and
// a line is sent to its input. It asks for ids again. It prints "broken:" if the first call after that
// failed.
func TestClientsConverse(t *testing.T) {
	t.Parallel()
	fixed := func(front string) string { return "--" + front + "=127.0.0.1:" + strconv.Itoa(testkit.FreePort(t)) }
	plain, _ := guardedDaemon(t, false, fixed("resp"), fixed("grpc"))
	open := clientDaemon(t, nil, fixed("thrift"))
	secure, authority := guardedDaemon(t, true)
	folder, ids, rows := clientFolder(t), once[string]{}, map[string]string{}
	for _, c := range conversations() {
		if !c.secure && !*allClients {
			continue
		}
		t.Run(c.name, func(t *testing.T) {
			row := fmt.Sprintf("- %s %s", c.name, majorMinor(t, output(t, clientCommand(t, folder, c.version))))
			d, n := &plain, pipelined()
			switch c.front {
			case "thrift":
				d, n = &open, 1000
			case "grpc":
				n = 10_000
			}
			restart := func() {
				(*d).Kill()
				*d = (*d).Again()
			}
			if c.hold(t, folder, ids, (*d).Address(c.front), "", n, restart) {
				row += " †"
			}
			if c.set != "" {
				row += ": " + c.set
			}
			if c.secure {
				proxy := testkit.NewProxy(t, secure.Address("rediss"))
				c.hold(t, folder, ids, proxy.Addr(), authority.File, 1000, proxy.ResetAll)
			}
			rows[c.name] = row + "\n"
		})
	}
	if len(rows) == len(conversations()) && !t.Failed() {
		list := ""
		for _, c := range conversations() {
			list += rows[c.name]
		}
		const head = "Versions and settings:\n\n"
		testkit.Page(t, "../../docs/clients.md", withTables(t, "clients.md", head, list), *writeClients)
	}
}

// hold has a conversation, and reports whether a call failed after the cut.
func (c conversation) hold(t *testing.T, folder string, all once[string], address, ca string, n int, cut func()) (broken bool) {
	t.Helper()
	scheme := c.front
	if ca != "" {
		scheme += "s"
	}
	arguments, ids, texts := c.asks(address, scheme, ca, n)
	said := converse(t, folder, c.run+" '"+strings.Join(arguments, "' '")+"'", cut)
	if rounded, doubles := said["rounded"]; doubles {
		if _, also := said["exact"]; also {
			ids["exact"] = 1
		}
		if exact(rounded) {
			t.Errorf("it reads the number %s exactly, which the page denies", rounded)
		}
	}
	for what, n := range ids {
		if got := takeIDs(t, all, said[what]); got != n {
			t.Errorf("%s: %s has %d ids, want %d", scheme, what, got, n)
		}
	}
	for what, want := range texts {
		if !strings.Contains(said[what], want) {
			t.Errorf("%s: %s is %q, want %q in it", scheme, what, said[what], want)
		}
	}
	_, broken = said["broken"]
	return broken
}

// clientCommand is a command of the shell in the folder of the clients.
func clientCommand(t *testing.T, folder, run string) *exec.Cmd {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	command := exec.CommandContext(t.Context(), "sh", "-c", run)
	command.Dir, command.Env = folder, append(os.Environ(), "SNOWFENCE="+here)
	return command
}

// majorMinor returns the first two numbers of a version, without Debian's epoch.
func majorMinor(t *testing.T, version string) string {
	t.Helper()
	numbers := regexp.MustCompile(`^(?:\d+:)?v?(\d+\.\d+)`).FindStringSubmatch(version)
	if numbers == nil {
		t.Fatalf("%q is no version", version)
	}
	return numbers[1]
}

// converse runs a client. It returns the client's output, by the word before the colon.
func converse(t *testing.T, folder, run string, cut func()) map[string]string {
	t.Helper()
	command := clientCommand(t, folder, run)
	var stderr strings.Builder
	command.Stderr = &stderr
	input, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	said := map[string]string{}
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 16<<20) // a line has all ids of a pipeline
	for lines.Scan() {
		what, text, _ := strings.Cut(lines.Text(), ":")
		said[what] = text
		if what == "cut" {
			cut()
			if _, err := io.WriteString(input, "go on\n"); err != nil {
				t.Error(err)
			}
		}
	}
	if err := command.Wait(); err != nil {
		t.Fatalf("%v: it printed %v\n%s\nmake clients installs what it needs", err, slices.Collect(maps.Keys(said)), &stderr)
	}
	return said
}
