package redisstore

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
)

const (
	// callLimit bounds a call whose context sets no earlier end, and with it how
	// long a reply is waited for whose caller has gone.
	callLimit = 5 * time.Second

	// connectionLife is how long a connection is used, and so how long a change of the
	// server's settings, or its turning into a replica, can go unnoticed.
	connectionLife = time.Minute

	dialLimit   = 3 * time.Second // of one attempt to connect
	connections = 16              // of a client of one server
)

// dial makes the clients: one for each server, or one that asks the Sentinels.
// None of them connects before it is used.
func (c Config) dial() ([]*redis.Client, error) {
	tls, err := c.TLS.Load()
	if err != nil {
		return nil, err
	}
	if c.Sentinel != "" {
		password, err := storeurl.Password("", c.SentinelPasswordFile)
		if err != nil {
			return nil, fmt.Errorf("sentinel-password-file: %w", err)
		}
		o := c.options(tls, "that Sentinel names "+c.Sentinel, c.Endpoints...)
		o.MasterName, o.SentinelUsername, o.SentinelPassword = c.Sentinel, c.SentinelUser, string(password)
		return []*redis.Client{redis.NewFailoverClient(o.Failover())}, nil
	}
	clients := make([]*redis.Client, len(c.Endpoints))
	for i, endpoint := range c.Endpoints {
		clients[i] = redis.NewClient(c.options(tls, endpoint, endpoint).Simple())
	}
	return clients, nil
}

// options are a client's options for the server, with its name in errors. An option that is missing
// here has a harmless default or is unused with protocol 2.
func (c Config) options(tls *tls.Config, server string, addresses ...string) *redis.UniversalOptions {
	return &redis.UniversalOptions{
		Addrs:                      addresses,
		Dialer:                     dialer(tls),
		OnConnect:                  c.inspector(server),
		CredentialsProviderContext: c.credentials,
		DB:                         c.Database,

		// A repeated swap meets its own first effect. Zero would mean three.
		MaxRetries: -1,

		// Nothing is sent to set a connection up but HELLO, with AUTH in it, and
		// SELECT: neither names, nor subscriptions to pushed messages.
		Protocol:                 2,
		DisableIdentity:          true,
		MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},

		DialTimeout:           dialLimit,
		DialerRetries:         1,
		ReadTimeout:           2 * callLimit, // the context's deadline comes first
		WriteTimeout:          2 * callLimit,
		PoolTimeout:           2 * callLimit,
		ContextTimeoutEnabled: true,
		PoolSize:              connections,
		PipelinePoolSize:      -1, // calls that are sent together use the same connections
		ConnMaxLifetime:       connectionLife,
	}
}

// credentials are asked for at every new connection.
func (c Config) credentials(context.Context) (user, password string, err error) {
	secret, err := storeurl.Password(c.Password, c.PasswordFile)
	if err != nil {
		return "", "", &unreached{text: fmt.Sprintf("read password-file: %v", err)}
	}
	return c.User, string(secret), nil
}

// dialer returns a function that connects, with TLS unless that is nil. A failure is returned as a
// connection that fails at its first use: the client library counts failed dials, and after some of
// them it does not dial at all for up to a second, when the server may be back.
func dialer(config *tls.Config) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		connection, err := storeclient.Dial(ctx, network, address, config)
		if err != nil {
			return broken{&unreached{text: err.Error()}}, nil //nolint:nilerr // the connection returns it
		}
		return storeclient.NewGuard(address, newAnswers(), connection.Close).Conn(connection), nil
	}
}

// unreached is the error of a server that could not be connected to: nothing
// was sent. It unwraps to nothing, because the client library would return the wrapped error in its
// place.
type unreached struct{ text string }

func (e *unreached) Error() string { return e.text }

// broken is a connection that was never made.
type broken struct{ err error }

func (b broken) Read([]byte) (int, error)         { return 0, b.err }
func (b broken) Write([]byte) (int, error)        { return 0, b.err }
func (b broken) Close() error                     { return nil }
func (b broken) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (b broken) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (b broken) SetDeadline(time.Time) error      { return b.err }
func (b broken) SetReadDeadline(time.Time) error  { return b.err }
func (b broken) SetWriteDeadline(time.Time) error { return b.err }
