// Command words counts the words that make a sentence hard to read, by package and by page of the docs,
// and fails where there are too many.
//
// It reads comments, texts in the code (help, errors, logs), and pages without their code blocks. It
// holds three rates, in words for each sentence:
//
//   - vague, at most 0.03: `what`, `those`, `of which`, `that which`. A reader must look for their noun.
//   - negative, at most 0.08: `no`, `never`, `nobody`, `none`. Readers miss them, and they stack.
//   - speaking, at most 0.01: `says`, `tells`. Persons do; a thing holds, shows, returns or reports.
//
// A place with few sentences may have one of each. For comparison, this program finds 0.004 vague and 0.019
// negative words in golang.org/x/time/rate, and 0.004 and 0.053 in github.com/oklog/ulid.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var (
	vague    = regexp.MustCompile(`\b([Ww]hat|[Tt]hose|[Oo]f which|[Tt]hat which)\b`)
	negative = regexp.MustCompile(`\b([Nn]o|[Nn]ever|[Nn]obody|[Nn]one)\b`) // but not SQL's NO
	speaking = regexp.MustCompile(`\b([Ss]ays|[Tt]ells)\b`)
	end      = regexp.MustCompile(`[.!?:;]+(\s+|$)|\n\s*\n|\n\s*[-*|#]`)
	word     = regexp.MustCompile(`\b[a-zA-Z]+\b`)
	code     = regexp.MustCompile("(?s)```.*?(```|$)|`[^`\n]*`|\\]\\([^)]*\\)|\\S*/\\S*|\\w+(-\\w+)+")
)

// rate is how many words of a kind there may be in a sentence.
type rate struct {
	name  string
	most  float64
	words *regexp.Regexp
}

func rates() [3]rate {
	return [...]rate{{"vague", 0.03, vague}, {"negative", 0.08, negative}, {"speaking", 0.01, speaking}}
}

// count is the number of sentences of a place, and of the words of each rate in them.
type count struct {
	sentences int
	words     [3]int
}

// counts are the counts by place: the folder of a package, or a page.
type counts struct {
	places map[string]*count
	out    io.Writer
	show   string
}

func main() {
	show := flag.String("show", "", "print each `place`'s sentences that have such a word")
	flag.Parse()
	c := counts{places: map[string]*count{}, out: os.Stdout, show: *show}
	if err := c.tree(os.DirFS(cmp.Or(flag.Arg(0), "."))); err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	if tooMany := c.print(); tooMany > 0 {
		fmt.Fprintf(os.Stderr, "words: %d places have too many vague, negative or speaking words; see -show PLACE\n", tooMany)
		os.Exit(1)
	}
}

// tree counts the words of every file of Go and every page of a tree.
func (c *counts) tree(tree fs.FS) error {
	return fs.WalkDir(tree, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			if name != "." && (strings.HasPrefix(entry.Name(), ".") || slices.Contains([]string{"testdata", "node_modules", "snowfencev1"}, entry.Name())) {
				return fs.SkipDir
			}
			return nil
		}
		if ext := path.Ext(name); ext != ".go" && ext != ".md" {
			return nil
		}
		data, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".go" {
			return c.file(name, data)
		}
		c.text(name, name, string(data))
		return nil
	})
}

// file counts the comments and the texts of a file of Go.
func (c *counts) file(name string, data []byte) error {
	files, place := token.NewFileSet(), path.Dir(name)
	file, err := parser.ParseFile(files, name, data, parser.ParseComments)
	if err != nil {
		return err
	}
	if ast.IsGenerated(file) {
		return nil
	}
	for _, group := range file.Comments {
		c.text(place, files.Position(group.Pos()).String(), group.Text())
	}
	ast.Inspect(file, func(n ast.Node) bool {
		if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
			if text, err := strconv.Unquote(literal.Value); err == nil {
				c.text(place, files.Position(literal.Pos()).String(), text)
			}
		}
		return true
	})
	return nil
}

// text counts the sentences of a text that have three words or more.
func (c *counts) text(place, from, text string) {
	if c.places[place] == nil {
		c.places[place] = &count{}
	}
	for _, sentence := range end.Split(code.ReplaceAllString(text, "X"), -1) {
		if len(word.FindAllString(sentence, 3)) < 3 {
			continue
		}
		at, before := c.places[place], c.places[place].words
		at.sentences++
		for i, rate := range rates() {
			at.words[i] += len(rate.words.FindAllString(sentence, -1))
		}
		if c.show == place && at.words != before {
			_, _ = fmt.Fprintf(c.out, "%s: %s\n", from, strings.Join(strings.Fields(sentence), " "))
		}
	}
}

// print writes a line for each place, the worst ones first, and returns how many have too many.
func (c *counts) print() (tooMany int) {
	var names []string
	all := &count{}
	for name, at := range c.places {
		names = append(names, name)
		all.sentences += at.sentences
		for i, n := range at.words {
			all.words[i] += n
		}
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := c.places[b].excess() - c.places[a].excess(); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	_, _ = fmt.Fprintf(c.out, "%-44s %9s", "place", "sentences")
	for _, rate := range rates() {
		_, _ = fmt.Fprintf(c.out, " %8s", rate.name)
	}
	_, _ = fmt.Fprintln(c.out)
	for _, name := range names {
		at := c.places[name]
		if at.excess() > 0 {
			tooMany++
		}
		c.line(name, at)
	}
	c.line("in all", all)
	return tooMany
}

// excess is how many words a place has above its limits. A place with few sentences may have one word of each rate.
func (c *count) excess() (n int) {
	for i, rate := range rates() {
		n += max(0, c.words[i]-max(1, int(math.Ceil(rate.most*float64(c.sentences)))))
	}
	return n
}

func (c *counts) line(name string, at *count) {
	_, _ = fmt.Fprintf(c.out, "%-44s %9d", name, at.sentences)
	for _, n := range at.words {
		_, _ = fmt.Fprintf(c.out, " %8.3f", float64(n)/float64(max(1, at.sentences)))
	}
	_, _ = fmt.Fprintln(c.out)
}
