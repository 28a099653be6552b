package grpcfront

import (
	"context"
	"errors"
	"io"
	"maps"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/metrics"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// slow is a minter that waits until it is released.
type slow struct {
	fronttest.Texts
	waits   chan struct{} // gets one from each call that waits
	release chan struct{}
}

func (m slow) Mint(ctx context.Context, n int, into *kind.Batch) error {
	select {
	case m.waits <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case <-m.release:
		return m.Texts.Mint(ctx, n, into)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fixture is a front with the generators default, texts, slow, and late, which is still starting.
type fixture struct {
	server  *Server
	address string
	ids     snowfencev1.IdsClient
	conn    *grpc.ClientConn
	minter  *fronttest.Numbers
	slow    slow
	late    func(kind.Minter) // makes late serve
	memory  *budget.Budget
}

func newFixture(t *testing.T, tokens string) *fixture {
	t.Helper()
	return newLimitedFixture(t, tokens, config.Limits{})
}

// fixtureMemory is the number of bytes that the clients of a fixture have together.
const fixtureMemory = 8 << 20

func newLimitedFixture(t *testing.T, tokens string, limits config.Limits) *fixture {
	t.Helper()
	c := fronttest.Settings(t, func(c *config.Config) {
		c.Limits, c.Generators = limits, map[string]config.Generator{"default": {}, "texts": {}, "late": {}, "slow": {}}
	})
	memory := budget.New(fixtureMemory)
	f := &fixture{memory: memory, minter: new(fronttest.Numbers), slow: slow{waits: make(chan struct{}), release: make(chan struct{})}}
	s := fronttest.Service(t, service.Config{Settings: c, Tokens: fronttest.Ring(t, tokens), Memory: memory},
		map[string]kind.Minter{"default": f.minter, "texts": fronttest.Texts{}, "slow": f.slow})
	f.late = func(m kind.Minter) {
		if err := s.Serve("late", m); err != nil {
			t.Error(err)
		}
	}
	clock := snowfence.SystemClock()
	f.server = New(Config{Service: s, Meter: metrics.NewFront("grpc", clock.Monotonic), Generator: config.DefaultGenerator, Limits: s.Limits(), Memory: memory, Clock: clock})
	t.Cleanup(func() { // after the server has ended
		for began := time.Now(); memory.Used() > 0; runtime.Gosched() {
			if time.Since(began) > time.Minute {
				t.Fatalf("%d bytes are still taken", memory.Used())
			}
		}
	})
	f.address = fronttest.Serve(t, f.server, nil)
	f.conn = f.dial(t)
	f.ids = snowfencev1.NewIdsClient(f.conn)
	return f
}

// bearing is the context of a call that shows a token.
func bearing(t *testing.T, authorization string) context.Context {
	return metadata.AppendToOutgoingContext(t.Context(), "authorization", authorization)
}

// dial returns another client.
func (f *fixture) dial(t *testing.T) *grpc.ClientConn {
	t.Helper()
	c, err := grpc.NewClient(f.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// first reads the first message of a stream. It returns the error that the stream was not opened with, or that it ends with.
func first[M any](stream grpc.ServerStreamingClient[M], err error) (grpc.ServerStreamingClient[M], error) {
	if err == nil {
		_, err = stream.Recv()
	}
	return stream, err
}

// reflected asks a connection for the names of its services.
func reflected(ctx context.Context, c *grpc.ClientConn) (grpc_reflection_v1.ServerReflection_ServerReflectionInfoClient, error) {
	stream, err := grpc_reflection_v1.NewServerReflectionClient(c).ServerReflectionInfo(ctx)
	if err == nil {
		err = stream.Send(&grpc_reflection_v1.ServerReflectionRequest{MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{}})
	}
	if err == nil || errors.Is(err, io.EOF) { // the reason of an end is read
		_, err = stream.Recv()
	}
	return stream, err
}

func TestNextAnswersInTheFormOfTheIDs(t *testing.T) {
	f := newFixture(t, "")
	for _, c := range []struct {
		request *snowfencev1.NextRequest
		gap     int64 // between two numbers
		ids     []int64
		ranges  [][2]int64
		texts   []string
	}{
		{&snowfencev1.NextRequest{}, 0, []int64{1}, nil, nil},
		{&snowfencev1.NextRequest{Generator: "default", Count: 2}, 0, []int64{2, 3}, nil, nil},
		{&snowfencev1.NextRequest{Count: 100, Ranges: true}, 0, nil, [][2]int64{{4, 100}}, nil},
		{&snowfencev1.NextRequest{Count: 2, Ranges: true}, 1, nil, [][2]int64{{105, 1}, {107, 1}}, nil},
		{&snowfencev1.NextRequest{Generator: "texts", Count: 2}, 0, nil, nil, []string{"T-1", "T-1"}},
		{&snowfencev1.NextRequest{Generator: "texts", Ranges: true}, 0, nil, nil, []string{"T-1"}},
	} {
		f.minter.Gap = c.gap
		got, err := f.ids.Next(t.Context(), c.request)
		if err != nil {
			t.Fatal(err)
		}
		var ranges [][2]int64
		for _, r := range got.GetRanges() {
			ranges = append(ranges, [2]int64{r.GetFirst(), r.GetCount()})
		}
		if !slices.Equal(got.GetIds(), c.ids) || !slices.Equal(ranges, c.ranges) || !slices.Equal(got.GetTexts(), c.texts) {
			t.Errorf("%v: %v", c.request, got)
		}
	}
}

func TestStreamEndsAtItsTotal(t *testing.T) {
	f := newFixture(t, "")
	for _, ranges := range []bool{false, true} {
		stream, err := f.ids.Stream(t.Context(), &snowfencev1.StreamRequest{Total: 2500, Ranges: ranges})
		if err != nil {
			t.Fatal(err)
		}
		n, messages := int64(0), 0
		for answer, err := stream.Recv(); err == nil; answer, err = stream.Recv() {
			messages++
			n += int64(len(answer.GetIds()))
			for _, r := range answer.GetRanges() {
				n += r.GetCount()
			}
		}
		if n != 2500 || messages != 3 {
			t.Errorf("ranges %t: %d ids in %d messages", ranges, n, messages)
		}
	}
}

func TestStreamMintsNoMoreThanItsClientReads(t *testing.T) {
	f := newFixture(t, "")
	if _, err := first(f.ids.Stream(t.Context(), &snowfencev1.StreamRequest{Chunk: 10_000})); err != nil {
		t.Fatal(err)
	}
	// The client's window and the server's queue have some 64 KiB each, and a message 30 KB.
	if n := f.untilStill(t); n > 200_000 {
		t.Errorf("%d ids were minted for a client that has read 10,000", n)
	}
}

// details are the details of a status.
type details struct {
	reason, field string
	retry         time.Duration
}

func detailsOf(t *testing.T, err error) (got details) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		switch d := d.(type) {
		case *errdetails.ErrorInfo:
			got.reason = d.GetReason()
			if d.GetDomain() != "snowfence.example" {
				t.Errorf("domain %s", d.GetDomain())
			}
		case *errdetails.RetryInfo:
			got.retry = d.GetRetryDelay().AsDuration()
		case *errdetails.BadRequest:
			got.field = d.GetFieldViolations()[0].GetField()
		default:
			t.Errorf("an unknown detail: %v", d)
		}
	}
	return got
}

func TestProblemIsAStatusWithDetails(t *testing.T) {
	f := newFixture(t, "")
	next := func(r *snowfencev1.NextRequest) error {
		_, err := f.ids.Next(t.Context(), r)
		return err
	}
	stream := func(r *snowfencev1.StreamRequest) error {
		_, err := first(f.ids.Stream(t.Context(), r))
		return err
	}
	decode := func(r *snowfencev1.DecodeRequest) error {
		_, err := f.ids.Decode(t.Context(), r)
		return err
	}
	for name, c := range map[string]struct {
		err  error
		code codes.Code
		want details
	}{
		"a count below 1":       {next(&snowfencev1.NextRequest{Count: -1}), codes.InvalidArgument, details{"COUNT_OUT_OF_RANGE", "count", 0}},
		"a huge count":          {next(&snowfencev1.NextRequest{Count: math.MaxInt32}), codes.InvalidArgument, details{"COUNT_OUT_OF_RANGE", "count", 0}},
		"an unknown generator":  {next(&snowfencev1.NextRequest{Generator: "none"}), codes.NotFound, details{"UNKNOWN_GENERATOR", "generator", 0}},
		"one that is starting":  {next(&snowfencev1.NextRequest{Generator: "late"}), codes.Unavailable, details{"STARTING", "", time.Second}},
		"a total below 0":       {stream(&snowfencev1.StreamRequest{Total: -1}), codes.InvalidArgument, details{"COUNT_OUT_OF_RANGE", "total", 0}},
		"a chunk below 1":       {stream(&snowfencev1.StreamRequest{Chunk: -1}), codes.InvalidArgument, details{"COUNT_OUT_OF_RANGE", "chunk", 0}},
		"a huge chunk":          {stream(&snowfencev1.StreamRequest{Chunk: math.MaxInt32}), codes.InvalidArgument, details{"COUNT_OUT_OF_RANGE", "chunk", 0}},
		"a stream of nowhere":   {stream(&snowfencev1.StreamRequest{Generator: "none"}), codes.NotFound, details{"UNKNOWN_GENERATOR", "generator", 0}},
		"a stream that starts":  {stream(&snowfencev1.StreamRequest{Generator: "late"}), codes.Unavailable, details{"STARTING", "", time.Second}},
		"an id that is none":    {decode(&snowfencev1.DecodeRequest{Id: "!"}), codes.InvalidArgument, details{"INVALID_ID", "id", 0}},
		"a layout that is none": {decode(&snowfencev1.DecodeRequest{Id: "1", Layout: "!"}), codes.InvalidArgument, details{"INVALID_LAYOUT", "layout", 0}},
	} {
		if got := detailsOf(t, c.err); status.Code(c.err) != c.code || got != c.want {
			t.Errorf("%s: %v, %+v, want %s, %+v", name, c.err, got, c.code, c.want)
		}
	}
}

func TestEveryProblemHasItsCode(t *testing.T) {
	want := map[string]codes.Code{
		"unknown-generator": codes.NotFound, "count-out-of-range": codes.InvalidArgument, "invalid-id": codes.InvalidArgument,
		"invalid-layout": codes.InvalidArgument, "invalid-token": codes.Unauthenticated, "not-allowed": codes.PermissionDenied,
		"rate-limited": codes.ResourceExhausted, "not-consecutive": codes.InvalidArgument, "not-a-series": codes.NotFound,
		"needs-reservation": codes.InvalidArgument, "invalid-reservation": codes.InvalidArgument, "reservation-ended": codes.FailedPrecondition,
		"not-lent": codes.InvalidArgument, "invalid-lease": codes.InvalidArgument, "lease-gone": codes.FailedPrecondition,
		"lease-moved": codes.FailedPrecondition, "no-worker": codes.Unavailable, "lease-limit": codes.ResourceExhausted,
		"starting": codes.Unavailable, "refused": codes.Unavailable, "standby": codes.Unavailable, "stopped": codes.Unavailable, "lease-unavailable": codes.Unavailable, "store-unavailable": codes.Unavailable,
		"clock-unsafe": codes.Unavailable, "saturated": codes.Unavailable, "overloaded": codes.Unavailable, "request-cancelled": codes.Canceled,
		"horizon-passed": codes.Internal, "numbers-used-up": codes.Internal, "counter-changed": codes.Internal, "internal": codes.Internal,
	}
	seen := 0
	for kind := front.Type(0); kind.String() != ""; kind++ {
		seen++
		err := statusOf(&front.Problem{Type: kind, Detail: "detail", Field: "field", RetryAfter: 1500 * time.Millisecond})
		reason := strings.ToUpper(strings.ReplaceAll(kind.String(), "-", "_"))
		code, known := want[kind.String()]
		if got := status.Convert(err); !known || got.Code() != code || got.Message() != "detail" {
			t.Errorf("%s: %v, want %s", kind, got, code)
		}
		if got := detailsOf(t, err); got != (details{reason, "field", 1500 * time.Millisecond}) {
			t.Errorf("%s: %+v", kind, got)
		}
		if got := detailsOf(t, statusOf(&front.Problem{Type: kind})); got != (details{reason: reason}) {
			t.Errorf("%s: %+v, want the reason alone", kind, got)
		}
	}
	if seen != len(want) {
		t.Errorf("%d types, %d are expected", seen, len(want))
	}
}

func TestErrorWithoutAProblemShowsNothing(t *testing.T) {
	f := newFixture(t, "")
	if err := f.server.fail(errors.New("secret")); status.Code(err) != codes.Internal || strings.Contains(err.Error(), "secret") {
		t.Errorf("%v", err)
	}
	if err := f.server.fail(status.Error(codes.Canceled, "left")); status.Code(err) != codes.Canceled {
		t.Errorf("%v", err)
	}
}

func TestDecodeAnswersTheDocument(t *testing.T) {
	f := newFixture(t, "")
	got, err := f.ids.Decode(t.Context(), &snowfencev1.DecodeRequest{Id: "1541815603606036480", Layout: "twitter"})
	if err != nil {
		t.Fatal(err)
	}
	fields := got.GetDocument().AsMap()
	if fields["id"] != "1541815603606036480" || fields["time"] != "2022-06-28T16:07:40.105Z" || fields["worker"] != 26.0 {
		t.Errorf("%v", fields)
	}
}

func TestTokenIsAskedForButForHealth(t *testing.T) {
	f := newFixture(t, "few "+token.HashOf("of-one-generator").String()+" generators=texts")
	if _, err := f.ids.Next(bearing(t, "Bearer of-one-generator"), &snowfencev1.NextRequest{Generator: "texts"}); err != nil {
		t.Fatal(err) // or wrong tokens would end the connection
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		code codes.Code
	}{
		"none":         {t.Context(), codes.Unauthenticated},
		"wrong":        {bearing(t, "Bearer wrong"), codes.Unauthenticated},
		"not a bearer": {bearing(t, "Basic of-one-generator"), codes.Unauthenticated},
		"right":        {bearing(t, "Bearer of-one-generator"), codes.OK},
	} {
		health := grpc_health_v1.NewHealthClient(f.conn)
		_, call := f.ids.Next(c.ctx, &snowfencev1.NextRequest{Generator: "texts"})
		_, stream := first(f.ids.Stream(c.ctx, &snowfencev1.StreamRequest{Generator: "texts", Total: 1}))
		_, reflection := reflected(c.ctx, f.conn)
		_, watch := first(health.Watch(c.ctx, &grpc_health_v1.HealthCheckRequest{}))
		_, list := health.List(c.ctx, &grpc_health_v1.HealthListRequest{})
		for what, err := range map[string]error{"a call": call, "a stream": stream, "reflection": reflection, "a watch of health": watch, "a list of health": list} {
			if status.Code(err) != c.code {
				t.Errorf("%s, %s: %v", name, what, err)
			}
		}
	}
	// The token is looked at before the first message comes. Else the stream would wait for one.
	soon, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	silent, err := f.conn.NewStream(soon, &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, snowfencev1.Ids_Stream_FullMethodName)
	if err == nil {
		err = silent.RecvMsg(new(snowfencev1.NextResponse))
	}
	if status.Code(err) != codes.Unauthenticated {
		t.Errorf("a stream without a message: %v", err)
	}
	if _, err := f.ids.Next(bearing(t, "Bearer of-one-generator"), &snowfencev1.NextRequest{}); status.Code(err) != codes.PermissionDenied {
		t.Errorf("another generator: %v", err)
	}
	if got, err := f.ids.Generators(bearing(t, "Bearer of-one-generator"), &snowfencev1.GeneratorsRequest{}); err != nil || len(got.GetGenerators()) != 1 {
		t.Errorf("sees %v, %v", got, err)
	}
	if _, err := grpc_health_v1.NewHealthClient(f.conn).Check(t.Context(), &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Errorf("health: %v", err)
	}
}

func TestTokenSeesTheHealthOfItsGeneratorsAlone(t *testing.T) {
	f := newFixture(t, "few "+token.HashOf("of-one-generator").String()+" generators=texts")
	ctx := bearing(t, "Bearer of-one-generator")
	health := grpc_health_v1.NewHealthClient(f.conn)
	list, err := health.List(ctx, &grpc_health_v1.HealthListRequest{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := slices.Sorted(maps.Keys(list.GetStatuses())), []string{"", "snowfence.v1.Ids", "texts"}; !slices.Equal(got, want) {
		t.Errorf("the list has %q, want %q", got, want)
	}
	for name, want := range map[string]codes.Code{
		"": codes.OK, "snowfence.v1.Ids": codes.OK, "texts": codes.OK, "default": codes.PermissionDenied, "none": codes.PermissionDenied,
	} {
		if _, err := first(health.Watch(ctx, &grpc_health_v1.HealthCheckRequest{Service: name})); status.Code(err) != want {
			t.Errorf("watch %q: %v, want %s", name, err, want)
		}
	}
}

func TestNoNameCanBeGuessedByHealth(t *testing.T) {
	f := newFixture(t, "few "+token.HashOf("of-one-generator").String()+" generators=texts\nall "+token.HashOf("of-all").String())
	health := grpc_health_v1.NewHealthClient(f.conn)
	known := bearing(t, "Bearer of-all")
	if _, err := health.Check(known, &grpc_health_v1.HealthCheckRequest{}); err != nil {
		t.Fatal(err) // or wrong tokens would end the connection
	}
	for shown, want := range map[string][3]codes.Code{ // of a generator that serves, another one, and an unknown one
		"":                        {codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		"Bearer wrong":            {codes.Unauthenticated, codes.Unauthenticated, codes.Unauthenticated},
		"Bearer of-all":           {codes.OK, codes.OK, codes.NotFound},
		"Bearer of-one-generator": {codes.OK, codes.PermissionDenied, codes.PermissionDenied},
	} {
		ctx := t.Context()
		if shown != "" {
			ctx = bearing(t, shown)
		}
		for i, name := range []string{"texts", "late", "none"} {
			if _, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: name}); status.Code(err) != want[i] {
				t.Errorf("%s with %q: %v, want %s", name, shown, err, want[i])
			}
		}
		for _, all := range []string{"", snowfencev1.Ids_ServiceDesc.ServiceName} {
			if _, err := health.Check(ctx, &grpc_health_v1.HealthCheckRequest{Service: all}); err != nil {
				t.Errorf("%q with %q: %v", all, shown, err)
			}
		}
	}
}

// TestServerThatStandsByIsWellAndItsServiceIsNot asks by the three names of gRPC's health.
func TestServerThatStandsByIsWellAndItsServiceIsNot(t *testing.T) {
	s := service.New(service.Config{Settings: fronttest.Settings(t, func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": fronttest.Standby(t)}
	})})
	clock := snowfence.SystemClock()
	server := New(Config{Service: s, Meter: metrics.NewFront("grpc", clock.Monotonic), Generator: config.DefaultGenerator, Limits: s.Limits(), Clock: clock})
	f := &fixture{address: fronttest.Serve(t, server, nil)}
	client := grpc_health_v1.NewHealthClient(f.dial(t))
	const serving, not = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	for _, healthy := range []bool{false, true} {
		s.StandBy("default", healthy)
		want := map[string]grpc_health_v1.HealthCheckResponse_ServingStatus{"": not, "default": not, "snowfence.v1.Ids": not}
		if healthy {
			want[""] = serving
		}
		for name, want := range want {
			got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
			if err != nil || got.GetStatus() != want {
				t.Errorf("%q, in health %t: %v, %v, want %s", name, healthy, got, err, want)
			}
		}
	}
}

func TestHealthFollowsTheGenerators(t *testing.T) {
	f := newFixture(t, "")
	client := grpc_health_v1.NewHealthClient(f.conn)
	check := func(name string) grpc_health_v1.HealthCheckResponse_ServingStatus {
		got, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: name})
		if err != nil {
			t.Fatal(err)
		}
		return got.GetStatus()
	}
	const serving, not = grpc_health_v1.HealthCheckResponse_SERVING, grpc_health_v1.HealthCheckResponse_NOT_SERVING
	watch, err := client.Watch(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "late"})
	if err != nil {
		t.Fatal(err)
	}
	if first, err := watch.Recv(); err != nil || first.GetStatus() != not {
		t.Errorf("watched %v, %v", first, err)
	}
	if check("default") != serving || check("late") != not || check("") != not || check("snowfence.v1.Ids") != not {
		t.Error("a generator that starts is not seen")
	}
	f.late(new(fronttest.Numbers))
	if next, err := watch.Recv(); err != nil || next.GetStatus() != serving {
		t.Errorf("watched %v, %v", next, err)
	}
	if check("late") != serving || check("") != serving || check("snowfence.v1.Ids") != serving {
		t.Error("a generator that serves is not seen")
	}
	if list, err := client.List(t.Context(), &grpc_health_v1.HealthListRequest{}); err != nil || len(list.GetStatuses()) != 6 {
		t.Errorf("list: %v, %v", list, err)
	}
	if _, err := client.Check(t.Context(), &grpc_health_v1.HealthCheckRequest{Service: "none"}); status.Code(err) != codes.NotFound {
		t.Errorf("an unknown one: %v", err)
	}
}
