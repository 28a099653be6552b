package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Peek returns the pages in a folder: the last written page, the last taken page, and the last refused pages. They show
// which ticks were used. They don't show who may go on with a term: copied pages are among them, and pages from before
// the machine was last started.
//
// Peek changes nothing. It takes no lock, and the pages stay for the next holder. A holder may write meanwhile. Then the
// last written page may be the page before it.
func Peek(dir string) (pages [][]byte, err error) {
	var last entry
	for _, name := range []string{oddName, evenName, consumedName, refused(oddName), refused(evenName)} {
		content, wrong := os.ReadFile(filepath.Join(dir, name))
		if errors.Is(wrong, fs.ErrNotExist) {
			continue
		}
		var e entry
		if wrong == nil {
			e, wrong = decode(content)
		}
		aside := strings.HasPrefix(name, refusedName)
		switch {
		case wrong != nil && aside && content != nil: // torn, and refused for that
		case wrong != nil:
			err = errors.Join(err, fmt.Errorf("journal: %s: %s: %w", dir, name, wrong))
		case e.Page == "": // the first entry is without
		case aside || name == consumedName:
			pages = append(pages, []byte(e.Page))
		case e.Number > last.Number:
			last = e
		}
	}
	if last.Page == "" {
		return pages, err
	}
	return append(pages, []byte(last.Page)), nil // a torn entry may be a write that goes on
}
