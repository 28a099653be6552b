package main

import (
	"bufio"
	"fmt"
	"log"
	"os"
	"strconv"

	"github.com/go-redis/redis"
)

// TestClientsConverse describes what every conversation does.
func main() {
	options, err := redis.ParseURL(os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	options.OnConnect = func(c *redis.Conn) error { return c.ClientSetName("teller").Err() }
	ids := redis.NewClient(options)
	fmt.Println("name:", ids.ClientGetName().Val())

	n, _ := strconv.Atoi(os.Args[3])
	replies, err := ids.Pipelined(func(p redis.Pipeliner) error {
		for range n {
			p.Incr("orders")
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

	fmt.Println("batch:", ids.Do("ID.NEXT", "orders", "COUNT", 1000).Val())
	fmt.Println("unknown:", ids.Incr("nosuch").Err())
	wrong := *options
	wrong.Password = "not-" + wrong.Password
	fmt.Println("refused:", redis.NewClient(&wrong).Incr("orders").Err())

	fmt.Println("cut:")
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	if err := ids.Incr("orders").Err(); err != nil {
		fmt.Println("broken:", err)
	}
	fmt.Println("again:", ids.Incr("orders").Val())
}
