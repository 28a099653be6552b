package daemon

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/fence"
)

// TestMintOpensEveryKindAndGivesBackWhatIsLeft mints by each kind twice. Two generators share a namespace of two worker
// ids, so the third run would wait if the first two had kept theirs.
func TestMintOpensEveryKindAndGivesBackWhatIsLeft(t *testing.T) {
	c, folder := config.Default(), t.TempDir()
	c.Store, c.Data = "file:"+filepath.Join(folder, "store"), filepath.Join(folder, "data")
	narrow, err := config.ParseLayout("ms41-worker1-seq10")
	if err != nil {
		t.Fatal(err)
	}
	wide, err := config.ParseLayout("uuid8")
	if err != nil {
		t.Fatal(err)
	}
	c.Generators = map[string]config.Generator{
		"snowflake": {Kind: config.KindSnowflake, Namespace: "narrow", Layout: narrow, Journal: config.JournalOn},
		"wide":      {Kind: config.KindWide, Namespace: "wide", Layout: wide},
		"segment":   {Kind: "segment", Settings: map[string]string{"max-wait": "1m"}},
		"ticket":    {Kind: "ticket", Settings: map[string]string{"max-wait": "1m"}},
		"ulid":      {Kind: "ulid"},
		"opaque":    {Kind: builtin.KindOpaque, Settings: map[string]string{"of": "snowflake", "form": "crockford"}},
	}
	if c, err = c.Complete(builtin.Names()...); err != nil {
		t.Fatal(err)
	}
	made := 0
	m := Minting{
		Config: builtin.Config{
			Settings: c, Clock: snowfence.SystemClock(), OnMade: func(snowfence.Layout) { made++ },
			OnWait: func(w fence.Waiting) {
				if errors.As(w.For, new(*fence.HeldError)) || errors.As(w.For, new(*fence.ExhaustedError)) {
					t.Error(w)
				}
			},
		},
		Left: func(err error) { t.Error(err) },
	}
	const n = atOnce + 1 // more than one call of a minter
	for name := range c.Generators {
		seen := map[string]bool{}
		for range 2 {
			ids, err := Mint(t.Context(), m, name, n)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for id := range ids.Texts() {
				seen[string(id)] = true
			}
		}
		if len(seen) != 2*n {
			t.Errorf("%s: of %d ids %d differ", name, 2*n, len(seen))
		}
	}
	if made != 2 {
		t.Errorf("it made %d namespaces, want 2", made)
	}
	if _, err := os.Stat(c.Journals()); !os.IsNotExist(err) {
		t.Errorf("there is a journal: %v", err)
	}
}
