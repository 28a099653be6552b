package main

import (
	"regexp"
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

func TestCommandsOfTheRunbookAreThoseOfTheProgram(t *testing.T) {
	p, _, _ := inTest(t)
	commands, values := 0, strings.NewReplacer("'", "", " NEXT", " 8", " N", " 7", " NAME", " orders")
	for _, m := range regexp.MustCompile("(?m)^ +snowfence (.+)$|`snowfence ([a-z][^`]+)`").FindAllStringSubmatch(pageText(t, "operate.md"), -1) {
		commands++
		verb, rest, err := p.commands().Find(strings.Fields(values.Replace(m[1] + m[2])))
		if err == nil {
			err = verb.ParseFlags(rest)
		}
		if err == nil {
			err = verb.Args(verb, verb.Flags().Args())
		}
		if err != nil && (m[1] != "" || verb.Parent() == nil) { // within a sentence a command may lack its arguments
			t.Errorf("%s: %v", m[0], err)
		}
	}
	if commands < 30 {
		t.Errorf("docs/operate.md has %d commands: the test reads it wrongly", commands)
	}
}
