package storeclient

import (
	"iter"

	"snowfence.example/snowfence/store"
)

// List returns the sequence of a store's List: the entries that read yields and
// then read's error. An invalid prefix is the first error. read must return soon
// after its yield returned false, and its error is dropped then.
func List(prefix string, read func(yield func(store.Entry) bool) error) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		left := false
		err := store.ValidatePrefix(prefix)
		if err == nil {
			err = read(func(e store.Entry) bool {
				left = !yield(e, nil)
				return !left
			})
		}
		if err != nil && !left {
			yield(store.Entry{}, err)
		}
	}
}

// ListPages returns the sequence of a store's List that is read page by page, in the
// order of the keys. page returns the first size registers behind a key, or behind
// none if that is empty; fewer are the last page.
func ListPages(prefix string, size int, page func(after string) ([]store.Entry, error)) iter.Seq2[store.Entry, error] {
	return List(prefix, func(yield func(store.Entry) bool) error {
		for after := ""; ; {
			entries, err := page(after)
			if err != nil {
				return err
			}
			for _, e := range entries {
				if !yield(e) {
					return nil
				}
				after = e.Key
			}
			if len(entries) < size {
				return nil
			}
		}
	})
}
