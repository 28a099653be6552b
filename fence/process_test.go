package fence_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/filestore"
	"snowfence.example/snowfence/store/memstore"
)

// TestTwoHoldersOnOneFolderHaveDifferentWorkers opens the folder twice, as two
// processes do.
func TestTwoHoldersOnOneFolderHaveDifferentWorkers(t *testing.T) {
	dir := t.TempDir()
	workers, seen := map[int64]bool{}, map[snowfence.ID]bool{}
	for range 2 {
		s, err := filestore.Open(t.Context(), filestore.Config{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
		h := open(t, s, func(c *fence.Config) { c.Layout = snowfence.DefaultLayout() })
		workers[h.Status().Worker] = true
		ids := make([]snowfence.ID, 10_000)
		if err := h.Fill(t.Context(), ids); err != nil {
			t.Fatal(err)
		}
		for _, id := range ids {
			if seen[id] {
				t.Fatalf("%d was issued twice", id)
			}
			seen[id] = true
		}
	}
	if len(workers) != 2 {
		t.Errorf("they have %d worker ids between them", len(workers))
	}
}

func TestPinnedHolderOnAFolderIsRefusedWhileItIsHeldAndStartsAtOnceAfterwards(t *testing.T) {
	s, err := filestore.Open(t.Context(), filestore.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	pin := func(c *fence.Config) {
		pinned(c)
		c.Layout, c.ClaimWait = snowfence.DefaultLayout(), 50*time.Millisecond
	}
	first := open(t, s, pin)
	last := next(t, first)
	_, err = tryOpen(t, s, pin)
	var held *fence.HeldError
	if !errors.As(err, &held) || held.Process.Host != "host-a" || time.Until(held.Until) > 6*time.Second {
		t.Fatalf("the error is %v", err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if id := next(t, open(t, s, pin)); id <= last {
		t.Errorf("%d came after %d", id, last)
	}
}

func TestDamagedFolderIsReportedAtOnce(t *testing.T) {
	for name, damage := range map[string]func(root string) error{
		"namespace record cut short": func(root string) error { return damageFiles(root, "*namespace.v", nil) },
		"namespace record altered": func(root string) error {
			return damageFiles(root, "*namespace.v", func(b []byte) []byte { b[40] ^= 1; return b })
		},
		"pinned register cut short": func(root string) error { return damageFiles(root, "*worker*.v", nil) },
		"registers removed":         func(root string) error { return os.RemoveAll(filepath.Join(root, "registers")) },
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s, err := filestore.Open(t.Context(), filestore.Config{Dir: root})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			pin := func(c *fence.Config) {
				pinned(c)
				c.Layout, c.ClaimWait = snowfence.DefaultLayout(), time.Hour
			}
			if err := open(t, s, pin).Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := damage(root); err != nil {
				t.Fatal(err)
			}
			if _, err := tryOpen(t, s, pin); !errors.Is(err, store.ErrDamaged) || !errors.Is(err, filestore.ErrDamaged) || !strings.Contains(err.Error(), root) {
				t.Errorf("the error is %v", err)
			}
		})
	}
}

// damageFiles changes the contents of registers whose names match; nil cuts them short.
func damageFiles(root, pattern string, change func([]byte) []byte) error {
	paths, err := filepath.Glob(filepath.Join(root, "registers", "*", pattern, "*"))
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, ".head") })
	if err != nil || len(paths) == 0 {
		return errors.Join(err, errors.New("there is nothing to damage"))
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if change == nil {
			b = b[:len(b)/2]
		} else {
			b = change(b)
		}
		if err := os.WriteFile(path, b, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// BenchmarkNext measures what the holder adds to its generator: a pointer.
func BenchmarkNext(b *testing.B) {
	ctx := context.Background()
	layout := snowfence.DefaultLayout()
	layout.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 21},
	}
	b.Run("holder", func(b *testing.B) {
		h, err := fence.Open(ctx, fence.Config{Store: memstore.New().Client(), Layout: layout})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := h.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
		if err := h.Close(ctx); err != nil {
			b.Fatal(err)
		}
	})
	b.Run("generator", func(b *testing.B) {
		g, err := snowfence.NewUnfencedGenerator(snowfence.GeneratorConfig{Layout: layout, Worker: new(int64)})
		if err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			if _, err := g.Next(ctx); err != nil {
				b.Fatal(err)
			}
		}
	})
}
