package filestore

import (
	"os"
	"path/filepath"
	"testing"

	"snowfence.example/snowfence/store"
)

func BenchmarkGet(b *testing.B) {
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := s.Swap(b.Context(), "key", "", make([]byte, 200)); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := s.Get(b.Context(), "key"); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

func BenchmarkSwap(b *testing.B) {
	s, err := Open(b.Context(), Config{Dir: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	var version store.Version
	value := make([]byte, 200)
	b.ReportAllocs()
	for b.Loop() {
		if version, err = s.Swap(b.Context(), "key", version, value); err != nil {
			b.Fatal(err)
		}
	}
	if err := s.Close(); err != nil {
		b.Error(err)
	}
}

// BenchmarkFsync is the unit that BenchmarkSwap is to be measured by.
func BenchmarkFsync(b *testing.B) {
	f, err := os.Create(filepath.Join(b.TempDir(), "file"))
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := f.Write(make([]byte, 300)); err != nil {
			b.Fatal(err)
		}
		if err := f.Sync(); err != nil {
			b.Fatal(err)
		}
	}
	if err := f.Close(); err != nil {
		b.Error(err)
	}
}
