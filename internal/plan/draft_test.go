package plan

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

func TestDraftsOfLayoutsThatCannotExistAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"ms37-worker20-seq16":             "ms37-worker20-seq16",
		"10ms48-seq20-worker16":           "10ms48-seq20-worker16",
		"ms37-worker20-seq16@2020-01-01":  "ms37-worker20-seq16",
		"ms0-worker10-seq12":              "ms0-worker10-seq12",
		"ms999-datacenter5-worker5-seq12": "ms999-datacenter5-worker5-seq12",
		"ms41-worker10-seq12":             "ms41-worker10-seq12",
		"discord":                         "unsigned-ms42-datacenter5-worker5-seq12",
		"s60-worker22-seq13@1997-05-19":   "s60-worker22-seq13",
	} {
		l, err := ParseDraft(text)
		if err != nil {
			t.Errorf("ParseDraft(%q): %v", text, err)
		} else if got := Widths(l); got != want {
			t.Errorf("ParseDraft(%q) = %q, want %q", text, got, want)
		}
	}
	l, err := ParseDraft("ms37-worker20-seq16@2020-01-01")
	if want := time.Date(2020, time.January, 1, 0, 0, 0, 0, time.UTC); err != nil || !l.Epoch.Equal(want) {
		t.Errorf("epoch %v, %v; want %v", l.Epoch, err, want)
	}
}

func TestTextsThatAreNoLayoutAreRefused(t *testing.T) {
	for text, word := range map[string]string{
		"":                             "",
		"twittr":                       "twittr",
		"ms41-wroker10-seq12":          "wroker",
		"ms41-worker10":                "sequence",
		"ms41-worker":                  "worker",
		"ms1000-worker10-seq12":        "999",
		"ms99999999999999999999-seq12": "",
		"ms70-seq12@yesterday":         "",
	} {
		l, err := ParseDraft(text)
		if err == nil {
			t.Errorf("ParseDraft(%q) = %s, want an error", text, Widths(l))
		} else if !strings.Contains(err.Error(), word) {
			t.Errorf("ParseDraft(%q): %q does not name %q", text, err, word)
		}
	}
}

func FuzzParseDraft(f *testing.F) {
	for _, p := range snowfence.Presets() {
		f.Add(p.Name)
		f.Add(p.Layout.String())
	}
	f.Add("s1-worker70-seq2")
	f.Add("ms37-worker20-seq16@2020-01-01")
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseDraft(s)
		if err != nil {
			return
		}
		// Whatever can be read can be measured and answered.
		if _, err := Check(l, Requirements{Years: 69}, now); err != nil {
			t.Errorf("Check(%q): %v", s, err)
		}
	})
}
