package main

import (
	"encoding/binary"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func write(t *testing.T, name string, ids ...uint64) string {
	t.Helper()
	var content []byte
	for _, id := range ids {
		content = binary.BigEndian.AppendUint64(content, id)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, content, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestEqualIDsAreFoundWithinAndBetweenFiles(t *testing.T) {
	cases := []struct {
		name  string
		files [][]uint64
		found int
	}{
		{"none", [][]uint64{{1, 2, 3}, {4, 5}}, 0},
		{"within a file", [][]uint64{{1, 2, 1}, {4, 5}}, 1},
		{"between files", [][]uint64{{1, 2, 3}, {3, 5}}, 1},
		{"three of one", [][]uint64{{7}, {7}, {7}}, 2},
		{"nothing at all", nil, 0},
	}
	for _, c := range cases {
		var paths []string
		for _, ids := range c.files {
			paths = append(paths, write(t, "ids", ids...))
		}
		var out strings.Builder
		if found, err := report(&out, paths); err != nil || found != c.found {
			t.Errorf("%s: %d found, %v, want %d\n%s", c.name, found, err, c.found, &out)
		}
	}
}

func TestTornFileIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids")
	if err := os.WriteFile(path, make([]byte, 12), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := report(os.Stdout, []string{path}); err == nil {
		t.Error("12 bytes pass for ids")
	}
}
