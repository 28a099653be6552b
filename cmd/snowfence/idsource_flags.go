package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
)

// idSourceHelp says in the help of verbs what their sources are.
const idSourceHelp = `A source is a file, - for standard input, or the URL of a database. Files and
streams hold one id a line, or a column of CSV with --column, or with --format
binary 8 bytes an id; gzip is recognised. In a text an id may have any
spelling: decimal, hex with or without 0x, base32 (13 digits) or base62 (11
digits); blank lines and lines that begin with # are left out. A database,
postgres://USER@HOST/DATABASE or mysql://USER@HOST/DATABASE, needs --table and
--column, or --query; ${NAME} in its URL stands for a variable, such as the one
that holds the password.

What is no id ends the check with its line (exit code 4), or is counted with
--skip-invalid.`

// idSourceFlags are the flags that say how ids are read. The verbs that read ids
// share them.
type idSourceFlags struct {
	options   idsource.Options
	separator string
}

// add adds the flags to a verb.
func (f *idSourceFlags) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.Var(choiceOf(&f.options.Format, idsource.Formats()...), "format", "of files and streams: "+join(idsource.Formats(), ", ")+" (default: csv with --column, else text)")
	completeFlag(cmd, "format", strings.Split(join(idsource.Formats(), " "), " ")...)
	flags.Var(choiceOf(&f.options.Encoding, decode.EncodingNames()...), "encoding", "encoding of the ids: "+join(decode.EncodingNames(), ", ")+" (default: any)")
	completeFlag(cmd, "encoding", strings.Split(join(decode.EncodingNames(), " "), " ")...)
	flags.Var(textFlag(&f.options.Column, "NAME|N"), "column", "column of CSV, by its name in the header or by its number from 1; or of --table")
	flags.Var(textFlag(&f.separator, "CHAR"), "separator", `what stands between the columns of CSV, or "tab" (default: a comma)`)
	flags.Var(choiceOf(&f.options.Gzip, idsource.Gzips()...), "gzip", "whether files and streams are compressed: "+join(idsource.Gzips(), ", ")+" (default: auto)")
	completeFlag(cmd, "gzip", strings.Split(join(idsource.Gzips(), " "), " ")...)
	flags.Var(textFlag(&f.options.Table, "TABLE"), "table", "table of a database, with --column; SCHEMA.TABLE where needed")
	flags.Var(textFlag(&f.options.Query, "SQL"), "query", "statement that returns one column, in place of --table and --column")
	flags.BoolVar(&f.options.SkipInvalid, "skip-invalid", false, "count what is no id and go on")
}

// read returns what the flags say. The error is one of usage.
func (f *idSourceFlags) read(p program) (idsource.Options, error) {
	o := f.options
	o.Stdin = p.stdin
	o.Expand = func(url string) (string, error) { return config.Expand(url, p.environ) }
	switch {
	case f.separator == "":
	case f.separator == "tab" || f.separator == `\t`:
		o.Separator = '\t'
	case len(f.separator) == 1 && f.separator[0] < 0x80 && !strings.ContainsAny(f.separator, "\"\r\n"):
		o.Separator = f.separator[0]
	default:
		return o, fmt.Errorf("--separator is %q: must be one character of ASCII and no quote, or tab", f.separator)
	}
	return o, nil
}
