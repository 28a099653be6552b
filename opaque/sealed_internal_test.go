package opaque

import (
	"errors"
	"testing"

	"snowfence.example/snowfence"
)

func TestSealedBlockOfANegativeIDIsRefused(t *testing.T) {
	key, err := NewKey('a', unhex(t, nistKey))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := NewSealed("orders", key)
	if err != nil {
		t.Fatal(err)
	}
	for id, refused := range map[uint64]bool{1<<63 - 1: false, 1 << 63: true, 1<<64 - 1: true} {
		block := key.block.encrypt([2]uint64{id, sealed.tag})
		got, err := sealed.Decode("a" + snowfence.ID(block[0]).Base62() + snowfence.ID(block[1]).Base62())
		if errors.Is(err, snowfence.ErrInvalidID) != refused || (!refused && got != snowfence.ID(id)) {
			t.Errorf("the block of %d is read as %v, %v", id, got, err)
		}
	}
}

func TestSealedBlockWithAnyOtherTagIsRefused(t *testing.T) {
	key, err := NewKey('a', unhex(t, nistKey))
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := NewSealed("orders", key)
	if err != nil {
		t.Fatal(err)
	}
	for bit := range 64 {
		block := key.block.encrypt([2]uint64{1, sealed.tag ^ 1<<bit})
		text := "a" + snowfence.ID(block[0]).Base62() + snowfence.ID(block[1]).Base62()
		if id, err := sealed.Decode(text); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("another bit %d of the tag: %d, %v", bit, id, err)
		}
	}
}
