package filestore

import (
	"errors"
	"testing"

	"snowfence.example/snowfence/store"
)

func TestWhatNoRetryMendsIsDamageToTheStoresClients(t *testing.T) {
	for err, want := range map[error]bool{
		ErrForeign: true, ErrDamaged: true, ErrNewer: true, ErrReplaced: true,
		ErrNetwork: false, ErrFailed: false,
	} {
		file := &FileError{Path: "folder", Err: err}
		if !errors.Is(file, err) || errors.Is(file, store.ErrDamaged) != want {
			t.Errorf("%v: damage is %t, want %t", file, !want, want)
		}
	}
}
