package zkstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/zkstore"
)

func TestNoAnswerOfZooKeeperEndsTheProgram(t *testing.T) {
	// The first request of a session is number 1.
	header := func(kind uint32, rest ...uint32) string {
		return string(packet(append([]uint32{kind, 0, 1, 0}, rest...)...))
	}
	testkit.HostileAnswers(t, testkit.Hostile{
		Server:   testkit.ZooKeeper(t).Addr(),
		Persists: true,
		Use: func(ctx context.Context, address string) error {
			s, err := zkstore.Open(ctx, zkstore.Config{Endpoints: []string{address}})
			if err != nil {
				return err
			}
			return errors.Join(testkit.UseStore(ctx, s), s.Close())
		},
		Answers: []testkit.Answer{
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "a packet of 1213486160 bytes"},
			{Bytes: "\x15\x03\x03\x00\x02\x02\x46", Wrong: "is it a ZooKeeper server?"},
			{Bytes: "\x7f\xff\xff\xff", Wrong: "a packet of 2147483647 bytes"},
			{Bytes: "\xff\xff\xff\xff", Wrong: "a packet of 4294967295 bytes"},
			{Bytes: string(packet()), Wrong: "a packet of 0 bytes"},
			{Bytes: string(packet(1)), Wrong: "a packet of 4 bytes"},
			{Bytes: string(packet(1<<32-1, 0, 0, 0))},
			{Bytes: string(packet(0, 4000, 0, 7, 1<<31-1, 0, 0, 0, 0))}, // a password of 2 GiB, where it comes first
			{Bytes: string(packet(0, 0, 0, 7, 16, 0, 0, 0, 0))},
			{Bytes: string(packet(0, 1<<31, 0, 7, 16, 0, 0, 0, 0))},
			{Bytes: header(1, 1<<31-1)}, {Bytes: header(2, 1<<31-1)}, {Bytes: header(3, 1<<31-1)}, {Bytes: header(4, 1<<31-1)},
			{Bytes: header(1, 1<<32-1)}, {Bytes: header(2, 1<<32-2)}, {Bytes: header(3, 1<<31)}, {Bytes: header(5, 1<<32-1)},
			{Bytes: header(1)}, {Bytes: header(1<<32 - 2)}, {Bytes: header(1<<32 - 5)}, {Bytes: header(1) + header(1) + header(1)},
			{Bytes: strings.Repeat(header(1<<32-1, 0, 0, 0), 1000)},
		},
	})
}

// What a length is of decides whether it fits.
func TestLengthsInPacketsOfZooKeeperFit(t *testing.T) {
	const get, children, set = 4, 12, 5
	for _, test := range []struct {
		name   string
		kind   uint32
		answer []uint32 // number, zxid, error, and more
		wrong  string
	}{
		{"a password of 2 GiB", 0, []uint32{0, 4000, 0, 7, 1<<31 - 1, 0, 0, 0, 0}, "a password with a length of 2147483647 in a packet of 36 bytes"},
		{"data of 2 GiB", get, []uint32{1, 0, 1, 0, 1<<31 - 1, 0}, "data with a length of 2147483647"},
		{"data that just fits", get, []uint32{1, 0, 1, 0, 4, 0}, ""},
		{"no data", get, []uint32{1, 0, 1, 0, 1<<32 - 1}, ""},
		{"a list of four billion", children, []uint32{1, 0, 1, 0, 1<<32 - 1}, "a list of names with a length of 4294967295"},
		{"two names where one fits", children, []uint32{1, 0, 1, 0, 2, 1, 0x61000000}, "a list of names with a length of 2"},
		{"one name", children, []uint32{1, 0, 1, 0, 1, 1, 0x61000000}, ""},
		{"an error", children, []uint32{1, 0, 1, 1<<32 - 101, 1<<32 - 1}, ""},
		{"a large zxid", set, []uint32{1, 0, 1, 0, 1<<31 - 1, 0}, ""},
		{"another request's", children, []uint32{2, 0, 1, 0, 1<<32 - 1}, ""},
	} {
		for _, whole := range []bool{true, false} {
			if err := zkstore.Take(packet(test.answer...), test.kind, whole); test.wrong == "" != (err == nil) ||
				err != nil && !strings.Contains(err.Error(), test.wrong) {
				t.Errorf("%s (whole %v): %v; want %q", test.name, whole, err, test.wrong)
			}
		}
	}
}

func FuzzPackets(f *testing.F) {
	f.Add(packet(0, 4000, 0, 7, 16, 0, 0, 0, 0), uint32(0))
	f.Add(packet(1, 0, 1, 0, 1<<31-1), uint32(4))
	f.Fuzz(func(t *testing.T, answer []byte, kind uint32) {
		whole, parts := zkstore.Take(answer, kind, true), zkstore.Take(answer, kind, false)
		if (whole == nil) != (parts == nil) {
			t.Errorf("whole: %v; byte by byte: %v", whole, parts)
		}
	})
}
