package redisstore_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/redisstore"
)

func TestNoAnswerOfRedisEndsTheProgram(t *testing.T) {
	testkit.HostileAnswers(t, testkit.Hostile{
		Server: testkit.Redis(t).Addr(),
		Use: func(ctx context.Context, address string) error {
			s, err := redisstore.Open(ctx, redisstore.Config{Endpoints: []string{address}, Loss: time.Minute})
			if err != nil {
				return err
			}
			return errors.Join(testkit.UseStore(ctx, s), s.Close())
		},
		Answers: []testkit.Answer{
			{Bytes: "$9223372036854775807\r\n", Wrong: "a text of 9223372036854775807 bytes"},
			{Bytes: "$2147483647\r\nx", Wrong: "a text of 2147483647 bytes"},
			{Bytes: "$-2\r\n", Wrong: `the length "$-2"`},
			{Bytes: "$99999999999999999999\r\n", Wrong: "the length"},
			{Bytes: "*4000000000\r\n", Wrong: "a list of 4000000000 elements"},
			{Bytes: "*4001\r\n", Wrong: "a list of 4001 elements"},
			{Bytes: strings.Repeat("*2000\r\n", 3), Wrong: "a list of 2000 elements"},
			{Bytes: strings.Repeat("*1\r\n", 100000), Wrong: "lists within lists"},
			{Bytes: strings.Repeat("|0\r\n", 1<<20), Wrong: "no type of RESP"},
			{Bytes: "%1000000000\r\n", Wrong: "a list of 1000000000 elements"},
			{Bytes: ">1000000000\r\n", Wrong: "a list of 1000000000 elements"},
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a Redis server?"},
			{Bytes: "+" + strings.Repeat("x", 1<<20), Wrong: "a line of more than"},
			{Bytes: "\r\n", Wrong: "the line"},
			{Bytes: "*0\r\n"}, {Bytes: "$-1\r\n"}, {Bytes: "*-1\r\n"}, {Bytes: ":1\r\n"}, {Bytes: "+OK\r\n"}, {Bytes: "-ERR no\r\n"},
			{Bytes: "*2\r\n:1\r\n"},
		},
	})
}

func TestRegisterOf100MBCostsNothing(t *testing.T) {
	server := testkit.Redis(t)
	s := open(t, redisstore.Config{Endpoints: []string{server.Addr()}})
	swap(t, s, "key", "", "value")
	command(t, server, "SETRANGE snowfence:register:key 100000000 x")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err := s.Get(t.Context(), "key")
	errs := map[string]error{"get": err}
	for _, err := range s.List(t.Context(), "") {
		errs["list"] = err
	}
	runtime.ReadMemStats(&after)
	for call, err := range errs {
		if !errors.Is(err, store.ErrDamaged) || !strings.Contains(fmt.Sprint(err), "longer than 4096 bytes") {
			t.Errorf("%s: %v", call, err)
		}
	}
	if cost := after.TotalAlloc - before.TotalAlloc; len(errs) != 2 || cost > 8<<20 {
		t.Errorf("%d calls cost %d MiB", len(errs), cost>>20)
	}
}
