package main

import (
	"flag"
	"fmt"
	"os"
)

func main() {
	page := flag.String("page", "", "file to put the tables into; none means that they are printed")
	flag.Parse()
	if err := tabulate(*page); err != nil {
		fmt.Fprintln(os.Stderr, "incident:", err)
		os.Exit(1)
	}
}

// tabulate runs every incident with every allocator, and puts the tables into the page
// or prints them.
func tabulate(page string) error {
	comparison, err := Compare(Incidents(), Allocators(), Seeds)
	if err != nil {
		return err
	}
	if page == "" {
		fmt.Print(comparison.Tables())
		return nil
	}
	before, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	after, err := Rewrite(string(before), comparison)
	if err != nil {
		return err
	}
	return os.WriteFile(page, []byte(after), 0o644) //nolint:gosec // a page is for everybody to read
}
