package page

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/decode"
)

// Decoded ids are looked for in at most so many generators and namespaces.
const (
	maxGenerators = 16
	maxOwners     = 8
)

// document is an id that was decoded: a [decode.Document] or a [*decode.Foreign].
type document interface {
	Spans() []decode.Span
	Stamp() decode.Stamp
}

// decode says what the query's id is. Without a generator it takes the reading that says most.
func (p *Page) decode(r *http.Request, c front.Client) (*Decoded, error) {
	q := r.URL.Query()
	text, name := strings.TrimSpace(q.Get("id")), q.Get("generator")
	if text == "" {
		return nil, &QueryError{"id", "", "must be an id"}
	}
	s, err := p.snapshot(r.Context())
	if err != nil {
		return nil, err
	}
	answer, err := c.Decode(text, "", name)
	best, _ := answer.(document)
	d := &Decoded{Text: text, Written: [][2]string{}, Owners: []Owner{}}
	if name == "" && weight(best) < 3 {
		for _, g := range s.state.Generators[:min(len(s.state.Generators), maxGenerators)] {
			other, failed := c.Decode(text, "", g.Name)
			of, _ := other.(document)
			switch rank := weight(of); {
			case failed != nil:
			case rank > weight(best):
				best, err, d.Others = of, nil, nil
			case rank == weight(best):
				d.Others = append(d.Others, g.Name)
			}
		}
	}
	if best == nil {
		return nil, err
	}
	d.fill(best, p)
	if !best.Stamp().Layout.IsZero() {
		p.owners(r.Context(), s.state, d, best.Stamp())
	}
	return d, nil
}

// weight is how much a reading says.
func weight(of document) int {
	switch f, _ := of.(*decode.Foreign); {
	case of == nil:
		return 0
	case !of.Stamp().Layout.IsZero():
		return 3
	case f != nil && f.Format == "text":
		return 1
	}
	return 2
}

// fill takes what the document says by itself.
func (d *Decoded) fill(from document, p *Page) {
	switch of := from.(type) {
	case decode.Document:
		e := of.Encodings
		d.ID, d.Format, d.About, d.Generator, d.Time = of.ID, "id", of.Layout, of.Generator, of.Time
		d.Written = append(d.Written, [][2]string{{"decimal", e.Decimal}, {"19 digits", e.FixedDecimal}, {"hex", e.Hex}, {"base32", e.Base32}, {"base62", e.Base62}}...)
	case *decode.Foreign:
		d.ID, d.Format, d.About, d.Generator, d.Time = of.ID, of.Format, of.About, of.Generator, of.Time
		d.Written = append(d.Written, [2]string{"hex", of.Hex})
		if !of.At.IsZero() {
			d.Relative = decode.Relative(of.At, p.Clock.Wall())
		}
	}
	d.Fields = append([]decode.Span{}, from.Spans()...)
	for _, f := range d.Fields {
		d.Bits += f.Bits
	}
	if s := from.Stamp(); !s.Layout.IsZero() {
		d.Worker, d.Tick, d.Relative = &s.Worker, strconv.FormatInt(int64(s.Tick), 10), decode.Relative(s.At, p.Clock.Wall())
	}
}

// owners finds the registers of the id's worker id: in the generator's namespace, or in all that have the layout.
func (p *Page) owners(ctx context.Context, s view.State, d *Decoded, stamp decode.Stamp) {
	for _, ns := range s.Namespaces {
		of := ns.Layout == stamp.Layout.String()
		for _, g := range s.Generators {
			if d.Generator != "" && g.Name == d.Generator {
				of = g.Namespace == ns.Name && g.Store == ns.Store
			}
		}
		if !of || len(d.Owners) == maxOwners {
			continue
		}
		o := Owner{Store: ns.Store, Namespace: ns.Name}
		list, err := p.Source.Workers(ctx, ns.Store, ns.Name, stamp.Worker, stamp.Worker+1)
		switch {
		case err != nil:
			o.Error = err.Error()
		case len(list) == 0 || list[0].Number != stamp.Worker:
			o.Error = fmt.Sprintf("the register of worker id %d was not read", stamp.Worker)
		default:
			o.Worker = list[0]
			o.judge(stamp)
		}
		d.Owners = append(d.Owners, o)
	}
}

// judge says whether the register's term has the tick.
func (o *Owner) judge(stamp decode.Stamp) {
	w := o.Worker
	o.Covers = w.Host != "" && !stamp.At.Before(w.From) && stamp.At.Before(w.Until)
	switch {
	case o.Covers:
		o.Text = fmt.Sprintf("Term %d of worker id %d has this tick: host %s, process %d.", w.Term, w.Number, w.Host, w.PID)
	case w.Until.IsZero():
		o.Text = fmt.Sprintf("Worker id %d was never held here: the id is of another namespace.", w.Number)
	case stamp.At.Before(w.Until):
		o.Text = fmt.Sprintf("An earlier term of worker id %d may have minted it. The register has its last term alone.", w.Number)
	default:
		o.Text = fmt.Sprintf("No term of worker id %d has this tick yet: the id is of another namespace.", w.Number)
	}
}
