package page

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/stored"
)

// An id is looked for in at most so many generators and namespaces.
const (
	maxGenerators = 16
	maxOwners     = 8
)

// patience is how long the registers of all readings of an id are waited for, together.
const patience = 2 * time.Second

// decode reads the query's id. Without a generator it takes the likeliest reading: of the past, and covered by a register.
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
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()
	d, err := read(c, text, name)
	best := p.reading(ctx, s.state, d)
	if name == "" && best.WorkerID == nil {
		for _, g := range s.state.Generators[:min(len(s.state.Generators), maxGenerators)] {
			d, failed := read(c, text, g.Name)
			switch other := p.reading(ctx, s.state, d); {
			case failed != nil || other.weight < best.weight:
			case other.weight == best.weight:
				best.Others = append(best.Others, g.Name)
			default:
				best, err = other, nil
			}
		}
	}
	if err != nil {
		return nil, err
	}
	best.Text = text
	return best, nil
}

// soon is how far ahead of this clock an id may be made: clocks are off by less.
const soon = stored.ClockTolerance

// reading finds whose an id may be. One of the past whose register covers it weighs most.
func (p *Page) reading(ctx context.Context, s view.State, of decode.Document) *Decoded {
	d := &Decoded{Document: of, Owners: []Owner{}, weight: weight(of)}
	now := p.Clock.Wall()
	if !d.At.IsZero() {
		d.Relative = decode.Relative(d.At, now)
	}
	if !d.By.IsZero() {
		number := d.Parts.Datacenter<<d.By.Bits(snowfence.Worker) | d.Parts.Worker
		d.WorkerID = &number
	}
	d.explain()
	if d.WorkerID == nil {
		return d
	}
	p.owners(ctx, s, d)
	if d.At.Before(now.Add(soon)) {
		d.weight++
	}
	if slices.ContainsFunc(d.Owners, func(o Owner) bool { return o.Covers }) {
		d.weight += 2
	}
	return d
}

// explain makes texts of the values, as numbers of scripts end at 2^53, and adds what fields mean.
func (d *Decoded) explain() {
	at := d.Time // a time that has several fields is shown once
	for i := range d.Fields {
		f := &d.Fields[i]
		switch f.Value = fmt.Sprint(f.Value); f.Kind {
		case "time":
			f.Meaning, at = at, ""
		case "datacenter", "worker":
			f.Meaning = fmt.Sprintf("of worker id %d", *d.WorkerID)
		}
	}
}

// read decodes an id for a client.
func read(c front.Client, text, generator string) (decode.Document, error) {
	answer, err := c.Decode(text, "", generator)
	if d, ok := answer.(*decode.Document); ok && err == nil {
		return *d, nil
	}
	return decode.Document{}, err
}

// weight is how much a reading shows.
func weight(d decode.Document) int {
	switch {
	case !d.By.IsZero():
		return 3
	case d.Bits() > 0:
		return 2
	case d.Format != "":
		return 1
	}
	return 0
}

// owners finds the registers of the id's worker id: in the generator's namespace, or in all that have the layout.
func (p *Page) owners(ctx context.Context, s view.State, d *Decoded) {
	number := *d.WorkerID
	for _, ns := range s.Namespaces {
		of := ns.Layout == d.Layout
		for _, g := range s.Generators {
			if g.Name == d.Generator {
				of = g.Namespace == ns.Name && g.Store == ns.Store
			}
		}
		if !of || len(d.Owners) == maxOwners {
			continue
		}
		o := Owner{Store: ns.Store, Namespace: ns.Name}
		list, err := p.Source.Workers(ctx, ns.Store, ns.Name, number, number)
		switch {
		case err != nil:
			o.Error = err.Error()
		case len(list) == 0 || list[0].Number != number:
			o.Error = fmt.Sprintf("the register of worker id %d was not read", number)
		default:
			o.judge(list[0], d)
		}
		d.Owners = append(d.Owners, o)
	}
}

// judge decides whether the register's term has the id's tick.
func (o *Owner) judge(w view.Worker, d *Decoded) {
	o.Worker = w
	o.Covers = w.Host != "" && !d.At.Before(w.From) && d.At.Before(w.Until)
	switch {
	case o.Covers:
		o.Text = fmt.Sprintf("Term %d of worker id %d has this tick: host %s, process %d.", w.Term, w.Number, w.Host, w.PID)
	case w.Until.IsZero():
		o.Text = fmt.Sprintf("Worker id %d was never held here: the id is of another namespace.", w.Number)
	case d.At.Before(w.From) && w.Term == 1:
		o.Text = fmt.Sprintf("Worker id %d was first held later: the id is of another namespace, or a clock was wrong.", w.Number)
	case d.At.Before(w.Until):
		o.Text = fmt.Sprintf("An earlier term of worker id %d may have minted it. The register has its last term alone.", w.Number)
	default:
		o.Text = fmt.Sprintf("No term of worker id %d has this tick yet: the id is of another namespace, or a clock was wrong.", w.Number)
	}
}
