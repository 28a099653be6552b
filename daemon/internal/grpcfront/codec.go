package grpcfront

import (
	"fmt"
	"sync"

	"google.golang.org/grpc/encoding"
	_ "google.golang.org/grpc/encoding/proto" // registers the codec that answers is made from
	"google.golang.org/grpc/mem"
	"google.golang.org/protobuf/proto"
)

// answers is gRPC's own codec, but that it counts the memory of each answer until gRPC has written it. gRPC keeps an
// answer whose client does not read, and a call is over for its handler long before.
type answers struct {
	encoding.CodecV2
	pool sync.Pool // of *answer
}

func newAnswers() *answers { return &answers{CodecV2: encoding.GetCodecV2("proto")} }

const (
	// leastAnswer is the least memory of an answer. gRPC does not report the end of a smaller one.
	leastAnswer = 2 << 10

	// mostPooled is the most memory of an answer that is used again.
	mostPooled = 128 << 10

	// perStream is how many bytes gRPC keeps for a call beside its messages.
	perStream = 16 << 10
)

// outgoing is an answer on its way to a client.
type outgoing struct {
	proto.Message
	conn   *conn
	paused bool // its client may read it whenever it likes: it is of a stream
}

// answer is the memory of one. It is a pool of buffers for gRPC, which puts the one back that it has been given.
type answer struct {
	bytes  []byte
	conn   *conn
	paused bool
	from   *answers
}

// Marshal encodes a message.
func (a *answers) Marshal(v any) (mem.BufferSlice, error) {
	message, ok := v.(outgoing)
	if !ok {
		return nil, fmt.Errorf("an answer is %T and not of this front", v) // never: both interceptors see to it
	}
	size := proto.Size(message.Message)
	r, _ := a.pool.Get().(*answer)
	if r == nil || cap(r.bytes) < size {
		r = &answer{bytes: make([]byte, 0, max(size, leastAnswer)), from: a}
	}
	bytes, err := proto.MarshalOptions{UseCachedSize: true}.MarshalAppend(r.bytes[:0], message.Message)
	if err != nil {
		return nil, err
	}
	r.bytes, r.conn, r.paused = bytes, message.conn, message.paused
	r.conn.owe(cap(r.bytes)+perStream, r.paused)
	return mem.BufferSlice{mem.NewBuffer(&r.bytes, r)}, nil
}

// Get is for pools that gRPC takes buffers from. An answer is not such a pool.
func (r *answer) Get(length int) *[]byte {
	bytes := make([]byte, length)
	return &bytes
}

// Put takes the buffer back.
func (r *answer) Put(*[]byte) {
	a := r.from
	r.conn.paid(cap(r.bytes)+perStream, r.paused)
	if r.conn = nil; cap(r.bytes) <= mostPooled {
		a.pool.Put(r)
	}
}
