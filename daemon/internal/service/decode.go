package service

import (
	"errors"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/internal/decode"
)

// Decode implements [front.Client]. Nothing is guessed, as programs read the answer. That is a [*decode.Document].
func (c *Client) Decode(id, layoutText, generator string) (any, error) {
	if generator != "" {
		return c.decodeOf(id, layoutText, generator)
	}
	if err := c.payForDecoding(); err != nil {
		return nil, err
	}
	layout, wrong := c.service.decodeLayout(layoutText)
	if wrong == nil && layout.Wide {
		d, err := decode.ReadWide(id, layout)
		if err == nil {
			return d, nil
		} else if layoutText != "" {
			return nil, front.InvalidID.Field("id", id, reason(err))
		}
	}
	if layoutText == "" {
		if d, err := decode.ReadForeign(id); err != nil {
			return nil, front.InvalidID.Field("id", id, reason(err))
		} else if d != nil {
			return d, nil
		}
	}
	if wrong != nil {
		return nil, wrong
	}
	d, err := decode.Under(id, "", layout)
	if err != nil {
		return nil, front.InvalidID.Field("id", id, reason(err))
	}
	return d, nil
}

// Parts implements [front.Client].
func (c *Client) Parts(id string) (snowfence.Layout, snowfence.Parts, error) {
	err := c.payForDecoding()
	var layout snowfence.Layout
	if err == nil {
		layout, err = c.service.decodeLayout("")
	}
	if err != nil {
		return snowfence.Layout{}, snowfence.Parts{}, err
	}
	d, err := decode.Under(id, "", layout)
	if err != nil {
		return snowfence.Layout{}, snowfence.Parts{}, front.InvalidID.Field("id", id, reason(err))
	}
	return d.By, d.Parts, nil
}

// payForDecoding takes the price of an id that is decoded without a generator.
func (c *Client) payForDecoding() error {
	if err := c.known(); err != nil {
		return err
	}
	return c.pay(nil, 1)
}

// decodeOf decodes an id of a generator, or a text of an opaque generator.
func (c *Client) decodeOf(text, layout, name string) (any, error) {
	u, err := c.find(name)
	if err == nil {
		err = c.pay(u.of, 1)
	}
	switch {
	case err != nil:
		return nil, err
	case layout != "":
		return nil, front.InvalidLayout.Field("layout", layout, "must be left out beside generator")
	}
	g, id := u.of, text
	if g.settings.Layout.IsZero() { // a kind without layouts: only its minter shows whether it is opaque
		if p := g.away(u.m); p != nil {
			return nil, u.problem(p)
		}
		if u.m.of != nil {
			g = u.m.of
			id, err = u.m.caps.Shows.Read(text)
		}
	}
	var d *decode.Document
	if err == nil {
		of := g.settings
		d, err = decode.Of(id, "", decode.Source{Generator: g.name, Layout: g.layout(), Kind: of.Kind, Format: c.service.formats[of.Kind], Settings: of.Settings})
	}
	if err != nil {
		return nil, front.InvalidID.Field("id", text, reason(err))
	}
	return d, nil
}

func (s *Service) decodeLayout(text string) (snowfence.Layout, error) {
	if text == "" {
		layout, ok := s.layout()
		if !ok {
			return layout, front.InvalidLayout.Field("layout", text, "must be given, or else the generator, as the generators have no layout in common")
		}
		return layout, nil
	}
	layout, err := config.ParseLayout(text)
	if err != nil {
		return layout, front.InvalidLayout.Field("layout", text, reason(err))
	}
	return layout, nil
}

// reason returns the fault of an id or a layout, without the text itself.
func reason(err error) string {
	if id, ok := errors.AsType[*snowfence.IDError](err); ok {
		return id.Reason
	}
	return strings.TrimPrefix(err.Error(), snowfence.ErrInvalidLayout.Error()+": ")
}
