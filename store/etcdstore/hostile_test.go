package etcdstore_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/etcdstore"
)

func TestNoAnswerOfEtcdEndsTheProgram(t *testing.T) {
	frame := func(size int, kind, flags byte, rest string) string {
		return string([]byte{byte(size >> 16), byte(size >> 8), byte(size), kind, flags, 0, 0, 0, 1}) + rest
	}
	testkit.HostileAnswers(t, testkit.Hostile{
		Server:   testkit.Etcd(t).Addr(),
		Persists: true,
		Use: func(ctx context.Context, address string) error {
			s, err := etcdstore.Open(ctx, etcdstore.Config{Endpoints: []string{address}})
			if err != nil {
				return err
			}
			return errors.Join(testkit.UseStore(ctx, s), s.Close())
		},
		Answers: []testkit.Answer{
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n"},
			{Bytes: frame(1<<24-1, 0, 0, "x")}, {Bytes: frame(5, 0, 0, "\x00\xff\xff\xff\xff")}, {Bytes: frame(5, 0, 0, "\x01\x7f\xff\xff\xff")},
			{Bytes: frame(0, 4, 0, ""), Times: 10000}, {Bytes: frame(8, 6, 0, "12345678"), Times: 10000}, {Bytes: frame(4, 8, 0, "\x7f\xff\xff\xff")},
			{Bytes: frame(6, 4, 0, "\x00\x01\xff\xff\xff\xff")}, {Bytes: frame(6, 4, 0, "\x00\x05\xff\xff\xff\xff")},
			{Bytes: frame(1, 1, 4, "\x88")}, {Bytes: frame(16384, 9, 0, strings.Repeat("x", 16384)), Times: 1000}, {Bytes: frame(4, 3, 0, "\x00\x00\x00\x00")},
			{Bytes: frame(8, 7, 0, "\x7f\xff\xff\xff\x00\x00\x00\x00")}, {Bytes: ""},
		},
	})
}

func TestAnswerOfEtcdIsBounded(t *testing.T) {
	address := testkit.Etcd(t).Addr()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = client.Close() }()
	for _, key := range []string{"a", "b", "c"} {
		if _, err := client.Put(t.Context(), "snowfence/"+key, string(bytes.Repeat([]byte("x"), 1<<20))); err != nil {
			t.Fatal(err)
		}
	}
	s, err := etcdstore.Open(t.Context(), etcdstore.Config{Endpoints: []string{address}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	for _, err = range s.List(t.Context(), "") {
	}
	if err == nil || !strings.Contains(err.Error(), "larger than max") {
		t.Errorf("list of 3 MiB: %v", err)
	}
}
