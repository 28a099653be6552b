//go:build servers

package openstore

import (
	"context"
	"encoding/binary"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/testkit"
)

func TestNoAnswerOfADatabaseEndsTheProgram(t *testing.T) {
	for _, test := range []struct {
		engine  string
		answers []testkit.Answer
	}{{"postgres", postgresAnswersOf()}, {"mysql", mysqlAnswersOf()}} {
		t.Run(test.engine, func(t *testing.T) {
			server := testkit.StartEngine(t, test.engine)
			use := func(ctx context.Context, address string) error {
				s, err := Open(ctx, server.URL(address, 0))
				if err != nil {
					return err
				}
				return errors.Join(testkit.UseStore(ctx, s), s.Close())
			}
			if err := use(t.Context(), server.Server.Addr()); err != nil { // makes the table
				t.Fatal(err)
			}
			testkit.HostileAnswers(t, testkit.Hostile{Server: server.Server.Addr(), Use: use, Answers: test.answers})
		})
	}
}

// message is one of PostgreSQL, whose length field holds size.
func message(kind byte, size uint32, body string) string {
	return string(binary.BigEndian.AppendUint32([]byte{kind}, size)) + body
}

func postgresAnswersOf() []testkit.Answer {
	parameter := func(value string) string { return message('S', uint32(4+2+len(value)+1), "x\x00"+value+"\x00") }
	column := "x\x00" + strings.Repeat("\x00", 6) + "\x00\x00\x00\x17\x00\x04\xff\xff\xff\xff\x00\x00" // an int4
	value := "\x00\x00\x00\x011"
	return []testkit.Answer{
		{Bytes: message('1', 4, "") + message('2', 4, "") + message('T', uint32(4+2+2*len(column)), "\x00\x02"+column+column) +
			message('D', uint32(4+2+3*len(value)), "\x00\x03"+value+value+value) + message('C', 4+9, "SELECT 1\x00") + message('Z', 5, "I")},
		{Bytes: message('R', 1<<32-1, ""), Wrong: "of 4294967295 bytes"},
		{Bytes: message('D', 1<<31-1, ""), Wrong: "of 2147483647 bytes"},
		{Bytes: message('T', 1<<24, "x"), Wrong: "of 16777216 bytes"},
		{Bytes: message('N', 3, ""), Wrong: "of 3 bytes"},
		{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a PostgreSQL server?"},
		{Bytes: parameter(strings.Repeat("x", 1000)), Times: 5000},
		{Bytes: message('N', 5, "\x00"), Times: 1 << 20},
		{Bytes: message('D', 7, "\xff\xff\x00")}, {Bytes: message('T', 6, "\xff\xff")}, {Bytes: message('T', 6, "\x00\x01")},
		{Bytes: message('Z', 5, "I")}, {Bytes: message('Z', 4, "")}, {Bytes: message('E', 4, "")}, {Bytes: message('E', 5, "\x00")},
		{Bytes: message('R', 8, "\x00\x00\x00\x00")}, {Bytes: message('R', 4, "")}, {Bytes: message('K', 4, "")},
		{Bytes: message('R', 8, "\x00\x00\x00\x0a")}, {Bytes: message('C', 5, "\x00")}, {Bytes: message('D', 10, "\x00\x01\x7f\xff\xff\xff")},
	}
}

// mysqlPacket is one packet.
func mysqlPacket(sequence byte, body string) string {
	return string([]byte{byte(len(body)), byte(len(body) >> 8), byte(len(body) >> 16), sequence}) + body
}

func mysqlAnswersOf() []testkit.Answer {
	return []testkit.Answer{
		{Bytes: "\xff\xff\xff\x00" + strings.Repeat("x", 100000), Wrong: "a packet of 16777215 bytes"},
		{Bytes: "\xff\xff\xff\x01", Wrong: "a packet of 16777215 bytes"},
		{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a MySQL server?"},
		{Bytes: mysqlPacket(1, "\xfe\xff\xff\xff\xff\xff\xff\xff\x7f")}, {Bytes: mysqlPacket(1, "\xfe\x00\xe4\x0b\x54\x02\x00\x00\x00")},
		{Bytes: mysqlPacket(1, "\xfd\xff\xff\xff")}, {Bytes: mysqlPacket(1, "\xfc\xff\xff")}, {Bytes: mysqlPacket(1, "\xfc")},
		{Bytes: mysqlPacket(1, "\x00")}, {Bytes: mysqlPacket(2, "\x00")}, {Bytes: mysqlPacket(1, "\x00\xfe")}, {Bytes: mysqlPacket(1, "\xff")},
		{Bytes: mysqlPacket(0, "\xff")}, {Bytes: mysqlPacket(0, "\x0a")}, {Bytes: mysqlPacket(0, "\x0a5\x00")}, {Bytes: mysqlPacket(2, "\xfe")},
		{Bytes: mysqlPacket(1, "\xfb/etc/passwd")}, {Bytes: mysqlPacket(1, "\x01") + mysqlPacket(2, "x")}, {Bytes: "\x00\x00\x00\x00"},
		{Bytes: mysqlPacket(1, "\x01") + mysqlPacket(2, "\x03def\x00\x00\x00\x01x\x00")}, {Bytes: mysqlPacket(2, "\x01")},
		{Bytes: mysqlPacket(1, "\x00\x00\x00\x08\x00\x00\x00"), Times: 1000},
	}
}

func FuzzMySQLAnswers(f *testing.F) {
	loggedIn := mysqlPacket(2, "\x00\x00\x00\x02\x00\x00\x00")
	servertest.FuzzAnswers(f, bytesOf(loggedIn, mysqlAnswersOf()),
		func() storeclient.Answers { return &mysqlAnswers{} }, func() storeclient.Answers { return &mysqlAnswers{reply: reply{stream: true}} })
}

func FuzzPostgresAnswers(f *testing.F) {
	servertest.FuzzAnswers(f, bytesOf("", postgresAnswersOf()),
		func() storeclient.Answers { return &postgresAnswers{} }, func() storeclient.Answers { return &postgresAnswers{reply: reply{stream: true}} })
}

// bytesOf are the bytes of answers, each behind the first one.
func bytesOf(first string, answers []testkit.Answer) (all []string) {
	for _, answer := range answers {
		all = append(all, first+answer.Bytes)
	}
	return all
}
