package opaque

import (
	"errors"
	"testing"

	"snowfence.example/snowfence"
)

// sealer returns a form, and what it makes of a block of two halves.
func sealer(t *testing.T) (*Sealed, func(id, tag uint64) (snowfence.ID, error)) {
	t.Helper()
	key, err := NewKey('a', unhex(t, nistKey))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := NewSealed("orders", key)
	if err != nil {
		t.Fatal(err)
	}
	return sealed, func(id, tag uint64) (snowfence.ID, error) {
		block := key.block.encrypt([2]uint64{id, tag})
		return sealed.Decode("a" + snowfence.ID(block[0]).Base62() + snowfence.ID(block[1]).Base62())
	}
}

func TestSealedBlockOfANegativeIDIsRefused(t *testing.T) {
	sealed, decode := sealer(t)
	for id, refused := range map[uint64]bool{1<<63 - 1: false, 1 << 63: true, 1<<64 - 1: true} {
		got, err := decode(id, sealed.tag)
		if errors.Is(err, snowfence.ErrInvalidID) != refused || (!refused && got != snowfence.ID(id)) {
			t.Errorf("the block of %d is read as %v, %v", id, got, err)
		}
	}
}

func TestSealedBlockWithAnyOtherTagIsRefused(t *testing.T) {
	sealed, decode := sealer(t)
	for bit := range 64 {
		if id, err := decode(1, sealed.tag^1<<bit); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("another bit %d of the tag: %d, %v", bit, id, err)
		}
	}
}
