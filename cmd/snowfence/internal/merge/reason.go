package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
	"snowfence.example/snowfence/cmd/snowfence/internal/takeover"
)

// shownRanges is how many ranges of worker numbers a sentence names.
const shownRanges = 6

// margin is how far above the end of another system or namespace its ids may lie:
// as far as the lease protocol lets a clock be ahead.
const margin = takeover.DefaultAhead

// Reason is why two issuers can't clash.
type Reason string

// reasons says why there is no integer that both issue, past or future. It looks
// for what is easiest to see: worker numbers of one layout; integers of which those
// of one issuer are all greater; and bits that differ whatever the time.
func (f Forecast) reasons() []Reason {
	a, b := f.A, f.B
	ofA, ofB := a.workers(life), b.workers(life)
	one := func(format string, args ...any) []Reason { return []Reason{Reason(fmt.Sprintf(format, args...))} }
	switch {
	case len(ofA) == 0 || len(ofB) == 0:
		return one("one of them has issued nothing and never will")
	case f.Same && len(a.Datacenters) > 0 && len(b.Datacenters) > 0 && !slices.ContainsFunc(a.Datacenters, func(d int64) bool { return slices.Contains(b.Datacenters, d) }) && len(shared(ofA, ofB)) == 0:
		return one("they have one layout and epoch, their records list disjoint datacenters (%s: %s; %s: %s), and every id carries its datacenter",
			f.NameA, numbers(a.Datacenters), f.NameB, numbers(b.Datacenters))
	case f.Same && len(shared(ofA, ofB)) == 0:
		return one("they have one layout and epoch, no worker id in common (%s: %s; %s: %s), and every id carries its worker id",
			f.NameA, WorkersText(ofA), f.NameB, WorkersText(ofB))
	case f.Same:
		return one("they have one layout and epoch, and where both have a worker id, its ticks in the one and in the other lie apart")
	}
	setsA, setsB := a.sets(a.pieces(life)), b.sets(b.pieces(life))
	lowA, _ := lowest(setsA)
	highA, _ := highest(setsA)
	lowB, _ := lowest(setsB)
	highB, _ := highest(setsB)
	switch {
	case lowA > highB:
		return one("every id of %s, past and future, is above every id of %s: %d and up against at most %d", f.NameA, f.NameB, lowA, highB)
	case lowB > highA:
		return one("every id of %s, past and future, is above every id of %s: %d and up against at most %d", f.NameB, f.NameA, lowB, highA)
	case !meet(a.everAt(ofA), b.everAt(ofB)):
		return one("whatever the time, no integer has a worker id of %s (%s) in the bits where %s keeps it and one of %s (%s) where %s does: the fixed bits differ",
			f.NameA, WorkersText(ofA), a.Layout.String(), f.NameB, WorkersText(ofB), b.Layout.String())
	}
	return one("their layouts differ, and no integer satisfies the time, the worker ids and the unused bits of both: decided bit by bit over all integers")
}

// everAt are the ids of some worker numbers, with any tick.
func (i *Issuer) everAt(workers []overlap.Workers) []overlap.Set {
	var pieces []piece
	for _, w := range workers {
		pieces = append(pieces, piece{w, overlap.AllTicks(i.Layout)})
	}
	return i.sets(pieces)
}

// meet reports whether any of some sets has an integer of any of others.
func meet(as, bs []overlap.Set) bool {
	return slices.ContainsFunc(as, func(a overlap.Set) bool {
		return slices.ContainsFunc(bs, func(b overlap.Set) bool { return overlap.Meet(a, b) })
	})
}

// Advice is something to do.
type Advice struct {
	// Text says what.
	Text string
	// Command is the command line for it, with TIME to be filled in; empty if there
	// is none.
	Command string
}

// String is the text, and the command behind it.
func (a Advice) String() string {
	if a.Command == "" {
		return a.Text
	}
	return a.Text + ": " + a.Command
}

// advise makes advice of texts that have no command.
func advise(texts ...string) []Advice {
	var all []Advice
	for _, text := range texts {
		all = append(all, Advice{Text: text})
	}
	return all
}

// Advice says what keeps the ids that two issuers issue from now on apart; nothing
// if they can't clash.
func (f Forecast) Advice() []Advice {
	if !f.Possible() {
		return nil
	}
	a, b := f.A, f.B
	switch {
	case !f.Same:
		return append(advise(f.endingText(), "or give them worker ids or layouts whose bits differ: layout:SPEC#WORKERS tries that out"), f.clocksAdvice()...)
	case !a.Managed() && !b.Managed():
		return append(advise("let one of them end "+f.whenText()+", or give them worker ids that are disjoint: layout:SPEC#WORKERS tries that out"), f.clocksAdvice()...)
	case !b.Managed():
		return floorsAdvice(a, f.NameA, f.NameB)
	case !a.Managed():
		return floorsAdvice(b, f.NameB, f.NameA)
	}
	others := "or go on in two new namespaces with a layout that has a datacenter, whose records list disjoint ones; this layout has none"
	if a.Layout.Bits(snowfence.Datacenter) > 0 {
		others = "or go on in two new namespaces whose records list disjoint datacenters (the generators' datacenters: in the configuration); a record that is there never changes"
	}
	keep := Advice{"keep one of the two: stop the programs of the other, set floors in the one that stays, and let them go on there", floorsCommand(a)}
	return append([]Advice{keep}, advise(marginText("the other"), others, fmt.Sprintf("or quarantine in each what the other uses (snowfence workers quarantine N), so that the worker ids that can be claimed are disjoint; pools that only happen to use different worker ids (%s can be claimed in both) are not", WorkersText(f.Shared)))...)
}

// endingText says which of two with different layouts has to end. It is not always
// for choice: one that stays may come to ids that the other has issued.
func (f Forecast) endingText() string {
	a, b := f.ending()
	var text string
	switch {
	case a && b:
		text = "let one of them end " + f.whenText()
	case a:
		text = fmt.Sprintf("let %s end %s; that %s ends is not enough, since %s can come to ids that %s has issued", f.NameA, f.whenText(), f.NameB, f.NameA, f.NameB)
	case b:
		text = fmt.Sprintf("let %s end %s; that %s ends is not enough, since %s can come to ids that %s has issued", f.NameB, f.whenText(), f.NameA, f.NameB, f.NameA)
	default:
		return "that one of them ends is not enough, since the other can come to ids that it has issued: let both end " + f.whenText() + " and go on in a new namespace, which merge-check finds to be apart from both"
	}
	if f.A.Managed() && f.B.Managed() {
		text += "; its programs go on in the other's namespace"
	}
	return text
}

// whenText is until when something has to be done.
func (f Forecast) whenText() string {
	if f.FromNow.After(later(f.A.Now, f.B.Now)) {
		return "before " + instantText(f.FromNow)
	}
	return "now"
}

// clocksAdvice says what the times of endings rely on.
func (f Forecast) clocksAdvice() []Advice {
	if !f.FromNow.After(later(f.A.Now, f.B.Now)) {
		return nil
	}
	return advise(fmt.Sprintf("that time is by clocks that are right: end by as much earlier as a clock may be ahead, which the lease protocol lets pass up to %s", marginWord()))
}

// marginWord is the margin as a flag takes it.
func marginWord() string { return fmt.Sprintf("%dm", margin/time.Minute) }

// floorsCommand is the command line that sets floors in a namespace above the ids
// of somebody who was stopped.
func floorsCommand(namespace *Issuer) string {
	return fmt.Sprintf("snowfence workers import list --workers all --stopped-at TIME --margin %s --store %s --namespace %s", marginWord(), quote(namespace.Store), namespace.Namespace)
}

// marginText says what the margin is for, when it costs nothing, and when it is not
// enough.
func marginText(ends string) string {
	return fmt.Sprintf("the margin is for clocks of %s that were up to %s ahead when it was stopped: set the floors %s after that, and no claim has to wait for them; if a clock may have been further ahead, give the last ids too (--last-id ID --ahead DURATION)",
		ends, marginWord(), marginWord())
}

// floorsAdvice is how a namespace goes on where another system of its layout ends.
func floorsAdvice(namespace *Issuer, stays, ends string) []Advice {
	stop := Advice{fmt.Sprintf("stop %s, and set floors above its ids in %s", ends, stays), floorsCommand(namespace)}
	return append([]Advice{stop}, advise(marginText(ends),
		fmt.Sprintf("or quarantine in %s the worker ids that %s uses (snowfence workers quarantine N)", stays, ends))...)
}

// WorkersText writes worker numbers as ranges: "0-3, 8", the first few.
func WorkersText(workers []overlap.Workers) string {
	var parts []string
	for i, w := range workers {
		if i == shownRanges {
			more := fmt.Sprintf("and %d more ranges", len(workers)-i)
			if len(workers)-i == 1 {
				more = "and 1 more range"
			}
			parts = append(parts, more)
			break
		}
		if w.First == w.Last {
			parts = append(parts, strconv.FormatInt(w.First, 10))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", w.First, w.Last))
		}
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// numbers writes numbers with commas.
func numbers(list []int64) string {
	return strings.ReplaceAll(strings.Trim(fmt.Sprint(list), "[]"), " ", ", ")
}
