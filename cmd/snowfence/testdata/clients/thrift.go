package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/apache/thrift/lib/go/thrift"
)

// TestClientsConverse describes what every conversation does. The generated code is of this package.
func main() {
	ctx := context.Background()
	socket := thrift.NewTSocketConf(os.Args[1]+":"+os.Args[2], nil)
	transport := thrift.NewTFramedTransportConf(socket, nil)
	ids := NewSnowflakeClientFactory(transport, thrift.NewTBinaryProtocolFactoryConf(nil))
	if err := transport.Open(); err != nil {
		log.Fatal(err)
	}
	n, _ := strconv.Atoi(os.Args[3])
	fmt.Print("batch:")
	for range n {
		id, err := ids.GetID(ctx, "go")
		if err != nil {
			log.Fatal(err)
		}
		fmt.Print(" ", id)
	}
	fmt.Println()
	var refusal thrift.TApplicationException
	if _, err := ids.GetID(ctx, "no agent"); errors.As(err, &refusal) {
		fmt.Println("refused:", refusal)
	}

	fmt.Println("cut:")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if _, err := ids.GetID(ctx, "go"); err != nil {
		fmt.Println("broken:", err)
		_ = transport.Close()
		if err := transport.Open(); err != nil {
			log.Fatal(err)
		}
	}
	again, err := ids.GetID(ctx, "go")
	fmt.Println("again:", again, err)
}
