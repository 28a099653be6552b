package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/internal/roster"
)

// run reads all that the sides name, and says what follows.
func (v *merging) run(ctx context.Context) error {
	if err := oneStream(slices.Concat(v.data...)); err != nil {
		return usage(v.cmd, err)
	}
	// Who issues ids comes first: what is wrong with a store is told before
	// millions of ids are read.
	for _, side := range v.sides {
		if err := v.issuersOf(ctx, side); err != nil {
			return err
		}
	}
	for _, side := range v.sides {
		if len(side.Data) == 0 {
			continue
		}
		for _, i := range v.issuers {
			v.strays = append(v.strays, merge.NewStrays(side.Name, i))
		}
	}
	if err := v.readData(ctx); err != nil {
		return err
	}
	for n, a := range v.issuers {
		for _, b := range v.issuers[n+1:] {
			v.forecasts = append(v.forecasts, merge.Predict(a, b))
		}
	}
	if err := v.report(); err != nil {
		return unavailable(err) // exit code 1 is a verdict
	}
	if code := v.verdict().exitCode(); code != exitOK {
		return reported(code)
	}
	return nil
}

// issuersOf reads who issues the ids of a side.
func (v *merging) issuersOf(ctx context.Context, side merge.Side) error {
	for _, n := range side.Namespaces {
		i, err := v.namespaceIssuer(ctx, side.Name, n)
		if err != nil {
			return err
		}
		if i.Strays > 0 || len(i.Unreadable) > 0 {
			v.warn(fmt.Sprintf("side %s: %s: %s: see namespace verify", side.Name, i.Name, strayText(uint64(len(i.Unreadable)), uint64(i.Strays))))
		}
		v.issuers = append(v.issuers, i)
	}
	for _, f := range side.Layouts {
		v.issuers = append(v.issuers, merge.ForeignIssuer(side.Name, f, v.clock.Wall()))
	}
	return nil
}

// strayText tells of what is in a namespace that can't be read as it should.
func strayText(unreadable, strays uint64) string {
	var parts []string
	if unreadable > 0 {
		parts = append(parts, countOf(unreadable, "register")+" can't be read and "+numbered(unreadable, "is", "are")+" taken to have stamped anything")
	}
	if strays > 0 {
		parts = append(parts, countOf(strays, "key")+" "+numbered(strays, "is no worker id", "are no worker ids"))
	}
	return strings.Join(parts, ", ")
}

// namespaceIssuer reads the registers of a namespace.
func (v *merging) namespaceIssuer(ctx context.Context, side string, n merge.Namespace) (*merge.Issuer, error) {
	in := func(err error) error { return &sideError{side, err} }
	url, err := config.Expand(n.Store, v.environ)
	if err == nil {
		err = engine.Check(url)
	}
	if err != nil {
		return nil, usage(v.cmd, in(err))
	}
	// A variable that stands for a password is not one.
	shown := engine.Redact(n.Store)
	place := side + ": " + idsource.Shown(shown)
	if engine.Private(url) {
		v.warn("side " + side + ": the store " + idsource.Shown(shown) + " is of this process alone: it has nothing to show")
	}
	opened, err := engine.OpenExisting(ctx, url)
	if err != nil {
		return nil, unavailable(in(err))
	}
	defer func() {
		if closeErr := opened.Close(); closeErr != nil {
			v.note("warning: close store: %s", message(closeErr))
		}
	}()
	r, err := roster.Open(ctx, roster.Config{Store: opened, Namespace: n.Name, Clock: v.clock})
	if err != nil {
		return nil, v.rosterFault(&sideError{place, err})
	}
	i, err := merge.IssuerOf(ctx, side, shown, r)
	if err != nil {
		return nil, v.rosterFault(&sideError{place, err})
	}
	i.Name = idsource.Shown(i.Name)
	return i, nil
}

// rosterFault marks an error about a namespace. Exit code 1 is a verdict: a
// namespace that there is not, or that can't be, is a mistake in the side.
func (v *merging) rosterFault(err error) error {
	switch snowfence.ClassOf(errors.Unwrap(err)) {
	case snowfence.ClassFinal, snowfence.ClassUsage:
		return usage(v.cmd, err)
	}
	return err
}

// report prints what was found.
func (v *merging) report() error {
	switch v.form {
	case jsonForm:
		return v.printJSON(v.document())
	case tableForm:
		return v.print(v.tableText())
	default:
		return v.print(v.text())
	}
}

// earlierStand orders places as they were read.
func earlierStand(a, b merge.Stand) int {
	return cmp.Or(cmp.Compare(a.Source, b.Source), cmp.Compare(a.At, b.At))
}
