package main

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/merge"
)

// mergeDocument is what merge-check prints in JSON.
type mergeDocument struct {
	Verdict   verdict                 `json:"verdict"`
	Summary   string                  `json:"summary"`
	Sides     []mergeSideDocument     `json:"sides"`
	Data      *mergeDataDocument      `json:"data,omitempty"` // with ids on two sides or more
	Strays    []mergeStraysDocument   `json:"strays"`
	Forecasts []mergeForecastDocument `json:"forecasts"`
}

type mergeSideDocument struct {
	Name         string                `json:"name"`
	IDs          uint64                `json:"ids"`
	Sources      []mergeSourceDocument `json:"sources"`
	Issuers      []mergeIssuerDocument `json:"issuers"`
	Clashing     uint64                `json:"clashing_ids"`
	ClashingRows uint64                `json:"clashing_rows"`
	Twice        uint64                `json:"ids_twice_on_this_side"`
}

type mergeSourceDocument struct {
	Source       string `json:"source"`
	IDs          uint64 `json:"ids"`
	Skipped      uint64 `json:"skipped"`
	ClashingRows uint64 `json:"clashing_rows"`
}

type mergeIssuerDocument struct {
	Issuer      string  `json:"issuer"`
	Layout      string  `json:"layout"`
	Namespace   string  `json:"namespace,omitempty"`
	Store       string  `json:"store,omitempty"`
	Datacenters []int64 `json:"datacenters"`
	Quarantined []int64 `json:"quarantined"`
	Unreadable  []int64 `json:"unreadable"`
}

type mergeDataDocument struct {
	Clashing uint64                 `json:"clashing_ids"`
	Renumber uint64                 `json:"rows_to_renumber"`
	Fewest   string                 `json:"fewest_on,omitempty"` // of two sides
	Between  []mergeBetweenDocument `json:"between"`
	Runs     []mergeRunsDocument    `json:"runs"`
	First    []mergeClashDocument   `json:"first"`
}

type mergeBetweenDocument struct {
	Sides [2]string `json:"sides"`
	IDs   uint64    `json:"ids"`
}

type mergeRunsDocument struct {
	Layout  string             `json:"layout,omitempty"`
	Gap     float64            `json:"gap_seconds,omitempty"`
	Apart   uint64             `json:"gap_numbers,omitempty"`
	All     int                `json:"all"`
	Outside uint64             `json:"ids_outside_layout"`
	List    []mergeRunDocument `json:"list"`
}

type mergeRunDocument struct {
	Worker *int64   `json:"worker,omitempty"`
	Sides  []string `json:"sides"`
	First  string   `json:"first"`
	Last   string   `json:"last"`
	From   string   `json:"from,omitempty"`
	To     string   `json:"to,omitempty"`
	IDs    uint64   `json:"ids"`
}

type mergeClashDocument struct {
	ID     string               `json:"id"`
	Rows   uint64               `json:"rows"`
	Stands []mergeStandDocument `json:"stands"`
}

type mergeStandDocument struct {
	Side   string `json:"side"`
	Source string `json:"source"`
	Place  string `json:"place"`
}

type mergeStraysDocument struct {
	Side    string               `json:"side"`
	Issuer  string               `json:"issuer"`
	Own     bool                 `json:"own"`
	Used    uint64               `json:"ids_maybe_issued"`
	Open    uint64               `json:"ids_still_to_issue"`
	Below   uint64               `json:"ids_below_bounds"` // of those, with own
	Workers []mergeStrayDocument `json:"workers"`
	Command string               `json:"command,omitempty"`
	Text    string               `json:"text,omitempty"`
}

type mergeStrayDocument struct {
	Worker int64    `json:"worker"`
	IDs    uint64   `json:"ids"`
	First  string   `json:"first"`
	Last   string   `json:"last"`
	Until  *instant `json:"until"`
}

type mergeForecastDocument struct {
	Sides     [2]string             `json:"sides"`
	Issuers   [2]string             `json:"issuers"`
	Never     bool                  `json:"never"`
	FromNowOn string                `json:"possible_from,omitempty"` // of ids that are still to come
	Chances   []mergeChanceDocument `json:"chances"`
	Sentences []string              `json:"sentences"`
	Advice    []string              `json:"advice"`
	Within    bool                  `json:"within_side"` // both are of one side
}

type mergeChanceDocument struct {
	Moments  [2]merge.Moment         `json:"moments"`
	Recorded bool                    `json:"in_present_terms"`
	At       string                  `json:"at"`
	ID       string                  `json:"id"`
	Stamps   [2]mergeStampedDocument `json:"stamps"`
}

type mergeStampedDocument struct {
	Worker int64    `json:"worker"`
	At     *instant `json:"at"`
}

// document is all of it.
func (v *merging) document() mergeDocument {
	d := mergeDocument{
		Verdict: v.verdict(), Summary: v.summary(),
		Sides: []mergeSideDocument{}, Strays: []mergeStraysDocument{}, Forecasts: []mergeForecastDocument{},
	}
	for i := range v.sides {
		d.Sides = append(d.Sides, v.sideDocument(i))
	}
	if v.tally != nil {
		d.Data = v.dataDocument()
	}
	for _, s := range v.strays {
		d.Strays = append(d.Strays, straysDocument(s))
	}
	for _, f := range v.forecasts {
		d.Forecasts = append(d.Forecasts, forecastDocument(f))
	}
	return d
}

func (v *merging) sideDocument(side int) mergeSideDocument {
	d := mergeSideDocument{Name: v.sides[side].Name, IDs: v.rowsOf(side), Sources: []mergeSourceDocument{}, Issuers: []mergeIssuerDocument{}}
	if v.tally != nil {
		d.Clashing, d.ClashingRows, d.Twice = v.tally.Of[side], v.tally.RowsOf[side], v.tally.Twice[side]
	}
	for i, s := range v.sources {
		if s.side != side {
			continue
		}
		x := mergeSourceDocument{Source: s.name, IDs: s.rows, Skipped: s.skipped}
		if v.tally != nil {
			x.ClashingRows = v.tally.RowsIn[i]
		}
		d.Sources = append(d.Sources, x)
	}
	for _, i := range v.issuers {
		if i.Side == d.Name {
			d.Issuers = append(d.Issuers, mergeIssuerDocument{i.Name, i.Layout.String(), i.Namespace, i.Store, orEmpty(i.Datacenters), orEmpty(i.Quarantined), orEmpty(i.Unreadable)})
		}
	}
	return d
}

// orEmpty makes an empty list of none, for JSON.
func orEmpty[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (v *merging) dataDocument() *mergeDataDocument {
	t := v.tally
	d := &mergeDataDocument{Clashing: t.Clashing, Renumber: t.Renumber, Between: []mergeBetweenDocument{}, Runs: []mergeRunsDocument{}, First: []mergeClashDocument{}}
	if side, _, ok := t.Fewest(); ok {
		d.Fewest = v.sides[side].Name
	}
	for _, pair := range v.pairs() {
		d.Between = append(d.Between, mergeBetweenDocument{[2]string{v.sides[pair[0]].Name, v.sides[pair[1]].Name}, t.Between[pair]})
	}
	for _, runs := range t.Runs() {
		x := mergeRunsDocument{Gap: runs.Gap.Seconds(), Apart: runs.Apart, All: runs.All, Outside: runs.Outside, List: []mergeRunDocument{}}
		if runs.Layout != nil {
			x.Layout = runs.Layout.String()
		}
		for _, r := range runs.List {
			run := mergeRunDocument{First: r.First.String(), Last: r.Last.String(), IDs: r.IDs}
			if r.Worker != merge.NoWorker {
				run.Worker = &r.Worker
			}
			for i, side := range v.sides {
				if r.On(i) {
					run.Sides = append(run.Sides, side.Name)
				}
			}
			if runs.Layout != nil {
				run.From, run.To = r.From.Format(time.RFC3339Nano), r.To.Format(time.RFC3339Nano)
			}
			x.List = append(x.List, run)
		}
		d.Runs = append(d.Runs, x)
	}
	for _, c := range t.First {
		x := mergeClashDocument{ID: c.ID.String(), Rows: c.Rows}
		for _, s := range c.Stands {
			x.Stands = append(x.Stands, mergeStandDocument{v.sides[s.Side].Name, v.sources[s.Source].name, v.sources[s.Source].place(s.At)})
		}
		d.First = append(d.First, x)
	}
	return d
}

func straysDocument(s *merge.Strays) mergeStraysDocument {
	d := mergeStraysDocument{Side: s.Side, Issuer: s.Issuer.Name, Own: s.Own, Used: s.Used, Open: s.Open, Below: s.Below, Workers: []mergeStrayDocument{}}
	for _, w := range s.Workers() {
		tick, _ := lastOf(s, w)
		d.Workers = append(d.Workers, mergeStrayDocument{w.Worker, w.Open, w.First.String(), w.Last.String(), instantOf(s.Issuer.Layout, tick)})
	}
	if r, ok := s.Remedy(); ok {
		d.Command, d.Text = r.Command, r.Text
	}
	return d
}

func forecastDocument(f merge.Forecast) mergeForecastDocument {
	d := mergeForecastDocument{
		Sides: [2]string{f.A.Side, f.B.Side}, Issuers: [2]string{f.A.Name, f.B.Name}, Within: f.Within(), Never: len(f.Chances) == 0,
		Chances: []mergeChanceDocument{}, Sentences: orEmpty(f.Sentences()), Advice: []string{},
	}
	if f.Possible() {
		d.FromNowOn = f.FromNow.Format(time.RFC3339Nano)
	}
	for _, a := range f.Advice() {
		d.Advice = append(d.Advice, a.String())
	}
	stamped := func(l snowfence.Layout, worker int64, tick snowfence.Tick) mergeStampedDocument {
		return mergeStampedDocument{worker, instantOf(l, tick)}
	}
	for _, c := range f.Chances {
		d.Chances = append(d.Chances, mergeChanceDocument{
			Moments: [2]merge.Moment{c.A, c.B}, Recorded: c.Recorded, At: c.First.At.Format(time.RFC3339Nano), ID: c.First.ID.String(),
			Stamps: [2]mergeStampedDocument{
				stamped(f.A.Layout, c.First.A.Worker, c.First.A.Tick),
				stamped(f.B.Layout, c.First.B.Worker, c.First.B.Tick),
			},
		})
	}
	return d
}
