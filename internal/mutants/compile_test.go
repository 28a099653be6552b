package mutants

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// variable is the environment variable that chooses the bug of a program.
const variable = "MUTANT"

func chosen(i int) string { return fmt.Sprintf("%s=%d", variable, i) }

// plant writes the source of mutants into dir, and returns the path of an overlay with it.
func plant(root, dir string, mutants []mutant) (overlay string, err error) {
	replace := map[string]string{}
	add := func(file, text string) error {
		if replace[file] == "" {
			replace[file] = filepath.Join(dir, fmt.Sprintf("planted%d.go", len(replace)))
		}
		return os.WriteFile(replace[file], []byte(text), 0o600)
	}
	for i, m := range mutants {
		file := filepath.Join(root, filepath.FromSlash(m.file))
		if replace[file] != "" {
			continue // with an earlier mutant of its file
		}
		text, name, err := m.planted(file, i, mutants)
		if err != nil {
			return "", err
		}
		if err := add(file, text); err != nil {
			return "", err
		}
		chooser := filepath.Join(filepath.Dir(file), "planted.go")
		if err := add(chooser, fmt.Sprintf("package %s\n\nimport \"os\"\n\nvar planted_ = os.Getenv(%q)\n", name, variable)); err != nil {
			return "", err
		}
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	overlay = filepath.Join(dir, "overlay.json")
	return overlay, os.WriteFile(overlay, text, 0o600)
}

// planted returns the text and the package of m's file with the bugs of all mutants in it, m being the first of them.
func (m mutant) planted(file string, first int, mutants []mutant) (text, name string, err error) {
	source, err := os.ReadFile(file)
	if err != nil {
		return "", "", err
	}
	parsed, err := parser.ParseFile(token.NewFileSet(), file, source, parser.SkipObjectResolution)
	if err != nil {
		return "", "", err
	}
	p := planting{source: string(source), named: map[*ast.FuncDecl]bool{}}
	for i, other := range mutants[first:] {
		if other.file != m.file {
			continue
		}
		at := strings.Index(p.source, other.old)
		if n := strings.Count(p.source, other.old); n != 1 || !p.copy(parsed, at, other, first+i) {
			return "", "", fmt.Errorf("%s: %w, but %d times in the file: %q", m.file, errRotten, n, other.old)
		}
	}
	return p.text(), parsed.Name.Name, nil
}

// planting is the source of one file and what is inserted into it.
type planting struct {
	source string
	named  map[*ast.FuncDecl]bool // functions whose parameters have names
	edits  []edit
	copies strings.Builder
}

// An edit replaces the bytes from..to of a file.
type edit struct {
	from, to int
	text     string
}

// copy adds a copy of the function around the byte at, with the mutant in it, and makes the function call it
// when bug i is chosen.
func (p *planting) copy(file *ast.File, at int, m mutant, i int) bool {
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || at < offset(f.Pos()) || at+len(m.old) > offset(f.End()) {
			continue
		}
		bug := fmt.Sprintf("%s_%d", f.Name.Name, i)
		name := offset(f.Name.Pos())
		text := p.source[offset(f.Pos()):name] + bug + p.source[name+len(f.Name.Name):offset(f.End())]
		p.copies.WriteString("\n" + strings.Replace(text, m.old, m.new, 1) + "\n")
		call := bug + "(" + strings.Join(p.arguments(f), ", ") + ")"
		if f.Recv != nil {
			call = p.receiver(f) + "." + call
		}
		if f.Type.Results == nil {
			call += "; return"
		} else {
			call = "return " + call
		}
		body := offset(f.Body.Lbrace) + 1
		p.edits = append(p.edits, edit{body, body, fmt.Sprintf(" if planted_ == \"%d\" { %s };", i, call)})
		p.named[f] = true
		return true
	}
	return false
}

func (p *planting) receiver(f *ast.FuncDecl) string { return p.names(f, f.Recv, "receiver_")[0] }

func (p *planting) arguments(f *ast.FuncDecl) []string {
	names := p.names(f, f.Type.Params, "parameter_")
	if n := len(f.Type.Params.List); n > 0 {
		if _, variadic := f.Type.Params.List[n-1].Type.(*ast.Ellipsis); variadic {
			names[len(names)-1] += "..."
		}
	}
	return names
}

// names returns the names of fields, and gives one to each that has none.
func (p *planting) names(f *ast.FuncDecl, fields *ast.FieldList, prefix string) (names []string) {
	for _, field := range fields.List {
		if len(field.Names) == 0 {
			name := fmt.Sprint(prefix, len(names))
			names = append(names, name)
			if !p.named[f] {
				p.edits = append(p.edits, edit{offset(field.Type.Pos()), offset(field.Type.Pos()), name + " "})
			}
		}
		for _, given := range field.Names {
			name := given.Name
			if name == "_" {
				name = fmt.Sprint(prefix, len(names))
				if !p.named[f] {
					p.edits = append(p.edits, edit{offset(given.Pos()), offset(given.End()), name})
				}
			}
			names = append(names, name)
		}
	}
	return names
}

// text returns the file with all edits, and the copies behind it.
func (p *planting) text() string {
	slices.SortStableFunc(p.edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	at := 0
	for _, e := range p.edits {
		out.WriteString(p.source[at:e.from] + e.text)
		at = e.to
	}
	return out.String() + p.source[at:] + p.copies.String()
}

// offset is the place of a position in its file: it is the only one of its set.
func offset(at token.Pos) int { return int(at) - 1 }
