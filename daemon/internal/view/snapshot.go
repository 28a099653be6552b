package view

import (
	"bytes"
	"cmp"
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
)

// A snapshot keeps a letter for each worker id, up to maxLetters, and the registers of maxRecords at
// most, with at most maxFree of free ones, for their last holders. It keeps all of this daemon's, and maxChanges.
const maxLetters, maxRecords, maxFree, maxChanges = 1 << 20, 20_000, 5_000, 100

// snapshot is a namespace as it was read. It does not change.
type snapshot struct {
	roster  *roster.Roster
	ours    stored.Process
	begun   time.Time // by the reference, before the first register was read
	census  roster.Census
	bin     int64  // worker ids of a letter
	letters []byte // as in Namespace.Cells
	records map[int64]roster.Worker
	free    int // registers of free worker ids
	late    int64
	ended   map[int64]bool // as in Worker.Ended
	offsets map[int64]offset
	middle  time.Duration // the median offset
	full    bool          // a register had no room
	changes []Change      // the latest first
	shown   Namespace
}

// offset is how far a holder's clock is ahead of the reference.
type offset struct {
	term         int64
	ahead, error time.Duration
	seen         time.Time // when its last write was seen, by the reference
}

// take reads the whole namespace. The registers that were not written since the snapshot before are not decoded again.
func (s *space) take(ctx context.Context, before *snapshot) (*snapshot, error) {
	config := roster.Config{Store: s.Store, Namespace: s.Namespace, Clock: s.clock}
	if before != nil {
		config.Known = before.records
	}
	r, err := roster.Open(ctx, config)
	if err != nil {
		return nil, err
	}
	size := r.Layout().Workers()
	x := &snapshot{
		roster: r, ours: s.ours, begun: r.Now(), census: r.Census(), bin: (size-1)/maxLetters + 1,
		records: map[int64]roster.Worker{}, offsets: map[int64]offset{}, ended: map[int64]bool{},
	}
	x.letters = bytes.Repeat([]byte{'.'}, int((size-1)/x.bin+1))
	read := s.clock.Wall().UTC()
	for w, err := range r.Workers(ctx) {
		if err != nil {
			return nil, err
		}
		r.Count(&x.census, w)
		x.add(w)
	}
	if before != nil {
		x.compare(before)
		x.findChanges(before, read)
	}
	x.findEnded()
	x.shown = x.namespace()
	x.shown.Read = read
	return x, nil
}

func (x *snapshot) layout() snowfence.Layout { return x.roster.Layout() }

// add notes a register.
func (x *snapshot) add(w roster.Worker) {
	if w.Number == roster.Stray {
		return
	}
	most := maxRecords
	if w.State == roster.Free {
		x.free++
		most = min(most, len(x.records)+maxFree-x.free+1)
	}
	x.mark(w.Number, x.letter(w))
	if len(x.records) < most || x.own(w) {
		w.Key = "" // which the number shows
		x.records[w.Number] = w
	} else {
		x.full = true
	}
}

// mark notes a letter of a worker id.
func (x *snapshot) mark(number int64, letter byte) {
	at := number / x.bin
	x.letters[at] = telling(x.letters[at], letter)
}

func (x *snapshot) own(w roster.Worker) bool {
	return w.State == roster.Held && x.ours.Same(w.Register.Process)
}

// findEnded finds the worker ids whose holder's window ended within the last hour, and that were not given back. A process that
// holds another one has not ended, and neither has this one.
func (x *snapshot) findEnded() {
	type process struct {
		host    string
		pid     int
		started int64
	}
	of := func(w roster.Worker) process {
		p := w.Register.Process
		return process{p.Host, p.PID, p.Started.UnixNano()}
	}
	holds := map[process]bool{}
	for _, w := range x.records {
		if x.holds(w) {
			holds[of(w)] = true
		}
	}
	for number, w := range x.records {
		if w.State == roster.Free && w.Register.Holder != "" && w.Read.Sub(w.Until) < time.Hour && !x.behind(w) && !holds[of(w)] && !x.ours.Same(w.Register.Process) {
			x.ended[number] = true
			x.mark(number, 'e')
		}
	}
}

// behind reports whether a worker id only seems free: its holder goes on, with a clock that is behind by more than a window.
func (x *snapshot) behind(w roster.Worker) bool {
	o, known := x.offsets[w.Number]
	return known && w.State == roster.Free && w.Register.Holder != "" && o.term == w.Register.Term && w.Read.Sub(o.seen) < w.Register.Window
}

func (x *snapshot) byStore() bool {
	byStore, _ := x.roster.Reference()
	return byStore
}

// compare finds clocks that are off. A write that came between two looks has its writer's time, and the looks have the reference's.
// A write that was long under way seems to be of a clock that is behind. A later write counts if it is at least as exact, or
// if both can't be right: then the clock was set.
func (x *snapshot) compare(before *snapshot) {
	for number, now := range x.records {
		was, seen := before.records[number]
		if now.Register.Holder == "" || !seen {
			continue
		}
		best, known := before.offsets[number]
		known = known && best.term == now.Register.Term
		if between := now.Read.Sub(before.begun); was.Register.Write != now.Register.Write && between >= 0 {
			late := offset{now.Register.Term, now.Register.Clock.Sub(now.Read) + between/2, between / 2, now.Read}
			if apart := (late.ahead - best.ahead).Abs(); !known || late.error <= best.error || apart > late.error+best.error {
				best, known = late, true
			}
			best.seen = now.Read
		}
		if known {
			x.offsets[number] = best
		}
		if x.behind(now) {
			x.late++
			x.mark(number, 's')
		}
	}
	all := slices.SortedFunc(maps.Values(x.offsets), func(a, b offset) int { return cmp.Compare(a.ahead, b.ahead) })
	if n := len(all); n > 0 {
		x.middle = (all[(n-1)/2].ahead + all[n/2].ahead) / 2
	}
}

// findChanges finds the worker ids that changed hands since the snapshot before, and keeps the changes of that one. A worker id
// whose register had no room in one of them may be left out.
func (x *snapshot) findChanges(before *snapshot, seen time.Time) {
	var found []Change
	for number, now := range x.records {
		if was, known := before.records[number]; known || !before.full {
			if c := x.change(was, now, before.holds(was)); c.What != "" {
				c.Worker, c.Seen = number, seen.Truncate(time.Second)
				found = append(found, c)
			}
		}
	}
	slices.SortFunc(found, func(a, b Change) int { return cmp.Compare(a.Worker, b.Worker) })
	all := slices.Concat(found, before.changes)
	x.changes = all[:min(len(all), maxChanges)]
}

// holds reports whether a worker id has a holder that may stamp.
func (x *snapshot) holds(w roster.Worker) bool { return w.State == roster.Held || x.behind(w) }

// change compares two readings of a register. If its holder changed more than once between them, the last change counts.
func (x *snapshot) change(was, now roster.Worker, held bool) (c Change) {
	then, r := was.Register, now.Register
	holds, freed := x.holds(now), then.Quarantined && !r.Quarantined
	if held {
		c.From = short(then.Process.String())
	}
	switch {
	case was.State == roster.Unreadable || slices.Contains([]roster.State{roster.Unreadable, roster.Foreign, roster.UsedUp}, now.State):
	case r.Quarantined && !then.Quarantined:
		c.What = "quarantined"
	case holds && r.Term > then.Term, !held && now.State == roster.Held: // or its holder goes on after its window had ended
		c.What, c.To = "claimed", short(r.Process.String())
	case holds, !held && !freed:
	case freed, r.Holder == "":
		c.What = "free again"
	default:
		c.What = "ended"
	}
	return c
}

// namespace makes the namespace of a [State].
func (x *snapshot) namespace() Namespace {
	n := Namespace{
		Layout: x.layout().String(), Capacity: strconv.FormatInt(x.census.Capacity, 10), Counts: map[string]int64{},
		Lent: x.census.Lent, Silent: x.census.Silent + x.late, Ended: int64(len(x.ended)), Held: x.census.Counts[roster.Held] + x.late, Holders: []Worker{}, Rest: []Worker{},
		Clock: "median", Changes: append([]Change{}, x.changes[:min(len(x.changes), MaxChanges)]...),
	}
	for _, state := range roster.States() {
		x.census.Counts[state] += 0 // so that a state without a worker id shows 0
		n.Counts[string(state)] = x.census.Counts[state]
	}
	n.Counts[string(roster.Held)] += x.late
	n.Counts[string(roster.Free)] -= x.late
	if len(x.offsets) > 0 {
		n.Median = milliseconds(x.middle)
	}
	if x.byStore() {
		n.Clock = "store"
	}
	letters := (len(x.letters)-1)/MaxCells + 1 // of a cell
	n.Bin = x.bin * int64(letters)
	cells := make([]byte, 0, MaxCells)
	for some := range slices.Chunk(x.letters, letters) {
		cell := byte('.')
		for _, letter := range some {
			if letter != '.' { // nearly all are
				cell = telling(cell, letter)
			}
		}
		cells = append(cells, cell)
	}
	n.Cells = string(cells)
	var holders [3][]int64 // this daemon's, silent ones, and others
	var rest []roster.Worker
	for number, w := range x.records {
		if x.holds(w) {
			place := 2
			if x.own(w) {
				place = 0
			} else if w.State != roster.Held || w.Silent() {
				place = 1
			}
			holders[place] = append(holders[place], number)
		} else if slices.Contains([]roster.State{roster.Quarantined, roster.Unreadable, roster.Foreign}, w.State) || x.ended[number] {
			rest = append(rest, w)
		}
	}
	slices.SortFunc(rest, func(a, b roster.Worker) int { // ended ones come last, the latest first
		return cmp.Or(-cmp.Compare(a.State, b.State), b.Until.Compare(a.Until), cmp.Compare(a.Number, b.Number))
	})
	for _, w := range rest[:min(len(rest), MaxRest)] {
		n.Rest = append(n.Rest, x.worker(w.Number))
	}
	for _, numbers := range holders {
		slices.Sort(numbers)
		for _, number := range numbers[:min(len(numbers), MaxHolders-len(n.Holders))] {
			n.Holders = append(n.Holders, x.worker(number))
		}
	}
	return n
}

// worker shows one worker id. Of one whose register was not kept it shows the state alone, and not even that if its letter
// is of others, too.
func (x *snapshot) worker(number int64) Worker {
	w, kept := x.records[number]
	if !kept {
		letter := x.letters[number/x.bin]
		if x.bin > 1 && letter != '.' {
			return Worker{Number: number}
		}
		return Worker{Number: number, State: string(states()[rank(letter)])}
	}
	r := w.Register
	_, lent := r.Process.Lent()
	shown := Worker{
		Number: number, State: string(w.State), Silent: w.Silent(), Ours: x.own(w), Lent: lent && w.State == roster.Held, Ended: x.ended[number],
		Host: r.Process.Host, PID: r.Process.PID, Program: r.Process.Version, Term: r.Term, Window: r.Window.Milliseconds(),
	}
	if x.behind(w) {
		shown.State, shown.Silent = string(roster.Held), true
	}
	if r.Term > 0 { // else it can't be read
		shown.From, shown.Until, shown.Written, shown.Age = w.Floor.UTC(), w.Until.UTC(), r.Clock.UTC(), w.Age().Milliseconds()
	}
	if o, known := x.offsets[number]; known {
		shown.Error = *milliseconds(o.error)
		if shown.Offset = milliseconds(o.ahead); !x.byStore() {
			shown.Offset = milliseconds(o.ahead - x.middle)
		}
	}
	if err := x.roster.Refusal(w); err != nil {
		shown.Claimant = short(err.Error())
	}
	return shown
}

// letters are the letters of [Namespace.Cells], the most telling first.
const letters = "qusolhfrxe."

func rank(letter byte) int { return strings.IndexByte(letters, letter) }

// telling returns the more telling one of two letters.
func telling(a, b byte) byte { return letters[min(rank(a), rank(b))] }

func (x *snapshot) letter(w roster.Worker) byte {
	_, lent := w.Register.Process.Lent()
	switch {
	case w.Silent():
		return 's'
	case x.own(w):
		return 'o'
	case w.State == roster.Held && lent:
		return 'l'
	case w.State == roster.Held:
		return 'h'
	case w.State == roster.Free:
		return '.'
	}
	return letters[slices.Index(states(), w.State)]
}

// states returns the states of the letters.
func states() []roster.State {
	const held = roster.Held
	return []roster.State{roster.Quarantined, roster.Unreadable, held, held, held, held, roster.Foreign, roster.Resting, roster.UsedUp, roster.Free, roster.Free}
}

func milliseconds(d time.Duration) *float64 { return new(float64(d) / float64(time.Millisecond)) }
