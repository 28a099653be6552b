package natsstore_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/natsstore"
)

func TestNoAnswerOfNATSEndsTheProgram(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	testkit.HostileAnswers(t, testkit.Hostile{
		Server: testkit.NATS(t).Addr(),
		First:  "must be INFO",
		Use: func(ctx context.Context, address string) error {
			s, err := natsstore.Open(ctx, natsstore.Config{Endpoints: []string{address}})
			if err != nil {
				return err
			}
			return errors.Join(testkit.UseStore(ctx, s), s.Close())
		},
		Answers: []testkit.Answer{
			{Bytes: "MSG x 1 9223372036854775807\r\n", Wrong: `a message whose length is "9223372036854775807"`},
			{Bytes: "MSG x 1 100000000000\r\nx", Wrong: "a message whose length"},
			{Bytes: "MSG x 1 18446744073709551617\r\n", Wrong: "a message whose length"},
			{Bytes: "MSG x 1 -1\r\n", Wrong: "a message whose length"},
			{Bytes: "HMSG x 1 9223372036854775807 9223372036854775807\r\n", Wrong: "a message whose length"},
			{Bytes: "hmsg x 1 12 2\r\n", Wrong: "a message of 2 bytes with a header of 12"},
			{Bytes: "MSG x 1 2\r\nabcd\r\n", Wrong: "does not end where its length says"},
			{Bytes: "MSG x\r\n", Wrong: "must have a subject"},
			{Bytes: "MSG x 1 1\r2\r\n", Wrong: "must have words and end in CRLF"},
			{Bytes: "INFO {" + long, Wrong: "a line of more than"},
			{Bytes: "MSG " + long, Wrong: "a line of more than"},
			{Bytes: "-ERR " + long, Wrong: "a line of more than"},
			{Bytes: "MSG x 1 0\r\n\r\n", Times: 64*256 + 1},
			{Bytes: "MSG x 1 1048576\r\n" + long + "\r\n", Times: 100},
			{Bytes: "HTTP/1.1 400 Bad Request\r\n\r\n", Wrong: "is it a NATS server?"},
			{Bytes: "\r\n", Wrong: "the line"},
			{Bytes: "PING\r\n"}, {Bytes: "+OK\r\n"}, {Bytes: "-ERR 'no'\r\n"}, {Bytes: "INFO {}\r\n"}, {Bytes: "INFO x\r\n"},
			{Bytes: `INFO {"version":"2.10.0","max_payload":-1}` + "\r\nPONG\r\n"},
		},
	})
}
