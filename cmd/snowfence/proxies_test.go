//go:build servers

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/client"
	"snowfence.example/snowfence/internal/testkit"
)

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

// bareCheck has HAProxy check as it does where nothing else is said, and say how many servers it takes for up.
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
					p.collect(t, way, mint, had)
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
func (proxied) collect(t *testing.T, name string, mint throughProxy, had once[snowfence.ID]) {
	t.Helper()
	for _, n := range []int{1, 1, 1, 97} {
		testkit.Eventually(t, func(ctx context.Context) error {
			ids, err := mint(ctx, n)
			if err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			had.take(t, name, ids...)
			if len(ids) != n {
				t.Errorf("%s: %d ids, want %d", name, len(ids), n)
			}
			return nil
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
