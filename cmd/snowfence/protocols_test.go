//go:build servers

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/internal/testkit"
)

// dialGRPC returns a connection to a daemon's gRPC front.
func dialGRPC(t *testing.T, address string) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

func TestProgramGrpcurlGetsIDs(t *testing.T) {
	t.Parallel()
	d, _ := guardedDaemon(t, false)
	secure, authority := guardedDaemon(t, true)
	asks := func(arguments ...string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, "../../.bin/grpcurl", arguments...).CombinedOutput() // make .bin/grpcurl builds it
		return string(out), err
	}
	const request = `{"generator":"orders","count":3}`
	for name, to := range map[string][]string{
		"plain":    {"-plaintext", "-H", "authorization: Bearer " + clientToken, "-d", request, d.Address("grpc")},
		"over TLS": {"-cacert", authority.File, "-H", "authorization: Bearer " + clientToken, "-d", request, secure.Address("grpcs")},
	} {
		out, err := asks(append(to, "snowfence.v1.Ids/Next")...)
		var answer struct{ IDs []string }
		if decoded := json.Unmarshal([]byte(out), &answer); err != nil || decoded != nil || len(answer.IDs) != 3 || !exact(answer.IDs[0]) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for _, c := range []struct {
		arguments []string
		want      string
		fails     bool
	}{
		{[]string{"list"}, "grpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\nsnowfence.v1.Ids\n", false},
		{[]string{"describe", "snowfence.v1.Range"}, "int64 first = 1 [jstype = JS_STRING];", false},
		{[]string{"grpc.health.v1.Health/Check"}, `"status": "SERVING"`, false},
		{[]string{"snowfence.v1.Ids/Generators"}, `"name": "orders"`, false},
		{[]string{"snowfence.v1.Ids/Next"}, `"reason": "UNKNOWN_GENERATOR"`, true}, // none is called "default"
	} {
		out, err := asks(append([]string{"-plaintext", "-H", "authorization: Bearer " + clientToken, d.Address("grpc")}, c.arguments...)...)
		if (err != nil) != c.fails || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v\n%s", c.arguments, err, out)
		}
	}
	if out, err := asks("-plaintext", d.Address("grpc"), "list"); err == nil || !strings.Contains(out, "Unauthenticated") {
		t.Errorf("without a token: %v\n%s", err, out)
	}
}

// TestProgramsForRedisGetIDs runs programs that others wrote for Redis against the daemon.
func TestProgramsForRedisGetIDs(t *testing.T) {
	t.Parallel()
	port := portOf(readyDaemon(t, "--store", "mem://").Address("redis"))
	for _, c := range []struct{ command, stdin, want string }{
		{"redis-cli -p PORT", "INCR default\nid.next default count 2\nINCR default\n", `^(\d+\n){4}$`},
		{"redis-cli -p PORT -3 ID.NEXT default COUNT 10", "", `^(\d+\n){10}$`},
		{"redis-cli -p PORT GET default", "", "ERR GET never mints"},
		{"redis-cli -p PORT INCR none", "", "ERR unknown-generator"},
		{"redis-cli -p PORT -3 ID.DECODE 1541815603606036480 LAYOUT twitter", "", "time 2022-06-28T16:07:40.105Z"},
		// On a terminal it reads COMMAND DOCS first.
		{"script -qec 'redis-cli -p PORT' /dev/null", "INCR default\nhelp id.next\nquit\n", `(?s)\(integer\) .*key \[COUNT n\] \[RANGES\].*Mints ids, as bulk strings or as ranges\.`},
		{"redis-benchmark -p PORT -c 10 -n 20000 -q -P 1 INCR default 2>&1", "", "^[^W]*requests per second[^W]*$"}, // no WARNING
		{"redis-benchmark -p PORT -c 10 -n 20000 -q -P 64 INCR default 2>&1", "", "^[^W]*requests per second[^W]*$"},
	} {
		t.Run(c.command, func(t *testing.T) {
			t.Parallel()
			command := exec.CommandContext(t.Context(), "sh", "-c", strings.ReplaceAll(c.command, "PORT", port))
			command.Env = append(command.Environ(), "TERM=dumb") // a terminal without keys to move the cursor
			command.Stdin = strings.NewReader(c.stdin)
			if out := output(t, command); !regexp.MustCompile(c.want).MatchString(out) {
				t.Errorf("it prints %s", out)
			}
		})
	}
}

// proxied is a proxy in front of a daemon, with the configuration of docs/exposing.md.
type proxied struct {
	name    string
	program testkit.Program
	more    string // after the page's configuration
	host    string // that clients ask for, if the proxy passes it on
}

// proxies are the page's. Of nginx, files are in the server's folder.
func proxies() []proxied {
	return []proxied{
		{"nginx", testkit.Program{
			Name: "nginx", Places: []string{"/usr/sbin"}, Package: "nginx libnginx-mod-stream", Ports: 4,
			Arguments: func(s *testkit.Server) []string {
				return []string{"-p", s.Dir, "-c", "proxy.conf", "-e", "stderr", "-g", "daemon off; pid nginx.pid; user root; " +
					"load_module /usr/lib/nginx/modules/ngx_stream_module.so;"}
			},
		}, "events {}\n", ""},
		{"haproxy", testkit.Program{
			Name: "haproxy", Places: []string{"/usr/sbin"}, Package: "haproxy", Ports: 4,
			Arguments: func(s *testkit.Server) []string { return []string{"-db", "-f", "proxy.conf"} },
		}, bareCheck, "ids.example.com"},
	}
}

// bareCheck has HAProxy check as it does where nothing else is set, and report how many servers it takes for up.
const bareCheck = `
frontend bare
    bind :8083
    http-request return status 200 content-type text/plain lf-string "%[nbsrv(bare-check)]"
backend bare-check
    option httpchk
    server one 127.0.0.1:7600 check inter 200ms
`

// TestProxiesPassOnEveryIDOnce asks by HTTP, RESP and gRPC through real proxies, and kills the daemon behind them.
func TestProxiesPassOnEveryIDOnce(t *testing.T) {
	t.Parallel()
	hosts := block(t, "exposing.md", "yaml\nhosts: ")
	for _, p := range proxies() {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			arguments, port := []string{"--data", t.TempDir()}, map[string]string{}
			for _, front := range []string{"http", "resp", "grpc"} {
				port[front] = strconv.Itoa(testkit.FreePort(t))
				arguments = append(arguments, "--"+front, "127.0.0.1:"+port[front])
			}
			file := written(t, "hosts: "+hosts)
			d := readyDaemon(t, append(arguments, "--config", file)...)
			p.program.Ready = testkit.Accepts
			p.program.Prepare = func(s *testkit.Server) error {
				config := strings.NewReplacer(
					"listen 808", "listen 127.0.0.1:808", "bind :808", "bind 127.0.0.1:808", "http {", "http {\n"+temporary,
					"127.0.0.1:7600", "127.0.0.1:"+port["http"], "port 7600", "port "+port["http"],
					"127.0.0.1:7601", "127.0.0.1:"+port["resp"], "127.0.0.1:7602", "127.0.0.1:"+port["grpc"],
				).Replace(block(t, "exposing.md", p.name+"\n") + "\n" + p.more)
				for i := range s.Ports {
					config = strings.ReplaceAll(config, fmt.Sprintf("127.0.0.1:808%d", i), s.Address(i))
				}
				return os.WriteFile(filepath.Join(s.Dir, "proxy.conf"), []byte(config), 0o600)
			}
			s := testkit.StartServer(t, p.program)
			ways := waysThrough(t, s)
			had := once[snowfence.ID]{}
			for life := range 3 {
				for way, mint := range ways {
					collect(t, way, mint, had)
				}
				if len(had) != 3*100*(life+1) {
					t.Errorf("%d ids are distinct, want %d", len(had), 3*100*(life+1))
				}
				if p.host != "" {
					wantHosts(t, "http://"+s.Addr(), p.host)
					wantServers(t, s, "1")
				}
				d.Kill()
				if p.host != "" {
					wantServers(t, s, "0")
				}
				d = d.Again()
			}
		})
	}
}

// temporary is where nginx keeps bodies.
const temporary = `access_log off; client_body_temp_path body; proxy_temp_path proxied; fastcgi_temp_path fast; uwsgi_temp_path uw; scgi_temp_path s;`

// throughProxy mints n ids through a proxy.
type throughProxy func(ctx context.Context, n int) ([]snowfence.ID, error)

// waysThrough are the protocols, each by a client that keeps its connection.
func waysThrough(t *testing.T, s *testkit.Server) map[string]throughProxy {
	t.Helper()
	web, resp := testkit.Client(), newClient(t, client.Config{Servers: []string{s.Address(1)}})
	t.Cleanup(web.CloseIdleConnections)
	rpc := snowfencev1.NewIdsClient(dialGRPC(t, s.Address(2)))
	return map[string]throughProxy{
		"http": func(ctx context.Context, n int) ([]snowfence.ID, error) {
			return testkit.Mint(ctx, web, "http://"+s.Addr(), "default", n, nil)
		},
		"resp": func(ctx context.Context, n int) ([]snowfence.ID, error) {
			ids := make([]snowfence.ID, n)
			return ids, resp.Fill(ctx, ids)
		},
		"grpc": func(ctx context.Context, n int) (ids []snowfence.ID, err error) {
			answer, err := rpc.Next(ctx, &snowfencev1.NextRequest{Count: int32(n)})
			for _, id := range answer.GetIds() {
				ids = append(ids, snowfence.ID(id))
			}
			return ids, err
		},
	}
}

// collect mints 100 ids, one at a time and together. The first request after a kill may come too early.
func collect(t *testing.T, name string, mint throughProxy, had once[snowfence.ID]) {
	t.Helper()
	for _, n := range []int{1, 1, 1, 97} {
		testkit.Eventually(t, func(ctx context.Context) error {
			ids, err := mint(ctx, n)
			if err == nil {
				had.take(t, name, ids...)
			}
			return err
		})
	}
}

// wantHosts asks by a name in hosts, and by another one.
func wantHosts(t *testing.T, url, host string) {
	t.Helper()
	for name, want := range map[string]int{host: http.StatusOK, "evil.example": http.StatusMisdirectedRequest} {
		answer := ask(t, http.MethodGet, url+"/v1/generators/default/ids", "Host", name)
		if answer.status != want {
			t.Errorf("asked for %s: %d, want %d", name, answer.status, want)
		}
	}
}

// wantServers waits until HAProxy takes so many servers for up.
func wantServers(t *testing.T, s *testkit.Server, want string) {
	t.Helper()
	testkit.Eventually(t, func(context.Context) error {
		if got := ask(t, http.MethodGet, "http://"+s.Address(3)).body; got != want {
			return fmt.Errorf("%s servers are up, want %s", got, want)
		}
		return nil
	})
}
