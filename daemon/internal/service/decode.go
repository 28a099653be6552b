package service

import (
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/decode"
)

// Decode says what an id, in any encoding, means under a layout, by default the one that all
// generators share; or as an id of a generator, which can be opaque. Nothing is guessed, as
// programs read the answer. That is a [decode.Document], or a [*decode.Foreign] for a UUID, a ULID
// or an ObjectID without a layout, for a wide layout, and for a kind without layouts.
func (s *Service) Decode(id, layoutText, generator string) (any, error) {
	if generator != "" && layoutText != "" {
		return nil, invalid(InvalidLayout, "layout", layoutText, "must be left out beside generator")
	} else if generator != "" {
		return s.decodeOf(generator, id)
	}
	layout, wrong := s.decodeLayout(layoutText)
	if wrong == nil && layout.Wide {
		f, err := decode.ReadWide(id, layout)
		if err == nil {
			return f, nil
		} else if layoutText != "" {
			return nil, invalid(InvalidID, "id", id, reason(err))
		}
	}
	if layoutText == "" {
		if f, err := decode.ReadForeign(id); err != nil {
			return nil, invalid(InvalidID, "id", id, reason(err))
		} else if f != nil {
			return f, nil
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	r, err := decode.Under(id, "", layout)
	if err != nil {
		return nil, invalid(InvalidID, "id", id, reason(err))
	}
	return r.Document(), nil
}

// parts takes an id apart by the layout that all generators share.
func (s *Service) parts(id string) (snowfence.Layout, snowfence.Parts, error) {
	layout, err := s.decodeLayout("")
	if err != nil {
		return snowfence.Layout{}, snowfence.Parts{}, err
	}
	r, err := decode.Under(id, "", layout)
	if err != nil {
		return snowfence.Layout{}, snowfence.Parts{}, invalid(InvalidID, "id", id, reason(err))
	}
	return r.Layout, r.Parts, nil
}

// decodeOf says what an id of a generator means, or a text of an opaque one.
func (s *Service) decodeOf(name, text string) (any, error) {
	g, err := s.find(name)
	if err != nil {
		return nil, err
	}
	id := text
	if !g.settings.Fenced() {
		minter, problem := g.serving()
		if problem != nil {
			return nil, s.problem(g, problem)
		}
		if o, ok := minter.(shower); ok {
			id, err = o.Read(text)
			g = s.generators[o.Of()]
		}
	}
	var r decode.Result
	var f *decode.Foreign
	if err == nil {
		c := g.settings
		r, f, err = decode.Of(id, "", decode.Source{Generator: g.name, Layout: g.layout(), Kind: c.Kind, Format: s.formats[c.Kind], Settings: c.Settings})
	}
	switch {
	case err != nil:
		return nil, invalid(InvalidID, "id", text, reason(err))
	case f != nil:
		return f, nil
	}
	return r.Document(), nil
}

func (s *Service) decodeLayout(text string) (snowfence.Layout, error) {
	if text == "" {
		layout, ok := s.layout()
		if !ok {
			return layout, invalid(InvalidLayout, "layout", text, "must be given, or else the generator, as the generators have no layout in common")
		}
		return layout, nil
	}
	layout, err := snowfence.ParseLayout(text)
	if err != nil {
		return layout, invalid(InvalidLayout, "layout", text, reason(err))
	}
	return layout, nil
}

// reason is what is wrong with an id or a layout, without the text itself.
func reason(err error) string {
	if id, ok := errors.AsType[*snowfence.IDError](err); ok {
		return id.Reason
	}
	var syntax *snowfence.LayoutSyntaxError
	switch {
	case errors.As(err, &syntax) && syntax.Token != "":
		return fmt.Sprintf("%q at offset %d %s", syntax.Token, syntax.Offset, syntax.Reason)
	case errors.As(err, &syntax):
		return syntax.Reason
	}
	return strings.TrimPrefix(err.Error(), snowfence.ErrInvalidLayout.Error()+": ")
}
