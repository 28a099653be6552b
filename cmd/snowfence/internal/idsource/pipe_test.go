//go:build unix

package idsource

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPipeThatNobodyWritesToEndsWithItsContext would wait for ever otherwise, also
// for the goroutine that opens it.
func TestPipeThatNobodyWritesToEndsWithItsContext(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	stop()
	if _, err := Open(ctx, name, Options{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}

	// Who opens it for writing meets the goroutine, or a reader of its own.
	written, read := make(chan error), make(chan struct{})
	go func() {
		f, err := os.OpenFile(name, os.O_RDWR, 0)
		if err == nil {
			_, err = f.WriteString("7\n8\n")
			written <- err
			<-read
			err = f.Close()
		}
		written <- err
	}()
	s, err := Open(t.Context(), name, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := <-written; err != nil {
		t.Fatal(err)
	}
	items := make([]Item, 2)
	var got []Item
	for len(got) < 2 {
		n, err := s.Read(t.Context(), items)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, items[:n]...)
	}
	close(read)
	if err := <-written; err != nil {
		t.Error(err)
	}
	if _, err := s.Read(t.Context(), items); !errors.Is(err, io.EOF) || shown(got) != "7@1 8@2" {
		t.Errorf("%s, %v", shown(got), err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
