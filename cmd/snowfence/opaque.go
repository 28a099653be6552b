package main

import (
	"context"
	"errors"

	"snowfence.example/snowfence/daemon/builtin"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/internal/decode"
)

// kindOpaque is the kind of the generators that show the ids of others.
const kindOpaque = "opaque"

// show returns the texts of ids as an opaque generator shows them. No ids stand for n new ones.
func (p program) show(ctx context.Context, c config.Config, name string, ids []string, n int) ([]string, error) {
	o, err := p.counted(c).OpenOpaque(ctx, name)
	if err != nil {
		return nil, err
	}
	if len(ids) == 0 {
		if ids, err = p.mintTexts(ctx, c, o.Of(), n); err != nil {
			return nil, err
		}
	}
	for i := range ids {
		if ids[i], err = o.Show(ids[i]); err != nil {
			return nil, err
		}
	}
	return ids, nil
}

// ofGenerator has the verb decode the ids of a generator, or the texts of an opaque one.
func (v *decodeVerb) ofGenerator(ctx context.Context, s *settings, name string) error {
	c, err := s.load(v.program)
	if err != nil {
		return err
	}
	name, g, err := chooseGenerator(c, name)
	if err == nil && (v.source != nil || v.encoding != "") {
		err = errors.New("--generator says what the ids are: leave --layout and --encoding out")
	}
	if err != nil {
		return usage(s.cmd, err)
	}
	if g.Kind == kindOpaque {
		if v.opaque, err = v.counted(c).OpenOpaque(ctx, name); err != nil {
			return err
		}
		name, v.encoding = v.opaque.Of(), decode.Decimal
		g = c.Generators[name]
	}
	layout, err := v.layoutOf(ctx, c, name)
	if err != nil {
		return err
	}
	v.source = &decode.Source{Generator: name, Layout: layout, Kind: g.Kind, Format: builtin.Formats()[g.Kind], Settings: g.Settings}
	return nil
}
