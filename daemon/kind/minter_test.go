package kind_test

import (
	"testing"

	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/kind/kindtest"
)

func TestExampleMinterKeepsTheRules(t *testing.T) {
	kindtest.TestMinter(t, func(*testing.T) kind.Minter { return new(ticket) })
}
