// Command words counts the words that make a sentence hard to read, by package and by page of the docs,
// and fails where there are too many.
//
// It reads comments, texts in the code (help, errors, logs), and pages without their code blocks. It
// holds two rates, in words for each sentence:
//
//   - vague, at most 0.03: `what`, `those`, `of which`, `that which`. A reader must look for their noun.
//   - negative, at most 0.08: `no`, `never`, `nobody`, `none`. Readers miss them, and they stack.
//
// A place with few sentences may have one of each. For comparison, this program finds 0.004 and 0.019
// in golang.org/x/time/rate, and 0.004 and 0.053 in github.com/oklog/ulid.
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

const (
	mostVague    = 0.03
	mostNegative = 0.08
)

var (
	vague    = regexp.MustCompile(`\b([Ww]hat|[Tt]hose|[Oo]f which|[Tt]hat which)\b`)
	negative = regexp.MustCompile(`\b([Nn]o|[Nn]ever|[Nn]obody|[Nn]one)\b`) // but not SQL's NO
	end      = regexp.MustCompile(`[.!?:;]+(\s+|$)|\n\s*\n|\n\s*[-*|#]`)
	word     = regexp.MustCompile(`\b[a-zA-Z]+\b`)
	code     = regexp.MustCompile("(?s)```.*?(```|$)|`[^`\n]*`|\\]\\([^)]*\\)|\\S*/\\S*|\\w+(-\\w+)+")
)

// count is the number of sentences of a place, and of the words in them.
type count struct{ sentences, vague, negative int }

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
		fmt.Fprintf(os.Stderr, "words: %d places have too many vague or negative words; see -show PLACE\n", tooMany)
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
		v, n := len(vague.FindAllString(sentence, -1)), len(negative.FindAllString(sentence, -1))
		at := c.places[place]
		at.sentences, at.vague, at.negative = at.sentences+1, at.vague+v, at.negative+n
		if c.show == place && v+n > 0 {
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
		all.sentences, all.vague, all.negative = all.sentences+at.sentences, all.vague+at.vague, all.negative+at.negative
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := c.places[b].excess() - c.places[a].excess(); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	_, _ = fmt.Fprintf(c.out, "%-44s %9s %6s %9s\n", "place", "sentences", "vague", "negative")
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

// excess is how many words a place has above its limits.
func (c *count) excess() int {
	return max(0, c.vague-allowed(mostVague, c.sentences)) + max(0, c.negative-allowed(mostNegative, c.sentences))
}

// allowed is how many words a place of so many sentences may have.
func allowed(rate float64, sentences int) int { return max(1, int(math.Ceil(rate*float64(sentences)))) }

func (c *counts) line(name string, at *count) {
	sentences := float64(max(1, at.sentences))
	_, _ = fmt.Fprintf(c.out, "%-44s %9d %6.3f %9.3f\n", name, at.sentences, float64(at.vague)/sentences, float64(at.negative)/sentences)
}
