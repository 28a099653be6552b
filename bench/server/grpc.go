package main

import (
	"context"
	"fmt"
	"net"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/bench/contest"
)

// grpc compares unary calls of the gRPC front with a bare server's, and measures its streams.
func (b bench) grpc(ctx context.Context) error {
	if err := b.pair(ctx, "grpc", dialGRPC, 0.9); err != nil {
		return err
	}
	ours, err := b.daemon(ctx)
	if err != nil {
		return err
	}
	defer ours.Stop()
	const chunk, least = 10_000, 20e6
	name := "ids of a stream, in ranges"
	return b.measure(ctx, contest.Contest{
		Title: fmt.Sprintf("gRPC, one stream with %d ids in a message", chunk),
		Contenders: []contest.Contender{{Name: name, Run: func(ctx context.Context) (contest.Sample, error) {
			return ours.under(1, func() (load, error) { return b.stream(ctx, ours.Addresses["grpc"], chunk) })
		}}},
		Goals: []contest.Goal{{Figure: rate, Name: name, Least: least}},
	})
}

// grpcCaller is a connection with one unary call at a time.
type grpcCaller struct {
	*grpc.ClientConn
	ids snowfencev1.IdsClient
}

func dialGRPC(_ context.Context, address string) (caller, error) {
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, err
	}
	return grpcCaller{c, snowfencev1.NewIdsClient(c)}, nil
}

// Call gets one id.
func (c grpcCaller) Call() error {
	answer, err := c.ids.Next(context.Background(), &snowfencev1.NextRequest{})
	if err == nil && len(answer.GetIds()) != 1 {
		return fmt.Errorf("%d ids", len(answer.GetIds()))
	}
	return err
}

// stream reads one stream, and counts its ids as requests.
func (b bench) stream(ctx context.Context, address string, chunk int32) (l load, err error) {
	c, err := grpc.NewClient(address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return load{}, err
	}
	defer func() { _ = c.Close() }()
	began := time.Now()
	ids, err := snowfencev1.NewIdsClient(c).Stream(ctx, &snowfencev1.StreamRequest{Chunk: chunk, Ranges: true})
	for err == nil && l.took < b.each {
		var answer *snowfencev1.NextResponse
		answer, err = ids.Recv()
		for _, r := range answer.GetRanges() {
			l.requests += float64(r.GetCount())
		}
		l.took = time.Since(began)
	}
	return l, err
}

// echoGRPC answers every unary call with one number.
func echoGRPC(l net.Listener) error {
	s := grpc.NewServer()
	snowfencev1.RegisterIdsServer(s, echoIDs{})
	return s.Serve(l)
}

type echoIDs struct {
	snowfencev1.UnimplementedIdsServer
}

// Next answers with one number.
func (echoIDs) Next(context.Context, *snowfencev1.NextRequest) (*snowfencev1.NextResponse, error) {
	return &snowfencev1.NextResponse{Ids: []int64{1234567890123456789}}, nil
}
