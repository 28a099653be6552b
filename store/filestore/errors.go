package filestore

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"snowfence.example/snowfence/store"
)

// The faults of a folder or a file in it. They come wrapped, with the
// path. ErrForeign, ErrDamaged, ErrNewer and ErrReplaced, which outlast every retry, come as
// [store.ErrDamaged] too.
var (
	// ErrForeign is returned when a folder or a file is not of this store: by
	// Open for a folder that holds other things, by the verbs for a file where
	// a register should be.
	ErrForeign = errors.New("not of a snowfence file store")

	// ErrDamaged is returned when a file or a folder of the store is torn, cut
	// short, altered or missing.
	ErrDamaged = errors.New("damaged")

	// ErrNewer is returned when a file was written in a format that this
	// version does not know.
	ErrNewer = errors.New("of a newer format than this version knows")

	// ErrNetwork is returned by Open when the folder's file system is not
	// known to be local.
	ErrNetwork = errors.New("on a file system that is not known to be local")

	// ErrReplaced is returned when the folder is no longer the one that was
	// opened. Nothing is written then.
	ErrReplaced = errors.New("moved, removed or replaced while in use")

	// ErrFailed is returned by every call after an fsync has failed. It comes
	// together with the failure.
	ErrFailed = errors.New("filestore: failed, and must be opened again")

	// ErrUnsupported is returned by Open where the operating system lacks a call of the store.
	ErrUnsupported = errors.New("filestore: not supported on this operating system")
)

// A FileError is the fault of a file or a folder.
type FileError struct {
	Path   string // of the file or folder
	Err    error  // one of this package's errors, store.ErrNoStore, or a context's
	Detail string // the found value, and the expected one
}

// Error names the path first.
func (e *FileError) Error() string {
	if e.Detail == "" {
		return fmt.Sprintf("filestore: %s: %v", e.Path, e.Err)
	}
	return fmt.Sprintf("filestore: %s: %v: %s", e.Path, e.Err, e.Detail)
}

// Unwrap returns Err, and [store.ErrDamaged] where a retry can't mend it, and
// fs.ErrNotExist where the store is missing.
func (e *FileError) Unwrap() []error {
	if slices.Contains([]error{ErrForeign, ErrDamaged, ErrNewer, ErrReplaced}, e.Err) {
		return []error{e.Err, store.ErrDamaged}
	}
	if errors.Is(e.Err, store.ErrNoStore) {
		return []error{e.Err, fs.ErrNotExist}
	}
	return []error{e.Err}
}

// Within the package an error of the disk is as it came, and the path in a *FileError is
// relative to the store's folder. Only explain completes them, once, for callers.

func foreign(path, detail string, args ...any) error {
	return &FileError{Path: path, Err: ErrForeign, Detail: fmt.Sprintf(detail, args...)}
}

func damaged(path, detail string, args ...any) error {
	return &FileError{Path: path, Err: ErrDamaged, Detail: fmt.Sprintf(detail, args...)}
}

func newer(path string, n, known int) error {
	return &FileError{Path: path, Err: ErrNewer, Detail: fmt.Sprintf("format %d, the newest known is %d", n, known)}
}

// needed is err, but damage where something is missing that must be there.
func needed(err error, path string) error {
	if errors.Is(err, fs.ErrNotExist) {
		return damaged(path, "it is missing")
	}
	return err
}

// unlessGone is err, but nil for a file that is gone: then there is nothing to do, or to do
// again.
func unlessGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// explain names the store that an error is about.
func (s *Store) explain(err error) error {
	var f *FileError
	switch {
	case errors.As(err, &f):
		f.Path = filepath.Join(s.path, filepath.FromSlash(f.Path))
	case err != nil && !errors.Is(err, ErrFailed) && !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound):
		return fmt.Errorf("filestore: in %s: %w", s.path, err)
	}
	return err
}

// fail ends the use of the store for good, and returns the error that every
// later call returns. The first cause is the one that counts.
func (s *Store) fail(cause error) error {
	err := fmt.Errorf("%w: %s: %w", ErrFailed, s.path, cause)
	s.broken.CompareAndSwap(nil, &err)
	return *s.broken.Load()
}
