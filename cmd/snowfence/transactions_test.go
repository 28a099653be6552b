//go:build servers

package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"snowfence.example/snowfence/internal/testkit"
)

// farAway is where the second counter begins, so that a number of the first is seen among its own.
const farAway = 1_000_000_000

// takeNumber adds a number that the counter gave.
func takeNumber(t *testing.T, had once[int64], counter string, n int64) {
	t.Helper()
	had.take(t, counter, n)
	if n <= 0 || n >= farAway != (counter == "far") {
		t.Errorf("%s gave %d, which is another's", counter, n)
	}
}

// TestTransactionsOfClientsGetTheirOwnNumbers has clients mix transactions and plain commands on one
// connection. Redis beside the daemon gets the same.
func TestTransactionsOfClientsGetTheirOwnNumbers(t *testing.T) {
	t.Parallel()
	config := fmt.Sprintf("generators:\n  near: {kind: segment}\n  far: {kind: segment, settings: {start: \"%d\"}}\n", farAway)
	file := written(t, config)
	d := readyDaemon(t, "--config", file, "--store", "file:"+t.TempDir(), "--data", t.TempDir())
	server := testkit.Redis(t, "--appendonly", "no")
	if _, err := testkit.RedisCall(t.Context(), server.Addr(), fmt.Sprint("SET far ", farAway)); err != nil {
		t.Fatal(err)
	}
	const rounds = 5000
	for name, address := range map[string]string{"the daemon": d.Address("redis"), "redis-server": server.Addr()} {
		t.Run(name, func(t *testing.T) {
			numbers := once[int64]{}
			transactionsByGo(t, numbers, address, rounds)
			if t.Failed() {
				return // Python's would only add to it
			}
			transactionsByPython(t, numbers, address, rounds)
			if want := 6 * rounds; len(numbers) != want {
				t.Errorf("%d numbers, want %d", len(numbers), want)
			}
		})
	}
}

// transactionsByGo gets three numbers a round by go-redis: two by a transaction, one by a plain command.
func transactionsByGo(t *testing.T, numbers once[int64], address string, rounds int) {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: address})
	conn := client.Conn()
	defer func() { _, _ = conn.Close(), client.Close() }()
	for range rounds {
		p := conn.TxPipeline()
		near, far := p.Incr(t.Context(), "near"), p.Incr(t.Context(), "far")
		if _, err := p.Exec(t.Context()); err != nil {
			t.Errorf("transaction: %v", err)
		} else {
			takeNumber(t, numbers, "near", near.Val())
			takeNumber(t, numbers, "far", far.Val())
		}
		if n, err := conn.Incr(t.Context(), "far").Result(); err != nil {
			t.Errorf("far: %v", err)
		} else {
			takeNumber(t, numbers, "far", n)
		}
		if t.Failed() {
			return
		}
	}
}

// transactionsByPython does the same by redis-py, whose pipelines are transactions by default.
func transactionsByPython(t *testing.T, numbers once[int64], address string, rounds int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", python+"testdata/clients/transactions.py redis://"+address+" "+strconv.Itoa(rounds))
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		t.Fatalf("%v\n%s\nmake clients installs what it needs", err, &stderr)
	}
	for line := range strings.Lines(string(out)) {
		words := strings.Fields(line)
		for _, word := range words[1:] {
			n, err := strconv.ParseInt(word, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			takeNumber(t, numbers, words[0], n)
		}
	}
}
