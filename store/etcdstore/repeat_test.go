package etcdstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
)

// A relay or a server may end a transaction with a status of its own after it
// was carried out: Canceled means a stream's reset, DeadlineExceeded a proposal that was not answered
// in time. etcd's own proxy is a client of the same library.
func TestSwapIsSentOnceWhateverStatusItEndsWith(t *testing.T) {
	server, direct, _ := opened(t)
	for way, endpoint := range map[string]func(relay string) string{
		"straight":           func(relay string) string { return relay },
		"through-etcd-proxy": func(relay string) string { return testkit.EtcdProxy(t, relay).Addr() },
	} {
		relay := startRelay(t, server.Addr())
		s := open(t, endpoint(relay.address))
		for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
			t.Run(way+"/"+code.String(), func(t *testing.T) {
				key := way + "." + strings.ToLower(code.String())
				prev := servertest.Swap(t, s, key, "", "first")
				before := relay.transactions.Load()
				relay.verdict.Store(uint32(code))
				if _, err := s.Swap(t.Context(), key, prev, []byte("second")); err == nil || errors.Is(err, store.ErrConflict) {
					t.Errorf("the outcome that is unknown reads %v", err)
				}
				if sent := relay.transactions.Load() - before; sent != 1 {
					t.Errorf("the swap was sent %d times", sent)
				}
				if e, err := direct.Get(t.Context(), key); err != nil || string(e.Value) != "second" {
					t.Errorf("the register holds %q, %v", e.Value, err)
				}
			})
		}
	}
}

// relay passes gRPC calls on to a server, and spoils the answer to one
// transaction after the server carried it out.
type relay struct {
	address      string
	to           *grpc.ClientConn
	transactions atomic.Int64
	verdict      atomic.Uint32 // the status of the next transaction; 0 is that of the server
}

func startRelay(t *testing.T, target string) *relay {
	t.Helper()
	to, err := grpc.NewClient(target, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(raw{})))
	if err != nil {
		t.Fatal(err)
	}
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{address: listener.Addr().String(), to: to}
	server := grpc.NewServer(grpc.ForceServerCodec(raw{}), grpc.UnknownServiceHandler(r.pass))
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	t.Cleanup(func() {
		server.Stop()
		if err := errors.Join(<-served, to.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

func (r *relay) pass(_ any, stream grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(stream)
	var request, reply []byte
	if err := stream.RecvMsg(&request); err != nil {
		return err
	}
	headers, _ := metadata.FromIncomingContext(stream.Context())
	ctx := metadata.NewOutgoingContext(context.WithoutCancel(stream.Context()), headers)
	if err := r.to.Invoke(ctx, method, &request, &reply); err != nil {
		return err
	}
	if strings.HasSuffix(method, "/Txn") {
		r.transactions.Add(1)
		if code := codes.Code(r.verdict.Swap(0)); code != codes.OK {
			return status.Error(code, "the relay spoils the answer")
		}
	}
	return stream.SendMsg(&reply)
}

// raw is a codec that leaves messages as they are.
type raw struct{}

func (raw) Name() string { return "proto" }

func (raw) Marshal(v any) ([]byte, error) {
	if b, ok := v.(*[]byte); ok {
		return *b, nil
	}
	return nil, fmt.Errorf("marshal %T", v)
}

func (raw) Unmarshal(data []byte, v any) error {
	b, ok := v.(*[]byte)
	if !ok {
		return fmt.Errorf("unmarshal %T", v)
	}
	*b = append([]byte(nil), data...)
	return nil
}
