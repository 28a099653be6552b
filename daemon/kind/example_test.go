package kind_test

import (
	"context"
	"fmt"
	"sync/atomic"

	"snowfence.example/snowfence/daemon/kind"
)

// ticket is a kind of minter that counts.
type ticket struct{ last atomic.Int64 }

func (t *ticket) Form() kind.Form { return kind.Text }

func (t *ticket) Mint(_ context.Context, n int, into *kind.Batch) error {
	first := t.last.Add(int64(n)) - int64(n) + 1
	var scratch [32]byte
	for i := range int64(n) {
		if err := into.AppendText(fmt.Appendf(scratch[:0], "T-%06d", first+i)); err != nil {
			return err
		}
	}
	return nil
}

func Example() {
	var minter kind.Minter = new(ticket)
	var batch kind.Batch // kept, reset and used again by its owner
	if err := minter.Mint(context.Background(), 3, &batch); err != nil {
		fmt.Println(err)
		return
	}
	for text := range batch.Texts() {
		fmt.Println(string(text))
	}
	// Output:
	// T-000001
	// T-000002
	// T-000003
}
