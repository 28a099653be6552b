// Command api prints the public face of the tree whose root is "..": the exported names of every
// package of every module in go.work, but for internal packages, the ones below cmd, and the rooms of the
// daemon that only the command line shares. "make api" writes it into docs/api.txt.
package main

import (
	"context"
	"fmt"
	"go/types"
	"os"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/tools/go/packages"
)

func main() {
	text, err := face(context.Background(), "..")
	if err == nil {
		_, err = os.Stdout.WriteString(text)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

// face returns the public face of the tree at root, a line for each thing.
func face(ctx context.Context, root string) (string, error) {
	all, err := packages.Load(&packages.Config{
		// Types come from the source of all packages: compilers' exports of others can differ between
		// their versions.
		Mode:    packages.NeedName | packages.NeedTypes | packages.NeedSyntax | packages.NeedImports | packages.NeedDeps,
		Context: ctx,
		Dir:     root,
		Env:     append(os.Environ(), "GOWORK=", "GOOS=linux"), // the go.work above root
	}, "work")
	if err != nil {
		return "", err
	}
	slices.SortFunc(all, func(a, b *packages.Package) int { return strings.Compare(a.PkgPath, b.PkgPath) })
	var b strings.Builder
	for _, p := range all {
		if len(p.Errors) > 0 {
			return "", p.Errors[0]
		}
		if p.Name == "main" || regexp.MustCompile(`/internal/|/cmd/|/daemon/(config|openstore|builtin|token)$`).MatchString(p.PkgPath) {
			continue
		}
		fmt.Fprintf(&b, "package %s\n", p.PkgPath)
		for _, name := range p.Types.Scope().Names() { // sorted
			if object := p.Types.Scope().Lookup(name); object.Exported() {
				show(&b, object)
			}
		}
	}
	return b.String(), nil
}

// show writes an exported object and, if it is a type, its fields and methods. An alias shows the
// methods of the type behind it, which has no other name.
func show(b *strings.Builder, object types.Object) {
	qualify := func(p *types.Package) string {
		if p == object.Pkg() {
			return ""
		}
		return p.Name()
	}
	text := func(t types.Type) string { return types.TypeString(t, qualify) }
	if constant, ok := object.(*types.Const); ok {
		fmt.Fprintf(b, "\tconst %s %s = %s\n", constant.Name(), text(constant.Type()), constant.Val().ExactString())
		return
	}
	name, ok := object.(*types.TypeName)
	if !ok {
		fmt.Fprintf(b, "\t%s\n", types.ObjectString(object, qualify))
		return
	}
	kind := "struct"
	structure, isStruct := name.Type().Underlying().(*types.Struct)
	if !isStruct {
		kind = text(name.Type().Underlying()) // with the methods of an interface
	}
	if name.IsAlias() {
		kind = "= " + text(types.Unalias(name.Type())) + " " + kind
	}
	fmt.Fprintf(b, "\ttype %s %s\n", name.Name(), kind)
	for i := 0; isStruct && i < structure.NumFields(); i++ {
		if field := structure.Field(i); field.Exported() {
			fmt.Fprintf(b, "\t\t%s %s\n", field.Name(), text(field.Type()))
		}
	}
	for method := range types.NewMethodSet(types.NewPointer(name.Type())).Methods() { // sorted
		if method.Obj().Exported() {
			fmt.Fprintf(b, "\t\t%s\n", types.ObjectString(method.Obj(), qualify))
		}
	}
}
