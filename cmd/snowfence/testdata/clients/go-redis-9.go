package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/redis/go-redis/v9"
)

// TestClientsConverse describes what every conversation does.
func main() {
	ctx := context.Background()
	options, err := redis.ParseURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	options.ClientName = "teller"
	ids := redis.NewClient(options)
	fmt.Println("name:", ids.ClientGetName(ctx).Val())

	n, _ := strconv.Atoi(os.Args[3])
	replies, err := ids.Pipelined(ctx, func(p redis.Pipeliner) error {
		for range n {
			p.Incr(ctx, "orders")
		}
		return nil
	})
	fmt.Print("pipelined:")
	for _, reply := range replies {
		fmt.Print(" ", reply.(*redis.IntCmd).Val())
	}
	fmt.Println()
	if err != nil {
		log.Fatal(err)
	}

	fmt.Println("batch:", ids.Do(ctx, "ID.NEXT", "orders", "COUNT", 1000).Val())
	var refusal redis.Error
	if errors.As(ids.Incr(ctx, "nosuch").Err(), &refusal) {
		fmt.Println("unknown:", refusal)
	}
	wrong := *options
	wrong.Password = "not-" + wrong.Password
	fmt.Println("refused:", redis.NewClient(&wrong).Incr(ctx, "orders").Err())

	fmt.Println("cut:")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := ids.Incr(ctx, "orders").Err(); err != nil {
		fmt.Println("broken:", err)
	}
	fmt.Println("again:", ids.Incr(ctx, "orders").Val())
}
