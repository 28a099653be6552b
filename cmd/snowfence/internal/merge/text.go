package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
	"snowfence.example/snowfence/internal/text"
)

const (
	// shownRanges is how many ranges of worker numbers a sentence names.
	shownRanges = 6

	// margin is how far above the end of another system its ids may lie: as far as the
	// lease protocol lets a clock be ahead.
	margin = takeover.DefaultAhead
)

// Advice is something to do.
type Advice struct {
	Text string `json:"text,omitempty"`
	// Command is the command line for it, with TIME to be filled in, or empty.
	Command string `json:"command,omitempty"`
}

// line is the text with the command behind it.
func (a Advice) line() string {
	if a.Command == "" {
		return a.Text
	}
	return a.Text + ": " + a.Command
}

// reason says why there is no integer that both issue. It looks for the simplest reason
// first: worker numbers of one layout; integers of one issuer that are all greater; bits
// that differ whatever the time.
func (f Forecast) reason() string {
	a, b := f.A, f.B
	lifeA, lifeB := a.pieces(life), b.pieces(life)
	rangesA, rangesB := workersOf(lifeA), workersOf(lifeB)
	workersA, workersB := rangesText(rangesA), rangesText(rangesB)
	disjoint := len(common(lifeA, lifeB)) == 0
	switch {
	case len(lifeA) == 0 || len(lifeB) == 0:
		return "one of them has issued nothing and never will"
	case f.Same && disjoint && len(a.Datacenters) > 0 && len(b.Datacenters) > 0 && !slices.ContainsFunc(a.Datacenters, func(d int64) bool { return slices.Contains(b.Datacenters, d) }):
		return fmt.Sprintf("they have one layout and epoch, their records list disjoint datacenters (%s: %s; %s: %s), and every id carries its datacenter",
			f.NameA, text.List(a.Datacenters, len(a.Datacenters)), f.NameB, text.List(b.Datacenters, len(b.Datacenters)))
	case f.Same && disjoint:
		return fmt.Sprintf("they have one layout and epoch, no worker id in common (%s: %s; %s: %s), and every id carries its worker id", f.NameA, workersA, f.NameB, workersB)
	case f.Same:
		return "they have one layout and epoch, and where both have a worker id, its ticks in the one and in the other lie apart"
	}
	lowA, highA, _ := bounds(few(lifeA))
	lowB, highB, _ := bounds(few(lifeB))
	above := "every id of %s, past and future, is above every id of %s: %d and up against at most %d"
	switch {
	case lowA > highB:
		return fmt.Sprintf(above, f.NameA, f.NameB, lowA, highB)
	case lowB > highA:
		return fmt.Sprintf(above, f.NameB, f.NameA, lowB, highA)
	case !meet(a.everAt(rangesA), b.everAt(rangesB)):
		return fmt.Sprintf("whatever the time, no integer has a worker id of %s (%s) in its bits of %s and one of %s (%s) in its bits of %s: the fixed bits differ",
			f.NameA, workersA, a.Layout, f.NameB, workersB, b.Layout)
	}
	return "their layouts differ, and no integer satisfies the time, the worker ids and the unused bits of both: decided bit by bit over all integers"
}

// everAt are the ids of some worker numbers, with any tick.
func (i *Issuer) everAt(workers []text.Range) []overlap.Set {
	sets := make([]overlap.Set, len(workers))
	for n, w := range workers {
		sets[n] = overlap.Set{Layout: i.Layout, Workers: overlap.Workers(w), Ticks: overlap.AllTicks(i.Layout)}
	}
	return few(sets)
}

// sentences say what the forecast is, the most important first.
func (f Forecast) sentences() []string {
	if f.Why != "" {
		return []string{fmt.Sprintf("%s and %s can never issue the same id: %s", f.NameA, f.NameB, f.Why)}
	}
	var all []string
	say := func(format string, args ...any) { all = append(all, fmt.Sprintf(format, args...)) }
	later := f.FromNow.After(f.now())
	until := instantText(f.FromNow.Time)
	switch {
	case !f.Possible():
		say("no id that %s or %s issues from now on can equal one of the other, past or future", f.NameA, f.NameB)
	case later:
		say("until %s no id that %s or %s issues from now on can equal one of the other, past or future; from then on it can", until, f.NameA, f.NameB)
	case len(f.Shared) > 0:
		say("%s and %s can issue the same id from now on: they have one layout and epoch, and both may use worker id %s; whenever both do at the same time, ids can be equal", f.NameA, f.NameB, rangesText(f.Shared))
	default:
		say("%s and %s can issue the same id from now on", f.NameA, f.NameB)
	}
	if one, other := f.NameA, f.NameB; f.Above != 0 && (later || !f.Possible()) {
		if f.Above < 0 {
			one, other = other, one
		}
		end := ""
		if f.Possible() {
			end = " until " + until
		}
		say("every id of %s from now on is above every id of %s%s", one, other, end)
	}
	for _, c := range f.Chances {
		all = append(all, f.chanceText(c))
	}
	return all
}

// chanceText says when and where, by the example of the first id.
func (f Forecast) chanceText(c Chance) string {
	a, b := f.NameA, f.NameB
	since := "from now on"
	if c.At.After(f.now()) {
		since = "from " + instantText(c.At.Time) + " on"
	}
	managed := f.A.Managed() || f.B.Managed()
	var what string
	switch {
	case c.Settled() && managed && !(c.Recorded && f.A.Managed() && f.B.Managed()):
		// An example would be of any time at all.
		return "both may have issued the same id already: registers do not tell of earlier terms, so only their ids tell"
	case c.Settled() && managed:
		what = "both may have issued the same id already, in their present terms"
	case c.Settled():
		what = "both may have issued the same id already"
	case c.Moments[0] == Past:
		what = fmt.Sprintf("%s %s can issue what %s may have issued before", since, b, a)
	case c.Moments[1] == Past:
		what = fmt.Sprintf("%s %s can issue what %s may have issued before", since, a, b)
	default:
		what = since + " both can issue an id that is new to both"
	}
	stamp := func(s Stamp) string { return fmt.Sprintf("worker %d at %s", s.Worker, instantText(s.At.Time.Time)) }
	return fmt.Sprintf("%s; the first is %s: %s in %s, %s in %s", what, c.ID, stamp(c.Stamps[0]), a, stamp(c.Stamps[1]), b)
}

// advice keeps apart the ids that two issuers issue from now on; none if they can't clash.
func (f Forecast) advice() []Advice {
	if !f.Possible() {
		return nil
	}
	a, b := f.A, f.B
	switch {
	case !f.Same:
		return f.clocksAdvice(f.endingText(), "or give them worker ids or layouts whose bits differ: layout:SPEC#WORKERS tries that out")
	case !a.Managed() && !b.Managed():
		return f.clocksAdvice("let one of them end " + f.whenText() + ", or give them worker ids that are disjoint: layout:SPEC#WORKERS tries that out")
	case !b.Managed():
		return floorsAdvice(a, f.NameA, f.NameB)
	case !a.Managed():
		return floorsAdvice(b, f.NameB, f.NameA)
	}
	others := "or go on in two new namespaces with a layout that has a datacenter, whose records list disjoint ones; this layout has none"
	if a.Layout.Bits(snowfence.Datacenter) > 0 {
		others = "or go on in two new namespaces whose records list disjoint datacenters (the generators' datacenters: in the configuration); a record that is there never changes"
	}
	return []Advice{
		{"keep one of the two: stop the programs of the other, set floors in the one that stays, and let them go on there", floorsCommand(a)},
		{Text: marginText("the other")},
		{Text: others},
		{Text: fmt.Sprintf("or quarantine in each the worker ids that the other uses (snowfence workers quarantine N), so that no worker id can be claimed in both; now %s can", rangesText(f.Shared))},
	}
}

// endingText says which of two with different layouts has to end: one that stays may
// come to ids that the other has issued.
func (f Forecast) endingText() string {
	// One that ends before FromNow is enough if the other never comes to ids that it issued.
	enough := func(ends, stays *Issuer) bool { return !meet(f.before(ends), few(stays.pieces(open))) }
	one := func(ends, stays string) string {
		return fmt.Sprintf("let %s end %s; that %s ends is not enough, since %s can come to ids that %s has issued", ends, f.whenText(), stays, ends, stays)
	}
	var choice string
	switch a, b := enough(f.A, f.B), enough(f.B, f.A); {
	case a && b:
		choice = "let one of them end " + f.whenText()
	case a:
		choice = one(f.NameA, f.NameB)
	case b:
		choice = one(f.NameB, f.NameA)
	default:
		return "that one of them ends is not enough, since the other can come to ids that it has issued: let both end " + f.whenText() + " and go on in a new namespace, which merge-check finds to be apart from both"
	}
	if f.A.Managed() && f.B.Managed() {
		choice += "; its programs go on in the other's namespace"
	}
	return choice
}

// whenText is until when something has to be done.
func (f Forecast) whenText() string {
	if f.FromNow.After(f.now()) {
		return "before " + instantText(f.FromNow.Time)
	}
	return "now"
}

// clocksAdvice is advice to end by a time, with what such a time relies on.
func (f Forecast) clocksAdvice(texts ...string) []Advice {
	if f.FromNow.After(f.now()) {
		texts = append(texts, fmt.Sprintf("that time is by clocks that are right: end by as much earlier as a clock may be ahead, which the lease protocol lets pass up to %s", marginWord()))
	}
	var all []Advice
	for _, t := range texts {
		all = append(all, Advice{Text: t})
	}
	return all
}

// floorsAdvice is how a namespace goes on where another system of its layout ends.
func floorsAdvice(namespace *Issuer, stays, ends string) []Advice {
	return []Advice{
		{fmt.Sprintf("stop %s, and set floors above its ids in %s", ends, stays), floorsCommand(namespace)},
		{Text: marginText(ends)},
		{Text: fmt.Sprintf("or quarantine in %s the worker ids that %s uses (snowfence workers quarantine N)", stays, ends)},
	}
}

// floorsCommand sets floors in a namespace above the ids of a system that was stopped.
func floorsCommand(namespace *Issuer) string {
	return fmt.Sprintf("snowfence workers import list --workers all --stopped-at TIME --margin %s --store %s --namespace %s", marginWord(), Quote(namespace.Store), namespace.Namespace)
}

// marginText says what the margin is for, when it is free, and when not enough.
func marginText(ends string) string {
	return fmt.Sprintf("the margin is for clocks of %s that were up to %[2]s ahead when it was stopped: set the floors %[2]s after that, and no claim has to wait for them; if a clock may have been further ahead, give the last ids too (--last-id ID --ahead DURATION)",
		ends, marginWord())
}

// marginWord is the margin as a flag takes it.
func marginWord() string { return fmt.Sprintf("%dm", margin/time.Minute) }

// rangesText writes worker numbers, the first few ranges.
func rangesText(ranges []text.Range) string { return text.List(ranges, shownRanges) }

// instantText writes a time in UTC, with as much of the second as there is.
func instantText(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.999999Z") }

// Quote writes a word for a shell, quoted where that is needed.
func Quote(word string) string {
	plain := func(r rune) bool {
		return 'a' <= r|0x20 && r|0x20 <= 'z' || '0' <= r && r <= '9' || strings.ContainsRune("-_./:@,=+%", r)
	}
	if word != "" && strings.IndexFunc(word, func(r rune) bool { return !plain(r) }) < 0 {
		return word
	}
	if strings.ContainsFunc(word, func(r rune) bool { return !unicode.IsGraphic(r) }) {
		// As it stands, a terminal would obey it.
		inner := strconv.Quote(word)
		return "$'" + strings.ReplaceAll(inner[1:len(inner)-1], "'", `\'`) + "'"
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
