package page_test

import (
	"flag"
	"fmt"
	"html"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/testkit"
)

// writeRunbook is given by "make pages".
var writeRunbook = flag.Bool("runbook.write", false, "write assets/runbook.html from docs/operate.md")

// entries returns the part of docs/operate.md with the entries, and each entry by its anchor.
func entries(t *testing.T) (all string, by map[string]string) {
	t.Helper()
	text, err := os.ReadFile("../../../docs/operate.md")
	if err != nil {
		t.Fatal(err)
	}
	_, all, _ = strings.Cut(string(text), "\n## Runbook\n")
	by = map[string]string{}
	for _, part := range strings.Split(all, "\n#### ")[1:] {
		anchor, entry, _ := strings.Cut(part, "\n")
		if by[anchor] != "" {
			t.Errorf("docs/operate.md has two entries %s", anchor)
		}
		by[anchor], _, _ = strings.Cut(entry, "\n### ")
	}
	return all, by
}

func TestRunbookHasAnEntryForEachProblemEventAndAlert(t *testing.T) {
	_, by := entries(t)
	anchors := view.Anchors()
	for i := range front.Types {
		anchors = append(anchors, front.Type(i).String())
	}
	for _, anchor := range anchors {
		if by[anchor] == "" {
			t.Errorf("docs/operate.md has no entry %s", anchor)
		}
	}
	for anchor, entry := range by {
		if !strings.HasPrefix(entry, "\n**") || !strings.Contains(entry, "\n*Safe:* ") || !strings.Contains(entry, "\n*Do:* ") {
			t.Errorf("docs/operate.md: %s lacks a title, its safe part or what to do", anchor)
		}
	}
	rules, err := os.ReadFile("../../../deploy/prometheus/snowfence.rules.yml")
	if err != nil {
		t.Fatal(err)
	}
	alerts := strings.Split(string(rules), "- alert: ")[1:]
	for _, alert := range alerts {
		name, _, _ := strings.Cut(alert, "\n")
		_, anchor, _ := strings.Cut(strings.TrimSpace(alert), "docs/operate.md#")
		if !strings.Contains(by[anchor], "`"+name+"`") {
			t.Errorf("alert %s: the entry %q does not name it", name, anchor)
		}
	}
	named := regexp.MustCompile("`Snowfence[A-Z]").FindAllString(fmt.Sprint(by), -1)
	if len(named) != len(alerts) || len(alerts) < 20 {
		t.Errorf("the entries name %d alerts, and there are %d", len(named), len(alerts))
	}
}

func TestRunbookOfThePageIsThatOfTheDocs(t *testing.T) {
	before, err := os.ReadFile("assets/runbook.html")
	if err != nil {
		t.Fatal(err)
	}
	head, _, _ := strings.Cut(string(before), "<ul class=\"index\">\n")
	all, by := entries(t)
	var text strings.Builder
	text.WriteString(head + "<ul class=\"index\">\n")
	for _, anchor := range sorted(by) {
		fmt.Fprintf(&text, "<li><a href=\"#%s\">%s</a></li>\n", anchor, anchor)
	}
	text.WriteString("</ul>\n</nav>\n")
	for _, group := range strings.Split(all, "\n### ")[1:] {
		parts := strings.Split(group, "\n#### ")
		fmt.Fprintf(&text, "\n<h2>%s</h2>\n", strings.TrimSpace(parts[0]))
		for _, part := range parts[1:] {
			text.WriteString(section(part))
		}
	}
	testkit.Page(t, "assets/runbook.html", text.String()+"</main>\n</body>\n</html>\n", *writeRunbook)
}

func sorted(by map[string]string) (anchors []string) {
	for anchor := range by {
		anchors = append(anchors, anchor)
	}
	slices.Sort(anchors)
	return anchors
}

// section returns an entry as the page shows it. Its Markdown has paragraphs and commands, and in paragraphs code, words in
// asterisks and links. Pages of the docs are not part of the program: they are named.
func section(entry string) string {
	anchor, entry, _ := strings.Cut(entry, "\n")
	title, entry, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(entry), "**"), ".** ")
	s := fmt.Sprintf("<section id=\"%s\" aria-labelledby=\"%s-h\">\n<h3 id=\"%s-h\"><code>%s</code> %s</h3>\n", anchor, anchor, anchor, anchor, inline(title))
	for block := range strings.SplitSeq(entry, "\n\n") {
		if command, ok := strings.CutPrefix(block, "    "); ok {
			s += "<pre class=\"command\">" + html.EscapeString(strings.ReplaceAll(command, "\n    ", "\n")) + "</pre>\n"
		} else {
			s += "<p>" + inline(block) + "</p>\n"
		}
	}
	return s + "</section>\n"
}

func inline(text string) string {
	for _, x := range [][2]string{
		{`\[([^\]]+)\]\((#[a-z-]+)\)`, `<a href="$2">$1</a>`},
		{`\[([^\]]+)\]\(([a-z-]+\.md)[^)]*\)`, `$1 (<code>docs/$2</code>)`},
		{"`([^`]+)`", "<code>$1</code>"},
		{`\*([^*]+)\*`, "<strong>$1</strong>"},
	} {
		text = regexp.MustCompile(x[0]).ReplaceAllString(text, x[1])
	}
	return strings.ReplaceAll(text, "\n", " ")
}
