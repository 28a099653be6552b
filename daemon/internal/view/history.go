package view

import (
	"slices"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// rateFor is the least time that a rate is of.
const rateFor = 10 * time.Second

// totals are the counts since the start.
type totals struct {
	at           time.Duration // by the monotonic clock
	wall         time.Time
	ids, refused map[string]uint64 // by generator
	stores       map[string]Requests
}

func (v *View) total(statuses []front.Status) totals {
	t := totals{v.config.Clock.Monotonic(), v.config.Clock.Wall(), map[string]uint64{}, map[string]uint64{}, v.config.Requests()}
	for _, s := range statuses {
		t.ids[s.Name] = s.IDs
		for _, n := range s.Problems {
			t.refused[s.Name] += n
		}
	}
	return t
}

// mark notes totals, and returns the totals of ten seconds before, or of up to twenty after a pause.
func (v *View) mark(now totals) totals {
	v.mu.Lock()
	defer v.mu.Unlock()
	for len(v.marks) > 1 && now.at-v.marks[1].at >= rateFor {
		v.marks = slices.Delete(v.marks, 0, 1)
	}
	if n := len(v.marks); n == 0 || now.at-v.marks[n-1].at >= time.Second {
		v.marks = append(v.marks, now)
	}
	return v.marks[0]
}

// since is how many a second there were from one total to another.
func (t totals) since(before totals, n, was uint64) float64 {
	return float64(n-was) / max((t.at-before.at).Seconds(), 1)
}

// sample takes a point of the history.
func (v *View) sample() {
	now := v.total(v.config.Service.Statuses())
	v.mark(now)
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.hour) > int(HistoryFor/HistoryStep) {
		v.hour = slices.Delete(v.hour, 0, 1)
	}
	v.hour = append(v.hour, now)
}

// History returns the last hour.
func (v *View) History() History {
	v.mu.Lock()
	hour := slices.Clone(v.hour)
	v.mu.Unlock()
	steps := max(len(hour)-1, 0)
	h := History{make([]int64, steps), map[string][]*float64{}, map[string][]*float64{}, map[string][]*float64{}, map[string][]*float64{}}
	for i := range steps {
		was, now := hour[i], hour[i+1]
		h.Times[i] = now.wall.Unix()
		put := func(series map[string][]*float64, name string, value float64) {
			if series[name] == nil {
				series[name] = make([]*float64, steps)
			}
			series[name][i] = &value
		}
		for name := range now.ids {
			put(h.Rates, name, now.since(was, now.ids[name], was.ids[name]))
			put(h.Refused, name, now.since(was, now.refused[name], was.refused[name]))
		}
		for name, r := range now.stores {
			before := was.stores[name]
			put(h.Errors, name, float64(r.Failed-before.Failed))
			if n := r.Answered - before.Answered; n > 0 {
				put(h.StoreMS, name, *milliseconds((r.Took - before.Took) / time.Duration(n)))
			}
		}
	}
	return h
}
