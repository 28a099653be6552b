package testkit

import (
	"context"
	"net"
	"os"
)

// External returns the address of a server that the environment names for an
// engine (SNOWFENCE_TEST_ETCD, _ZOOKEEPER, _REDIS and _NATS as host:port, _POSTGRES
// and _MYSQL as a store's URL), and whether it names one. The conformance suite
// then runs on that one, and leaves out what needs control over its server.
func External(engine string) (address string, ok bool) {
	address = os.Getenv("SNOWFENCE_TEST_" + engine)
	return address, address != ""
}

// Accepts is a Program's Ready: nil once the first port accepts a connection.
func Accepts(ctx context.Context, s *Server) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	return connection.Close()
}
