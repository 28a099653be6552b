package journal

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Peek returns the last page in a folder, the last one that was taken from it, and those that were refused last. It
// changes nothing: it takes no lock, and the page stays for the next holder. A holder may write meanwhile, so the page may be the one before its
// last. These pages say which ticks were used. They say nothing of who may go on with a term: a copy counts too, and
// so does a page from before the machine was last started.
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
