package main

import (
	"strings"
	"testing"
)

func TestEachPlaceHasAConfigurationThatIsAccepted(t *testing.T) {
	_, part, _ := strings.Cut(pageText(t, "operate.md"), "\n## Where does your program run?\n")
	part, _, _ = strings.Cut(part, "\n## ")
	blocks := strings.Split(part, "\n```yaml\n")[1:]
	for _, block := range blocks {
		text, _, _ := strings.Cut(block, "\n```")
		p, _, _ := inTest(t)
		p.must(t, exitOK, "config", "check", "--config", written(t, text+"\n"))
	}
	if len(blocks) < 4 {
		t.Errorf("docs/operate.md has %d configurations", len(blocks))
	}
}
