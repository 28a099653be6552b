package testkit

import (
	"context"
	"net"
	"os"
)

// External returns the address of a server that the environment names for an
// engine, such as SNOWFENCE_TEST_ETCD, and whether it names one. A test that
// needs no control over its server uses that one instead of starting its own.
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
