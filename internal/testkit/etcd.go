package testkit

import (
	"context"
	"fmt"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// Etcd starts a cluster of one member, which syncs every write. More arguments
// are added to its command line.
func Etcd(t testing.TB, arguments ...string) *Server {
	t.Helper()
	return etcd(t, alone, 0, etcdHealthy, func(*Server) []string { return arguments })
}

// EtcdTLS starts a cluster of one member that takes TLS as well, at Address(2),
// from clients with a certificate that the authority signed. All are files.
func EtcdTLS(t testing.TB, authority, certificate, key string) *Server {
	t.Helper()
	return etcd(t, alone, 0, etcdHealthy, func(s *Server) []string {
		plain, secure := "http://"+s.Address(0), "https://"+s.Address(2)
		return []string{
			"--listen-client-urls", plain + "," + secure, "--advertise-client-urls", plain + "," + secure,
			"--client-cert-auth", "--trusted-ca-file", authority, "--cert-file", certificate, "--key-file", key,
		}
	})
}

// EtcdCluster starts a cluster of several members.
func EtcdCluster(t testing.TB, members int) []*Server {
	t.Helper()
	var peers []string
	ports := make([]int, members)
	for i := range members {
		ports[i] = FreePort(t)
		peers = append(peers, fmt.Sprintf("m%d=http://127.0.0.1:%d", i, ports[i]))
	}
	var servers []*Server
	for i := range members {
		// A member is healthy once there is a majority, so only the last waits.
		ready := Accepts
		if i == members-1 {
			ready = etcdHealthy
		}
		cluster := func(s *Server) string {
			s.Ports[1] = ports[i]
			return strings.Join(peers, ",")
		}
		servers = append(servers, etcd(t, cluster, i, ready, func(*Server) []string { return nil }))
	}
	return servers
}

// EtcdProxy starts etcd's own proxy in front of a member, which may be behind an
// address that is not its own.
func EtcdProxy(t testing.TB, member string) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "etcd", Package: "etcd-server",
		Arguments: func(s *Server) []string {
			return []string{"grpc-proxy", "start", "--endpoints", member, "--listen-addr", s.Addr(), "--advertise-client-url", s.Addr(), "--data-dir", s.Dir}
		},
		Environ: []string{"ETCD_UNSUPPORTED_ARCH=arm64"},
		Ready:   Accepts,
	})
}

// EtcdLeader returns the member that leads at the moment, or nil.
func EtcdLeader(ctx context.Context, servers []*Server) *Server {
	for _, s := range servers {
		var status struct {
			Header struct {
				Member string `json:"member_id"`
			} `json:"header"`
			Leader string `json:"leader"`
		}
		if err := call(ctx, s, http.MethodPost, "/v3/maintenance/status", struct{}{}, &status); err == nil && status.Leader == status.Header.Member {
			return s
		}
	}
	return nil
}

// alone is the cluster of a member without others.
func alone(s *Server) string { return "m0=http://" + s.Address(1) }

// etcd starts a member of a cluster. Its more arguments override the others.
func etcd(t testing.TB, cluster func(*Server) string, member int, ready func(context.Context, *Server) error, more func(*Server) []string) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "etcd", Package: "etcd-server", Ports: 3,
		Arguments: func(s *Server) []string {
			peers := cluster(s)
			client, peer := "http://"+s.Address(0), "http://"+s.Address(1)
			return append([]string{
				"--name", fmt.Sprintf("m%d", member), "--data-dir", filepath.Join(s.Dir, "data"),
				"--listen-client-urls", client, "--advertise-client-urls", client,
				"--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
				"--initial-cluster", peers, "--initial-cluster-state", "new", "--initial-cluster-token", "test",
				"--heartbeat-interval", "50", "--election-timeout", "500", "--log-level", "error",
			}, more(s)...)
		},
		Environ: []string{"ETCD_UNSUPPORTED_ARCH=arm64"}, // or it refuses to start there
		Ready:   ready,
	})
}

// etcdHealthy is ready when the member can have a write agreed upon.
func etcdHealthy(ctx context.Context, s *Server) error {
	var health struct {
		Health string `json:"health"`
	}
	if err := call(ctx, s, http.MethodGet, "/health", nil, &health); err != nil {
		return err
	}
	if health.Health != "true" {
		return fmt.Errorf("health is %q", health.Health)
	}
	return nil
}
