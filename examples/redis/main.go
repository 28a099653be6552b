// Command redis gets ids from a running daemon by a client library of Redis:
//
//	GOWORK=off go run ./redis -address 127.0.0.1:7601
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/redis/go-redis/v9"
)

func main() {
	address := flag.String("address", "127.0.0.1:7601", "where the daemon listens for clients of Redis")
	flag.Parse()
	if err := run(context.Background(), os.Stdout, *address); err != nil {
		fmt.Fprintln(os.Stderr, "redis:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, out io.Writer, address string) (err error) {
	// A token of the daemon is the password.
	client := redis.NewClient(&redis.Options{Addr: address})
	defer func() { err = errors.Join(err, client.Close()) }()

	id, err := client.Incr(ctx, "default").Result()
	if err != nil {
		return err
	}

	// Many ids at once come as strings, which languages do not round.
	ids, err := client.Do(ctx, "ID.NEXT", "default", "COUNT", 3).StringSlice()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(out, "%d\n%s\n", id, strings.Join(ids, "\n"))
	return err
}
