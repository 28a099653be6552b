package thriftfront

import (
	"context"
	"crypto/tls"
	"errors"
	"net"

	"github.com/apache/thrift/lib/go/thrift"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/session"
)

// Config has the parts of the front. All must be given.
type Config struct {
	// Service answers the calls that the front translates messages into. Clients get the ids of Generator.
	Service   front.Service
	Generator string

	// Meter counts requests, and ids for each user agent.
	Meter front.Meter

	// Limits are the limits of connections and messages.
	Limits front.Limits
}

// Server is the front. Use [New] to make one. Its Serve and Drain come from package session.
type Server struct {
	*session.Server
	config Config
}

// New returns the front.
func New(cfg Config) *Server {
	s := &Server{config: cfg}
	s.Server = session.NewServer(s.serve)
	return s
}

// serve serves a connection.
func (s *Server) serve(ctx context.Context, conn *session.Conn) {
	address := front.Host(conn.RemoteAddr())
	client := s.config.Service.Client(address)
	if err := s.greet(ctx, conn.Conn, client); err != nil {
		return // counted as a connection alone
	}
	s.converse(ctx, conn, client, client.Trusted() || address.IsLoopback())
}

// converse answers the messages of a connection, until one can't be read or the client is gone.
func (s *Server) converse(ctx context.Context, stream stream, client front.Client, known bool) {
	meter := s.config.Meter
	c := connection{Config: &s.config, client: client, transport: &transport{stream: stream, meter: meter, now: meter.Began(), limits: s.config.Limits, known: known}}
	bounds := &thrift.TConfiguration{MaxMessageSize: maxText, MaxFrameSize: maxMessage}
	binary, compact := thrift.NewTBinaryProtocolConf(c.transport, bounds), thrift.NewTCompactProtocolConf(c.transport, bounds)
	var err error
	for err == nil {
		if err = c.transport.begin(); err != nil {
			break
		}
		began := meter.Began()
		c.thrift = binary
		if c.transport.compact {
			c.thrift = compact
		}
		err = c.answer(ctx)
		c.transport.now = meter.Answered(began, 1)
		err = errors.Join(err, c.transport.Flush(ctx))
	}
	c.ended(err)
}

// greet lets a client in that shows a certificate.
func (s *Server) greet(ctx context.Context, conn net.Conn, client front.Client) error {
	secure, ok := conn.(*tls.Conn)
	if !ok {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.config.Limits.ReadTimeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return err
	}
	if len(secure.ConnectionState().VerifiedChains) > 0 {
		client.Trust()
	}
	return nil
}
