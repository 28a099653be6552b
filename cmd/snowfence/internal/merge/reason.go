package merge

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// shownRanges is how many ranges of worker numbers a sentence names.
const shownRanges = 6

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
			a.Side, numbers(a.Datacenters), b.Side, numbers(b.Datacenters))
	case f.Same && len(shared(ofA, ofB)) == 0:
		return one("they have one layout and epoch, no worker id in common (%s: %s; %s: %s), and every id carries its worker id",
			a.Side, WorkersText(ofA), b.Side, WorkersText(ofB))
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
		return one("every id of %s, past and future, is above every id of %s: %d and up against at most %d", a.Side, b.Side, lowA, highB)
	case lowB > highA:
		return one("every id of %s, past and future, is above every id of %s: %d and up against at most %d", b.Side, a.Side, lowB, highA)
	case !meet(a.everAt(ofA), b.everAt(ofB)):
		return one("whatever the time, no integer has a worker id of %s (%s) in the bits where %s keeps it and one of %s (%s) where %s does: the fixed bits differ",
			a.Side, WorkersText(ofA), a.Layout.String(), b.Side, WorkersText(ofB), b.Layout.String())
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

// Advice says what keeps the ids that two issuers issue from now on apart; nothing
// if they can't clash.
func (f Forecast) Advice() []string {
	if !f.Possible() {
		return nil
	}
	a, b := f.A, f.B
	switch {
	case !f.Same:
		return []string{f.endingText(), "or give them worker ids or layouts whose bits differ: layout:SPEC#WORKERS tries that out"}
	case !a.Managed() && !b.Managed():
		return []string{"let one of them end " + f.whenText() + ", or give them worker ids that are disjoint: layout:SPEC#WORKERS tries that out"}
	case !b.Managed():
		return []string{floorsText(a, b)}
	case !a.Managed():
		return []string{floorsText(b, a)}
	}
	advice := []string{fmt.Sprintf("keep one of the two: stop the programs of the other, set floors in the one that stays (snowfence workers import list --workers all --stopped-at TIME --store %s --namespace %s) and let them go on there", quote(a.Store), a.Namespace)}
	if a.Layout.Bits(snowfence.Datacenter) > 0 {
		advice = append(advice, "or go on in two new namespaces whose records list disjoint datacenters (the generators' datacenters: in the configuration); a record that is there never changes")
	} else {
		advice = append(advice, "or go on in two new namespaces with a layout that has a datacenter, whose records list disjoint ones; this layout has none")
	}
	return append(advice, fmt.Sprintf("or quarantine in each what the other uses (snowfence workers quarantine N), so that the worker ids that can be claimed are disjoint; pools that only happen to use different worker ids (%s can be claimed in both) are not", WorkersText(f.Shared)))
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
		text = fmt.Sprintf("let %s end %s; that %s ends is not enough, since %s can come to ids that %s has issued", f.A.Side, f.whenText(), f.B.Side, f.A.Side, f.B.Side)
	case b:
		text = fmt.Sprintf("let %s end %s; that %s ends is not enough, since %s can come to ids that %s has issued", f.B.Side, f.whenText(), f.A.Side, f.B.Side, f.A.Side)
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

// floorsText is how a namespace goes on where another system of its layout ends.
func floorsText(namespace, other *Issuer) string {
	return fmt.Sprintf("stop %s, and set floors above its ids in %s (snowfence workers import list --workers all --stopped-at TIME --store %s --namespace %s); or quarantine there the worker ids that %s uses (snowfence workers quarantine N)",
		other.Side, namespace.Side, quote(namespace.Store), namespace.Namespace, other.Side)
}

// WorkersText writes worker numbers as ranges: "0-3, 8", the first few.
func WorkersText(workers []overlap.Workers) string {
	var parts []string
	for i, w := range workers {
		if i == shownRanges {
			parts = append(parts, fmt.Sprintf("and %d more ranges", len(workers)-i))
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
