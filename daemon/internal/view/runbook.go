package view

import "strings"

// entry is an entry of the runbook: the lines of the log that it explains, and the remedy.
type entry struct {
	anchor string
	do     string
	begins string // how the lines begin, with bars between
}

// runbook lists all entries. The first are the names of problems' types.
func runbook() []entry {
	return []entry{
		{"starting", "Wait, and read among the events why it is tried again.", "the generator can't start yet"},
		{"refused", "Read the reason among the events, and mend the configuration or the store.", "the generator is refused|the holder can issue no more ids"},
		{"standby", "Ask the daemon that holds the worker id: `snowfence workers list`.", ""},
		{"stopped", "Start the daemon again when its maintenance is over.", ""},
		{"lease-unavailable", "See that the store answers and has a free worker id: `snowfence workers list`.", "issues no ids|issues ids again"},
		{"store-unavailable", "See that the store runs, has disk and memory left, and that this host reaches it: `snowfence doctor`.", "the store does not|the store takes|the store answers|" +
			"the store can't be used|the store gives|no numbers can be reserved|the generator gives|closed, but|did not give|waits for the store|read namespace|read the register|write the register|list registers|release worker|ticket server"},
		{"clock-unsafe", "Set this host's clock now, by a step: `snowfence doctor` shows how far it is off.", "the clock|judge the clock"},
		{"clock-off", "Set that host's clock by NTP.", ""},
		{"saturated", "Ask for fewer ids at once, or add a generator with another worker id.", ""},
		{"horizon-passed", "Move to another namespace.", ""},
		{"numbers-used-up", "Raise its limit if your column holds more, or move to another counter.", ""},
		{"counter-changed", "Stop the writers, and raise the counter above every number in use: `snowfence counters set`.", ""},
		{"no-worker", "End a program that needs no worker id: `snowfence workers list`. The worker id of a killed one is free when its window ends.", "waiting for a worker id"},
		{"internal", "Read the error among the events, and report it.", "a request failed|draw random bits"},
		{"claim", "Nothing, if a worker id is claimed in the end: `snowfence workers list` shows the holders.", "claim|resumed a term|waiting "},
		{"lost", "Find out who wrote the register: `snowfence workers show NUMBER`.", "lost a worker id"},
		{"copied", "Stop the copy of this host or process: both may have issued the same ids.", ""},
		{"quarantined", "Clear it when the reason is over: `snowfence workers quarantine NUMBER --clear`.", ""},
		{"unreadable", "It harms no other worker id. Find the damage: `snowfence namespace verify`.", ""},
		{"silent-holder", "See whether its process runs and answers: a paused one, or one that is cut off, gives no ids.", ""},
		{"pool-full", "End programs that need no worker id: `snowfence workers list`, or move to a layout with more worker bits.", ""},
		{"ends-soon", "Prepare the next now: another namespace for a layout, a higher limit or another counter for numbers.", "the generator ends soon|the layout's time bits run out"},
		{"lossy-store", "Declare the store's loss in its URL.",
			"the loss of|without a journal|opening the generator, which may wait|the store's folder"},
		{"journal", "See that the disk of the data directory is well.", "the journal|" +
			"the holder goes on without|the generator goes on without|keep the journal|write the journal|discard the journal"},
		{"began-empty", "If it gave ids before, stop all writers, and mend what is found by `snowfence namespace verify`.", "made a new namespace|begins a new"},
		{"certificate", "Replace certificate and key: both are read again by themselves.", "the files of TLS|audit: the files of TLS|tls."},
		{"tokens", "Mend the file of tokens: it is read again by itself.", "the token|token-file|the file of tokens|audit: the tokens|clients show wrong tokens"},
		{"lending", "Nothing, unless borrowers lack worker ids.", "audit: a worker id is|audit: a borrower is refused"},
		{"configuration", "Change the setting that the line names.", "the process may have too few files|" +
			"other hosts can reach|a client of tinyid|the store is of|requests were cut off"},
	}
}

// Anchors returns the anchors of all entries that the runbook must have.
func Anchors() (all []string) {
	for _, e := range runbook() {
		all = append(all, e.anchor)
	}
	return all
}

// entryOf returns the anchor for a line of the log: of the longest beginning that fits. The error shows how a worker id was lost.
func entryOf(x Event) (anchor string) {
	length := 0
	for _, e := range runbook() {
		for begin := range strings.SplitSeq(e.begins, "|") {
			if len(begin) > length && strings.HasPrefix(x.Text, begin) {
				anchor, length = e.anchor, len(begin)
			}
		}
	}
	if anchor == "began-empty" && x.Level == "INFO" {
		return "" // the first start
	}
	for _, field := range x.Fields {
		switch {
		case field[0] == "problem" && strings.HasPrefix(x.Text, "the generator "):
			return field[1]
		case anchor != "lost" || field[0] != "error":
		case strings.Contains(field[1], "a copy of this one"):
			return "copied"
		case strings.HasSuffix(field[1], "the store went back"):
			return "began-empty"
		case strings.Contains(field[1], "an operator quarantined"):
			return "quarantined"
		}
	}
	return anchor
}

// remedy returns the remedy of an entry. The flags are added to its commands.
func remedy(anchor, flags string) string {
	for _, e := range runbook() {
		if e.anchor == anchor {
			parts := strings.Split(e.do, "`")
			for i := 1; i < len(parts); i += 2 {
				parts[i] += flags
			}
			return strings.Join(parts, "`")
		}
	}
	return ""
}
