package view

import (
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestEveryEntryIsOfALineThatTheProgramWrites(t *testing.T) {
	var source strings.Builder
	for _, folder := range []string{"fence", "internal/lease", "daemon", "store", "counter"} {
		err := fs.WalkDir(os.DirFS("../../.."), folder, func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.HasPrefix(path, "daemon/internal/view/") {
				return err
			}
			text, err := os.ReadFile("../../../" + path)
			source.Write(text)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	anchors := Anchors()
	for i, e := range runbook() {
		if slices.Index(anchors, e.anchor) != i || !strings.HasSuffix(e.do, ".") {
			t.Errorf("%+v", e)
		}
		for begin := range strings.SplitSeq(e.begins, "|") {
			if !strings.Contains(source.String(), `"`+begin) {
				t.Errorf("%s: no line begins with %q", e.anchor, begin)
			}
		}
	}
}
