// Command duplicates looks for equal ids within and between files of ids, each
// id 8 bytes, the highest first. It prints how many ids there are and each
// pair of equal ones, with where they stand, and exits with 1 when it finds
// any.
//
//	go run ./internal/testkit/duplicates a.ids b.ids
package main

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"slices"
)

// entry is an id and where it stands: the file's number and the id's in it.
type entry struct {
	id   uint64
	file uint32
	at   uint32
}

func main() {
	found, err := report(os.Stdout, os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, "duplicates:", err)
		os.Exit(2)
	case found > 0:
		os.Exit(1)
	}
}

// report reads the files, prints what it finds, and returns the number of
// duplicates.
func report(w io.Writer, files []string) (int, error) {
	var entries []entry
	for number, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return 0, err
		}
		if len(content)%8 != 0 {
			return 0, fmt.Errorf("%s has %d bytes: must be 8 an id", path, len(content))
		}
		entries = slices.Grow(entries, len(content)/8)
		for at := 0; at < len(content); at += 8 {
			entries = append(entries, entry{binary.BigEndian.Uint64(content[at:]), uint32(number), uint32(at / 8)})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.file, b.file), cmp.Compare(a.at, b.at))
	})
	found := 0
	for i := 1; i < len(entries); i++ {
		a, b := entries[i-1], entries[i]
		if a.id == b.id {
			found++
			if _, err := fmt.Fprintf(w, "%d: %s, id %d and %s, id %d\n", a.id, files[a.file], a.at, files[b.file], b.at); err != nil {
				return found, err
			}
		}
	}
	_, err := fmt.Fprintf(w, "%d ids, %d duplicates\n", len(entries), found)
	return found, err
}
