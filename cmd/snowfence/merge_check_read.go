package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/engine"
	"snowfence.example/snowfence/cmd/snowfence/internal/idsource"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
	"snowfence.example/snowfence/cmd/snowfence/internal/text"
	"snowfence.example/snowfence/internal/roster"
)

// inputs are the sources of all sides, in their order.
func (v *merging) inputs(sides []merge.Side) ([]merge.Input, error) {
	var inputs []merge.Input
	var places []idsource.Place
	for n, side := range sides {
		for _, data := range side.Data {
			place, err := idsource.ParsePlace(data)
			if err != nil {
				return nil, usage(v.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			input, err := v.input(place)
			if err != nil {
				return nil, sourceFault(v.cmd, &merge.SideError{Side: side.Name, Reason: err})
			}
			inputs, places = append(inputs, merge.Input{Side: n, Input: input}), append(places, place)
		}
	}
	if err := oneStream(places); err != nil {
		return nil, usage(v.cmd, err)
	}
	return inputs, nil
}

// issuersOf returns the systems that issue the ids of a side.
func (v *merging) issuersOf(ctx context.Context, side merge.Side) ([]*merge.Issuer, error) {
	var issuers []*merge.Issuer
	for _, n := range side.Namespaces {
		i, err := v.namespaceIssuer(ctx, side.Name, n)
		if err != nil {
			return nil, err
		}
		var odd []string
		if n := len(i.Unreadable); n > 0 {
			odd = append(odd, text.Count(n, "register")+" can't be read and "+text.Plural(n, "is", "are")+" taken to have stamped anything")
		}
		if i.Strays > 0 {
			odd = append(odd, text.Count(i.Strays, "key")+" "+text.Plural(i.Strays, "is no worker id", "are no worker ids"))
		}
		if len(odd) > 0 {
			v.warn(fmt.Sprintf("side %s: %s: %s: see namespace verify", side.Name, i.Name, strings.Join(odd, ", ")))
		}
		issuers = append(issuers, i)
	}
	for _, f := range side.Layouts {
		issuers = append(issuers, merge.ForeignIssuer(side.Name, f, v.clock.Wall()))
	}
	return issuers, nil
}

// namespaceIssuer reads the registers of a namespace.
func (v *merging) namespaceIssuer(ctx context.Context, side string, n merge.Namespace) (*merge.Issuer, error) {
	url, err := config.Expand(n.Store, v.environ)
	if err == nil {
		err = engine.Check(url)
	}
	if err != nil {
		return nil, usage(v.cmd, &merge.SideError{Side: side, Reason: err})
	}
	// The URL before its variables are filled in: one may stand for a password.
	shown := engine.Redact(n.Store)
	if engine.Private(url) {
		v.warn("side " + side + ": the store " + idsource.Shown(shown) + " is of this process alone: it has nothing to show")
	}
	opened, err := engine.OpenExisting(ctx, url)
	if err != nil {
		return nil, unavailable(&merge.SideError{Side: side, Reason: err})
	}
	defer v.closing("close store: ", opened.Close)
	var i *merge.Issuer
	r, err := roster.Open(ctx, roster.Config{Store: opened, Namespace: n.Name, Clock: v.clock})
	if err == nil {
		i, err = merge.IssuerOf(ctx, side, shown, r)
	}
	if err == nil {
		i.Name = idsource.Shown(i.Name)
		return i, nil
	}
	err = &merge.SideError{Side: side + ": " + idsource.Shown(shown), Reason: err}
	switch snowfence.ClassOf(errors.Unwrap(err)) {
	case snowfence.ClassFinal, snowfence.ClassUsage:
		return nil, usage(v.cmd, err) // exit code 1 is a verdict: a namespace that is not there is a mistake in the side
	}
	return nil, err
}
