package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// Peek returns the last page in a folder, or none, and changes nothing: it takes no lock, and the page stays
// for the next holder. A holder may write meanwhile, so the page may be the one before its last. Such a page
// says which ticks were used. It says nothing of who may go on with its term: a copy counts too, and so does
// a page from before the machine was last started.
func Peek(dir string) ([]byte, error) {
	var last entry
	var wrong error
	for _, name := range []string{oddName, evenName} {
		content, err := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		var e entry
		if err == nil {
			e, err = decode(content)
		}
		if err != nil {
			wrong = errors.Join(wrong, fmt.Errorf("journal: %s: %s: %w", dir, name, err))
		}
		if e.Number > last.Number {
			last = e
		}
	}
	if last.Page == "" { // the first entry has none
		return nil, wrong
	}
	return []byte(last.Page), nil
}
