package main

import (
	"bufio"
	"context"
	"fmt"
	"log"
	"os"
	"strconv"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/api/snowfencev1"
)

// TestClientsConverse describes what every conversation does. Each message is sent compressed.
func main() {
	connection, err := grpc.NewClient(os.Args[1], grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.UseCompressor(gzip.Name)))
	if err != nil {
		log.Fatal(err)
	}
	ids := snowfencev1.NewIdsClient(connection)
	ask := func(token, generator string, count int, options ...grpc.CallOption) (*snowfencev1.NextResponse, error) {
		ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", "Bearer "+token)
		return ids.Next(ctx, &snowfencev1.NextRequest{Generator: generator, Count: int32(count)}, options...)
	}
	token := os.Args[2]
	n, _ := strconv.Atoi(os.Args[3])
	batch, err := ask(token, "orders", n)
	fmt.Println("batch:", batch.GetIds(), err)
	_, err = ask(token, "nosuch", 1)
	fmt.Println("unknown:", status.Code(err), status.Convert(err).Message())
	_, err = ask("not-"+token, "orders", 1)
	fmt.Println("refused:", status.Code(err), status.Convert(err).Message())

	fmt.Println("cut:")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	again, err := ask(token, "orders", 1, grpc.WaitForReady(true))
	fmt.Println("again:", again.GetIds(), err)
}
