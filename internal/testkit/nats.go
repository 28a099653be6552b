package testkit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// NATS starts a NATS server with JetStream, whose folder is Dir/jetstream.
// Settings are lines that are added to its configuration.
func NATS(t testing.TB, settings ...string) *Server {
	t.Helper()
	return nats(t, 1, func(s *Server) error { return natsConfigure(s, settings) })
}

// NATSCluster starts as many NATS servers as one cluster. It is usable once
// they have chosen a leader, some seconds later. Settings are added to the
// configuration of each.
func NATSCluster(t testing.TB, count int, settings ...string) []*Server {
	t.Helper()
	var servers []*Server
	var routes []string
	for i := range count {
		servers = append(servers, nats(t, 2, func(s *Server) error {
			routes = append(routes, "nats://"+s.Address(1))
			return natsConfigure(s, append([]string{
				fmt.Sprintf("server_name: server%d", i),
				// Each gets the addresses of the ones before it, and learns the others from them.
				fmt.Sprintf("cluster { name: cluster, listen: %q, routes: [%s] }", s.Address(1), strings.Join(routes, ", ")),
			}, settings...))
		}))
	}
	return servers
}

func nats(t testing.TB, ports int, configure func(*Server) error) *Server {
	t.Helper()
	return StartServer(t, Program{
		Name: "nats-server", Package: "nats-server", Places: []string{"/usr/sbin"}, Ports: ports,
		Prepare:   configure,
		Arguments: func(s *Server) []string { return []string{"-c", filepath.Join(s.Dir, "nats.conf")} },
		Ready:     natsAnswers,
	})
}

func natsConfigure(s *Server, settings []string) error {
	config := append([]string{
		fmt.Sprintf("listen: %q", s.Addr()),
		fmt.Sprintf("jetstream { store_dir: %q }", s.Dir),
	}, settings...)
	return os.WriteFile(filepath.Join(s.Dir, "nats.conf"), []byte(strings.Join(config, "\n")+"\n"), 0o600)
}

// natsAnswers is ready once the server reports that it has JetStream: then it has read its folder.
func natsAnswers(ctx context.Context, s *Server) error {
	line, err := ask(ctx, s.Addr(), "", readLine)
	if err != nil {
		return err
	}
	if !strings.Contains(line, `"jetstream":true`) {
		return errors.New("the server has no JetStream yet: " + line)
	}
	return nil
}
