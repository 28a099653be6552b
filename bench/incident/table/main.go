// Command table runs the incidents of the field with every allocator and prints
// the tables of docs/incidents.md.
//
//	GOWORK=off go run ./incident/table
//	GOWORK=off go run ./incident/table -page ../docs/incidents.md
//
// With a page it puts the tables in there instead of printing them.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"

	"snowfence.example/snowfence/bench/incident"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

// run is the program. It returns its exit code.
func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	flags.SetOutput(errs)
	seeds := flags.Int("seeds", incident.Seeds, "how many seeds each pair runs on; the page has the default's")
	page := flags.String("page", "", "file to put the tables into; none means that they are printed")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	switch {
	case flags.NArg() > 0:
		_, _ = fmt.Fprintf(errs, "table: %q is no flag: must be none but flags\n", flags.Arg(0))
		return 2
	case *seeds < 1:
		_, _ = fmt.Fprintf(errs, "table: -seeds is %d: must be at least 1\n", *seeds)
		return 2
	}
	comparison, err := incident.Compare(incident.Incidents(), incident.Allocators(), *seeds)
	switch {
	case err != nil:
	case *page != "":
		err = rewrite(*page, comparison)
	default:
		err = incident.Write(out, comparison)
	}
	if err != nil {
		_, _ = fmt.Fprintln(errs, "table:", err)
		return 1
	}
	return 0
}

// rewrite puts the tables into the file.
func rewrite(file string, c incident.Comparison) error {
	before, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	after, err := incident.Rewrite(string(before), c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, []byte(after), 0o644) //nolint:gosec // a page is for everybody to read
}
