package page_test

import (
	"os"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/internal/view"
)

func TestRunbookHasAnEntryForEachAnchor(t *testing.T) {
	text, err := os.ReadFile("assets/runbook.html")
	if err != nil {
		t.Fatal(err)
	}
	for _, anchor := range view.Anchors() {
		if !strings.Contains(string(text), `id="`+anchor+`"`) {
			t.Errorf("the runbook has no entry %s", anchor)
		}
	}
}
