//go:build servers

package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/internal/testkit"
)

// dialGRPC returns a connection to a daemon's gRPC front.
func dialGRPC(t *testing.T, address string, options ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(address, append(options, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// takeAnswer adds the ids of an answer, and returns how many they are.
func takeAnswer(t *testing.T, had once[int64], answer *snowfencev1.NextResponse) int64 {
	t.Helper()
	ids := answer.GetIds()
	for _, r := range answer.GetRanges() {
		for i := range r.GetCount() {
			ids = append(ids, r.GetFirst()+i)
		}
	}
	had.take(t, "gRPC", ids...)
	return int64(len(ids))
}

func TestGRPCClientGetsIDs(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--data", t.TempDir(), "--layout", "ms41-worker1-seq21@2026-01-01")
	conn := dialGRPC(t, d.Address("grpc"))
	client, had := snowfencev1.NewIdsClient(conn), once[int64]{}
	for _, r := range []*snowfencev1.NextRequest{{}, {Generator: "default", Count: 1000}, {Count: 10_000, Ranges: true}} {
		answer, err := client.Next(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		if n := takeAnswer(t, had, answer); n != int64(max(r.GetCount(), 1)) {
			t.Errorf("%v: %d ids", r, n)
		}
	}
	last := slices.Max(slices.Collect(maps.Keys(had)))
	for _, r := range []*snowfencev1.StreamRequest{{Total: 30_500}, {Total: 200_001, Chunk: 10_000, Ranges: true}} {
		stream, err := client.Stream(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		n := int64(0)
		for {
			answer, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			n += takeAnswer(t, had, answer)
		}
		if n != r.GetTotal() {
			t.Errorf("%v: %d ids", r, n)
		}
	}
	decoded, err := client.Decode(t.Context(), &snowfencev1.DecodeRequest{Id: strconv.FormatInt(last, 10)})
	if err != nil || decoded.GetDocument().AsMap()["id"] != strconv.FormatInt(last, 10) {
		t.Errorf("decode %d: %v, %v", last, decoded, err)
	}
	list, err := client.Generators(t.Context(), &snowfencev1.GeneratorsRequest{})
	if err != nil || len(list.GetGenerators()) != 1 || !list.GetGenerators()[0].GetReady() || list.GetGenerators()[0].GetForm() != "number" {
		t.Errorf("generators: %v, %v", list, err)
	}
	health, err := grpc_health_v1.NewHealthClient(conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "default"})
	if err != nil || health.GetStatus() != grpc_health_v1.HealthCheckResponse_SERVING {
		t.Errorf("health: %v, %v", health, err)
	}
	_, err = client.Next(t.Context(), &snowfencev1.NextRequest{Count: 10_001})
	if violation := detail[*errdetails.BadRequest](err); status.Code(err) != codes.InvalidArgument || violation.GetFieldViolations()[0].GetField() != "count" {
		t.Errorf("too many: %v, %v", err, violation)
	}
	if got := ask(t, http.MethodGet, d.URL+"/metrics").body; !strings.Contains(got, `snowfence_front_problems_total{front="grpc",problem="count-out-of-range"} 1`) ||
		!strings.Contains(got, `snowfence_front_connections{front="grpc"} 1`) {
		t.Errorf("the counters are\n%s", got)
	}
}

// detail returns the first detail of an error's status that has a type, or nothing.
func detail[T any](err error) (found T) {
	for _, d := range status.Convert(err).Details() {
		if d, ok := d.(T); ok {
			return d
		}
	}
	return found
}

func TestGRPCClientsAreLimitedByTheirAddress(t *testing.T) {
	t.Parallel()
	const rate = "5000"
	d := testkit.StartDaemon(t, executable(t, ""), []string{"SNOWFENCE_LIMITS_ADDRESS_RATE=" + rate, "SNOWFENCE_LIMITS_BATCH=" + rate},
		"--data", t.TempDir(), "--layout", "ms41-worker1-seq21@2026-01-01")
	d.WaitReady()
	from := func(host string) snowfencev1.IdsClient {
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(host)}}
		return snowfencev1.NewIdsClient(dialGRPC(t, d.Address("grpc"), grpc.WithContextDialer(func(ctx context.Context, address string) (net.Conn, error) {
			return dialer.DialContext(ctx, "tcp", address)
		})))
	}
	all := &snowfencev1.NextRequest{Count: 5000, Ranges: true}
	for _, host := range []string{"127.0.0.1", "127.0.0.2"} {
		client := from(host)
		if _, err := client.Next(t.Context(), all); err != nil {
			t.Errorf("%s: %v", host, err)
		}
		_, err := client.Next(t.Context(), all)
		if retry := detail[*errdetails.RetryInfo](err); status.Code(err) != codes.ResourceExhausted || retry.GetRetryDelay().AsDuration() <= 0 {
			t.Errorf("%s again: %v, %v", host, err, retry)
		}
	}
}

// grpcurl runs grpcurl, and returns its output.
func grpcurl(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	program, err := filepath.Abs("../../.bin/grpcurl")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(program); err != nil {
		t.Fatalf("grpcurl is not built, run make .bin/grpcurl: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, program, arguments...).CombinedOutput()
	return string(out), err
}

func TestProgramGrpcurlGetsIDs(t *testing.T) {
	t.Parallel()
	d, _ := guardedDaemon(t, false)
	secure, authority := guardedDaemon(t, true)
	for name, to := range map[string][]string{
		"plain":    {"-plaintext", "-H", "authorization: Bearer " + clientToken, "-d", `{"generator":"orders","count":3}`, d.Address("grpc")},
		"over TLS": {"-cacert", authority.File, "-H", "authorization: Bearer " + clientToken, "-d", `{"generator":"orders","count":3}`, secure.Address("grpcs")},
	} {
		out, err := grpcurl(t, append(to, "snowfence.v1.Ids/Next")...)
		var answer struct{ IDs []string }
		if decoded := json.Unmarshal([]byte(out), &answer); err != nil || decoded != nil || len(answer.IDs) != 3 || !exact(answer.IDs[0]) {
			t.Errorf("%s: %v\n%s", name, err, out)
		}
	}
	for _, c := range []struct {
		arguments []string
		want      string
		fails     bool
	}{
		{[]string{"list"}, "grpc.health.v1.Health\ngrpc.reflection.v1.ServerReflection\ngrpc.reflection.v1alpha.ServerReflection\nsnowfence.v1.Ids\n", false},
		{[]string{"describe", "snowfence.v1.Range"}, "int64 first = 1 [jstype = JS_STRING];", false},
		{[]string{"grpc.health.v1.Health/Check"}, `"status": "SERVING"`, false},
		{[]string{"snowfence.v1.Ids/Generators"}, `"name": "orders"`, false},
		{[]string{"snowfence.v1.Ids/Next"}, `"reason": "UNKNOWN_GENERATOR"`, true}, // none is called "default"
	} {
		out, err := grpcurl(t, append([]string{"-plaintext", "-H", "authorization: Bearer " + clientToken, d.Address("grpc")}, c.arguments...)...)
		if (err != nil) != c.fails || !strings.Contains(out, c.want) {
			t.Errorf("%q: %v\n%s", c.arguments, err, out)
		}
	}
	if out, err := grpcurl(t, "-plaintext", d.Address("grpc"), "list"); err == nil || !strings.Contains(out, "Unauthenticated") {
		t.Errorf("without a token: %v\n%s", err, out)
	}
}
