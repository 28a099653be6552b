package main

import (
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
type idSourceFlags struct{ options idsource.Options }

// add adds the flags to a verb.
func (f *idSourceFlags) add(cmd *cobra.Command) {
	formats, encodings, gzips := join(idsource.Formats(), ", "), join(decode.EncodingNames(), ", "), join(idsource.Gzips(), ", ")
	for _, x := range []struct{ name, word, about, words string }{
		{"format", "WORD", "of files and streams: " + formats + " (default: csv with --column, else text)", formats},
		{"encoding", "WORD", "encoding of the ids: " + encodings + " (default: any)", encodings},
		{"column", "NAME|N", "column of CSV, by its name in the header or by its number from 1; or of --table", ""},
		{"separator", "CHAR", `what stands between the columns of CSV, or "tab" (default: a comma)`, ""},
		{"gzip", "WORD", "whether files and streams are compressed: " + gzips + " (default: auto)", gzips},
		{"table", "TABLE", "table of a database, with --column; SCHEMA.TABLE where needed", ""},
		{"query", "SQL", "statement that returns one column, in place of --table and --column", ""},
	} {
		set := func(text string) (string, error) { return text, f.options.Set(x.name, text) }
		cmd.Flags().Var(&parsed[string]{value: new(string), word: x.word, parse: set}, x.name, x.about)
		if x.words != "" {
			completeFlag(cmd, x.name, strings.Split(x.words, ", ")...)
		}
	}
	cmd.Flags().BoolVar(&f.options.SkipInvalid, "skip-invalid", false, "count what is no id and go on")
}

// read returns what the flags say.
func (f *idSourceFlags) read(p program) idsource.Options {
	o := f.options
	o.Stdin = p.stdin
	o.Expand = func(url string) (string, error) { return config.Expand(url, p.environ) }
	return o
}
