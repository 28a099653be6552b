package kind_test

import (
	"testing"

	"snowfence.example/snowfence/internal/kindtest"
	"snowfence.example/snowfence/kind"
)

func TestExampleMinterKeepsTheRules(t *testing.T) {
	kindtest.TestMinter(t, func(*testing.T) kind.Minter { return new(ticket) })
}
