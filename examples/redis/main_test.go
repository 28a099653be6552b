package main

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
	"github.com/redis/rueidis"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/testkit"
)

// start starts a daemon, and returns where it listens for clients of Redis.
func start(t *testing.T) string {
	t.Helper()
	binary := testkit.Build(t, "snowfence.example/snowfence/cmd/snowfence", "")
	d := testkit.StartDaemon(t, binary, nil, "--store", "mem://")
	d.WaitReady()
	return d.Address("redis")
}

// wantIDs checks that ids, in the order in which a connection got them, are n and increase.
func wantIDs(t *testing.T, ids []string, n int) {
	t.Helper()
	var last snowfence.ID
	for _, text := range ids {
		id, err := snowfence.Parse(text)
		if err != nil || id <= last {
			t.Fatalf("%q after %d: %v", text, last, err)
		}
		last = id
	}
	if len(ids) != n {
		t.Errorf("%d ids, want %d", len(ids), n)
	}
}

// wantUnknown checks that an error names the generator that does not exist.
func wantUnknown(t *testing.T, err error) {
	t.Helper()
	if err == nil || !strings.Contains(err.Error(), `generator is "none"`) {
		t.Errorf("the error of an unknown generator is %v", err)
	}
}

func TestExamplePrintsFourIDs(t *testing.T) {
	var out bytes.Buffer
	if err := run(t.Context(), &out, start(t)); err != nil {
		t.Fatal(err)
	}
	wantIDs(t, strings.Fields(out.String()), 4)
}

func TestClientLibrariesGetIDs(t *testing.T) {
	address := start(t)
	for name, test := range map[string]func(*testing.T){
		"rueidis": func(t *testing.T) { rueidisClient(t, address) },
		"redigo":  func(t *testing.T) { redigo(t, address) },
	} {
		t.Run(name, test)
	}
}

func rueidisClient(t *testing.T, address string) {
	ctx := t.Context()
	c, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	// Its callers share a connection, and it sends what they ask for together.
	got := make(chan string)
	for range 200 {
		go func() {
			id, err := c.Do(ctx, c.B().Incr().Key("default").Build()).AsInt64()
			if err != nil {
				got <- err.Error()
				return
			}
			got <- strconv.FormatInt(id, 10)
		}()
	}
	var ids []string
	for range 200 {
		ids = append(ids, <-got)
	}
	slices.Sort(ids)
	wantIDs(t, ids, 200)
	many, err := c.Do(ctx, c.B().Arbitrary("ID.NEXT").Keys("default").Args("COUNT", "50").Build()).AsStrSlice()
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, many, 50)
	wantUnknown(t, c.Do(ctx, c.B().Incr().Key("none").Build()).Error())
	// Its cache asks for GET, which mints nothing that it could keep.
	if err := c.DoCache(ctx, c.B().Get().Key("default").Cache(), time.Minute).Error(); err == nil {
		t.Error("a reply was taken for one that may be cached")
	}
}

func redigo(t *testing.T, address string) {
	pool := &redis.Pool{DialContext: func(ctx context.Context) (redis.Conn, error) { return redis.DialContext(ctx, "tcp", address) }}
	c := pool.Get()
	defer func() {
		if err := c.Close(); err != nil {
			t.Error(err)
		}
	}()
	var ids []string
	for range 10 {
		if err := c.Send("INCR", "default"); err != nil {
			t.Fatal(err)
		}
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		id, err := redis.Int64(c.Receive())
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, strconv.FormatInt(id, 10))
	}
	many, err := redis.Strings(c.Do("ID.NEXT", "default", "COUNT", 10))
	if err != nil {
		t.Fatal(err)
	}
	wantIDs(t, append(ids, many...), 20)
	_, err = c.Do("INCR", "none")
	wantUnknown(t, err)
}
