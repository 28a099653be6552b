package compat

import (
	"bytes"
	"html/template"
	"net/http"

	"snowfence.example/snowfence/daemon/internal/front"
)

// page is a table.
type page struct {
	Title  string
	Header []string
	Rows   [][]any
}

const pageText = `<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{{.Title}}</title></head><body>
<table border="1">
<thead><tr>{{range .Header}}<th>{{.}}</th>{{end}}</tr></thead>
<tbody>
{{range .Rows}}<tr>{{range .}}<td>{{.}}</td>{{end}}</tr>
{{end}}</tbody>
</table>
</body></html>
`

func (p page) answer() (Answer, error) {
	t, err := template.New("").Parse(pageText)
	if err != nil {
		return Answer{}, err
	}
	var body bytes.Buffer
	if err := t.Execute(&body, p); err != nil {
		return Answer{}, err
	}
	return Answer{http.StatusOK, "text/html;charset=UTF-8", body.Bytes()}, nil
}

// LeafCache answers with the segments that each generator has in hand.
func LeafCache(_ *http.Request, client front.Client) (Answer, error) {
	statuses, err := client.Statuses()
	if err != nil {
		return Answer{}, err
	}
	p := page{Title: "cache", Header: []string{"name", "init", "next", "pos", "value0", "max0", "step0", "value1", "max1", "step1"}}
	for _, s := range statuses {
		if s.Counter == nil || len(s.Counter.Held) == 0 {
			continue
		}
		row := []any{s.Name, true, len(s.Counter.Held) > 1, 0}
		for i := range 2 { // Leaf has two
			if i >= len(s.Counter.Held) {
				row = append(row, 0, 0, 0)
				continue
			}
			r := s.Counter.Held[i]
			row = append(row, r.First, r.First+r.Count*r.Increment, r.Count*r.Increment)
		}
		p.Rows = append(p.Rows, row)
	}
	return p.answer()
}

// LeafDB answers with the rows of leaf_alloc that generators count on.
func LeafDB(r *http.Request, client front.Client) (Answer, error) {
	rows, err := client.LeafRows(r.Context())
	if err != nil {
		return Answer{}, err
	}
	p := page{Title: "db", Header: []string{"tag", "max", "step", "update"}}
	for _, r := range rows {
		p.Rows = append(p.Rows, []any{r.Tag, r.MaxID, r.Step, r.Updated})
	}
	return p.answer()
}
