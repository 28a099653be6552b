package registers

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/counter"
)

// Counter is a counter in JSON.
type Counter struct {
	Type      string `json:"type"` // "counter"
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"`
	Start     string `json:"start"`
	Increment string `json:"increment"`
	Limit     string `json:"limit"`
	Zone      string `json:"zone,omitempty"`
	Digits    int    `json:"digits,omitempty"`
	Next      []Lane `json:"next"`
	Created   string `json:"created"`
	Written   string `json:"written"`
	By        string `json:"by"`
}

// Lane is the next number of a counter, or of one date.
type Lane struct {
	Date string `json:"date,omitempty"`
	Next string `json:"next"`
}

// CounterOf returns a counter as JSON has it.
func CounterOf(i counter.Info) Counter {
	d := Counter{
		Type: "counter", Namespace: i.Namespace, Name: i.Name, Kind: i.Kind,
		Start: fmt.Sprint(i.Start), Increment: fmt.Sprint(i.Increment), Limit: fmt.Sprint(i.Limit), Zone: i.Zone, Digits: i.Digits,
		Created: i.Created.UTC().Format(time.RFC3339), Written: i.Written.UTC().Format(time.RFC3339), By: i.Process.String(),
	}
	for _, lane := range i.Lanes {
		d.Next = append(d.Next, Lane{lane.Name, fmt.Sprint(lane.Next)})
	}
	return d
}

// CounterColumns are those of a table of counters.
const CounterColumns = "counter,kind,date,next,limit,written,by"

// CounterRows are the rows of a counter, one for each number that is next. Cells stand in front of each.
func CounterRows(i counter.Info, cells ...string) [][]string {
	var rows [][]string
	for _, lane := range i.Lanes {
		rows = append(rows, slices.Concat(cells, []string{
			i.Name, i.Kind, lane.Name, fmt.Sprint(lane.Next), fmt.Sprint(i.Limit), i.Written.UTC().Format(time.RFC3339), i.Process.String(),
		}))
	}
	return rows
}

// CounterText is a counter in full.
func CounterText(i counter.Info) string {
	var b strings.Builder
	fmt.Fprintf(&b, "counter   %s, a %s of namespace %s\nnumbers   from %d by %d up to %d\n", i.Name, i.Kind, i.Namespace, i.Start, i.Increment, i.Limit)
	if i.Digits > 0 {
		fmt.Fprintf(&b, "dates     of %s, %d digits\n", i.Zone, i.Digits)
	}
	for _, lane := range i.Lanes {
		fmt.Fprintf(&b, "next      %s\n", strings.TrimSpace(lane.Name+" "+strconv.FormatInt(lane.Next, 10)))
	}
	fmt.Fprintf(&b, "created   %s\nwritten   %s by %s\n", i.Created.UTC().Format(time.RFC3339), i.Written.UTC().Format(time.RFC3339), i.Process)
	return b.String()
}
