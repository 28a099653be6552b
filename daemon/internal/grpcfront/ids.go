package grpcfront

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"sync"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// ids answers the calls of service Ids.
type ids struct {
	snowfencev1.UnimplementedIdsServer
	*Server
	small sync.Pool // of *kind.Batch, for a few ids: many calls may wait for theirs
	large sync.Pool // the same for others, whose memory is taken from that of all
}

// Next mints ids.
func (s *ids) Next(ctx context.Context, r *snowfencev1.NextRequest) (*snowfencev1.NextResponse, error) {
	answer := new(snowfencev1.NextResponse)
	return answer, s.mint(ctx, r.GetGenerator(), cmp.Or(int(r.GetCount()), 1), r.GetRanges(), answer)
}

// mint mints n ids into an answer, and replaces its content.
func (s *ids) mint(ctx context.Context, generator string, n int, ranges bool, into *snowfencev1.NextResponse) error {
	use, err := s.use(ctx, generator)
	if err != nil {
		return err
	}
	held, err := use.Hold(n)
	if err != nil {
		return err
	}
	defer openingOf(ctx).client.Release(held) // the codec counts the answer from here on
	batches := &s.small
	if held > 0 {
		batches = &s.large
	}
	batch, _ := batches.Get().(*kind.Batch)
	if batch == nil {
		batch = new(kind.Batch)
	}
	defer batches.Put(batch)
	batch.Reset()
	if err := use.Mint(ctx, n, batch); err != nil {
		return err
	}
	into.Ids, into.Ranges, into.Texts = into.GetIds()[:0], into.GetRanges()[:0], into.GetTexts()[:0]
	switch {
	case batch.Form() != kind.Number:
		for text := range batch.Texts() {
			into.Texts = append(into.Texts, string(text))
		}
	case ranges:
		for first, n := range batch.Ranges() {
			into.Ranges = append(into.Ranges, &snowfencev1.Range{First: int64(first), Count: int64(n)})
		}
	default:
		into.Ids = slices.Grow(into.GetIds(), n)
		for _, id := range batch.Numbers() {
			into.Ids = append(into.Ids, int64(id))
		}
	}
	return nil
}

// defaultChunk is how many ids a message of a stream has.
const defaultChunk = 1000

// Stream mints ids as the client reads them: Send waits for flow control.
func (s *ids) Stream(r *snowfencev1.StreamRequest, stream snowfencev1.Ids_StreamServer) error {
	use, err := s.use(stream.Context(), r.GetGenerator())
	if err != nil {
		return err
	}
	most := use.Most()
	chunk, total := cmp.Or(int(r.GetChunk()), min(defaultChunk, most)), r.GetTotal()
	switch {
	case chunk < 1 || chunk > most:
		return front.CountOutOfRange.Field("chunk", strconv.Itoa(chunk), fmt.Sprintf("must be from 1 to %d", most))
	case total < 0:
		return front.CountOutOfRange.Field("total", strconv.FormatInt(total, 10), "must be 0 or more")
	}
	answer := new(snowfencev1.NextResponse) // Send is done with it when it returns
	for left := cmp.Or(total, math.MaxInt64); left > 0; left -= int64(chunk) {
		n := int(min(int64(chunk), left))
		began := s.config.Meter.Began()
		err := s.mint(stream.Context(), r.GetGenerator(), n, r.GetRanges(), answer)
		s.config.Meter.Answered(began, 1)
		if err != nil {
			return err
		}
		if err := stream.Send(answer); err != nil {
			return err
		}
	}
	return nil
}

// Decode takes an id apart.
func (s *ids) Decode(ctx context.Context, r *snowfencev1.DecodeRequest) (*snowfencev1.DecodeResponse, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	document, err := client.Decode(r.GetId(), r.GetLayout(), r.GetGenerator())
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(document)
	if err != nil {
		return nil, err
	}
	answer := &snowfencev1.DecodeResponse{Document: new(structpb.Struct)}
	return answer, answer.GetDocument().UnmarshalJSON(text)
}

// Generators lists the generators that the client may use.
func (s *ids) Generators(ctx context.Context, _ *snowfencev1.GeneratorsRequest) (*snowfencev1.GeneratorsResponse, error) {
	client, err := s.client(ctx)
	if err != nil {
		return nil, err
	}
	statuses, err := client.Statuses()
	if err != nil {
		return nil, err
	}
	answer := new(snowfencev1.GeneratorsResponse)
	for _, s := range statuses {
		g := &snowfencev1.Generator{Name: s.Name, Kind: s.Kind, Namespace: s.Namespace, Ready: s.Problem == nil, EndsSoon: s.EndsSoon}
		if s.Form != 0 {
			g.Form = s.Form.String()
		}
		if s.Problem != nil {
			g.Problem = reason(s.Problem.Type)
		}
		if !s.Ends.IsZero() {
			g.Ends = timestamppb.New(s.Ends)
		}
		answer.Generators = append(answer.Generators, g)
	}
	return answer, nil
}
