package sim

import (
	"fmt"
	"slices"
	"strings"
)

// Count is something that is counted in a run, besides faults.
type Count uint8

// The counts.
const (
	IDs         Count = iota // ids that were issued
	Ranges                   // runs of slots that they came in
	Calls                    // calls for ids
	Waits                    // calls that had to wait
	Refusals                 // calls that ended in an error
	Duplicates               // ids that had been issued before
	Steps                    // steps of all processes
	Requests                 // to stores
	Writes                   // swaps that took effect
	Conflicts                // swaps that did not
	Unknowns                 // requests that were given up
	Processes                // processes that were started
	Terms                    // generators that were started
	Extensions               // bounds that they were given
	Losses                   // terms that were lost
	Releases                 // processes that ended in order
	GivenUp                  // claims that failed
	Exhausted                // claims that found all worker ids taken
	ClockErrors              // claims whose clock was refused
	Broken                   // processes that failed for good
	Misfit                   // processes that failed for good because of their layout
	PastHorizon              // claims and calls that the horizon ended
	Resumed                  // terms that went on from a journal
	Alone                    // terms that went on from a journal while the store was away
	Pages                    // pages that were kept
	Refused                  // pages that could not be used
	Leases                   // worker ids that were lent
	Lent                     // ids that borrowers made
	Gone                     // leases that were over before their time
	Returned                 // leases that were given back
	Owed                     // nodes that were owed ids when the faults had ended
	Owing                    // runs in which a node was owed ids
	counts
)

func countNames() [counts]string {
	return [counts]string{
		"ids", "ranges", "calls", "waits", "refusals", "duplicates", "steps", "requests", "writes", "conflicts", "unknowns",
		"processes", "terms", "extensions", "losses", "releases", "given-up", "exhausted", "clock-errors", "broken", "misfit",
		"past-horizon", "resumed", "alone", "pages", "refused",
		"leases", "lent", "gone", "returned", "owed", "owing",
	}
}

// String returns the count's word.
func (c Count) String() string {
	if c >= counts {
		return fmt.Sprintf("Count(%d)", uint8(c))
	}
	return countNames()[c]
}

// Tally has the counts of a run, or of many.
type Tally struct {
	Counts [counts]int64
	Faults [kinds]int64 // faults that struck, by kind
	Hours  float64      // of virtual time
}

// Add adds another run's.
func (t *Tally) Add(o Tally) {
	for i, n := range o.Counts {
		t.Counts[i] += n
	}
	for i, n := range o.Faults {
		t.Faults[i] += n
	}
	t.Hours += o.Hours
}

// AllFaults is how many faults struck.
func (t *Tally) AllFaults() int64 {
	var sum int64
	for _, n := range t.Faults {
		sum += n
	}
	return sum
}

// Missing returns the counts and kinds that are zero, except duplicates, which should be.
func (t *Tally) Missing() (names []string) {
	for c := range counts {
		if t.Counts[c] == 0 && c != Duplicates {
			names = append(names, c.String())
		}
	}
	for _, k := range Kinds() {
		if t.Faults[k] == 0 {
			names = append(names, k.String())
		}
	}
	return names
}

// count returns the count of a name, and whether the name is known. The name "faults" is all faults together.
func (t *Tally) count(name string) (int64, bool) {
	if name == "faults" {
		return t.AllFaults(), true
	}
	names := countNames()
	if c := slices.Index(names[:], name); c >= 0 {
		return t.Counts[c], true
	}
	k := kindOf(name)
	return t.Faults[k], k > 0
}

// String writes the counts that are not zero, in one line for each sort.
func (t Tally) String() string {
	var counted, struck []string
	for c, n := range t.Counts {
		if n > 0 {
			counted = append(counted, fmt.Sprintf("%s %d", Count(c), n))
		}
	}
	for k, n := range t.Faults {
		if n > 0 {
			struck = append(struck, fmt.Sprintf("%s %d", Kind(k), n))
		}
	}
	return fmt.Sprintf("%s\nfaults %d: %s", strings.Join(counted, ", "), t.AllFaults(), strings.Join(struck, ", "))
}
