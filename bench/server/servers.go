package main

import (
	"context"
	"fmt"
	"net"
	"os"

	"snowfence.example/snowfence/bench/serving"
)

// layout has so many ids a millisecond that it limits nothing.
const layout = "ms41-worker1-seq21"

// connections is how many clients there are.
const connections = 50

// daemon starts the program that is measured, with all fronts.
func (b bench) daemon(ctx context.Context) (*process, error) {
	return b.start(ctx, "snowfence: ready", b.program, "serve", "--store", "mem://", "--layout", layout, "--log-level", "warn",
		"--http", serving.Free, "--resp", serving.Free, "--grpc", serving.Free, "--thrift", serving.Free)
}

// redis starts a Redis server that keeps nothing.
func (b bench) redis(ctx context.Context) (*process, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	host, port, _ := net.SplitHostPort(address)
	p, err := b.start(ctx, "Ready to accept connections", "redis-server", "--bind", host, "--port", port, "--save", "", "--appendonly", "no")
	if err != nil {
		return nil, fmt.Errorf("%w (the Debian package is redis-server)", err)
	}
	p.Addresses["redis"] = address
	return p, nil
}

// freeAddress returns a loopback address that nothing listens on.
func freeAddress(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", serving.Free)
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// bare starts this program as the bare server of a part.
func (b bench) bare(ctx context.Context, name string) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return b.start(ctx, "listening on ", self, "-echo", name)
}

// serve serves as a bare server until the context ends.
func serve(ctx context.Context, name string) error {
	echoes := map[string]func(net.Listener) error{
		"grpc":   echoGRPC,
		"http":   echoHTTP,
		"thrift": echoThrift,
	}
	echo, ok := echoes[name]
	if !ok {
		return fmt.Errorf("-echo is %q: no bare server has this name", name)
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", serving.Free)
	if err != nil {
		return err
	}
	fmt.Printf("listening on %s://%s\n", name, l.Addr())
	failed := make(chan error, 1)
	go func() { failed <- echo(l) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}
