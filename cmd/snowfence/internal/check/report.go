package check

import "time"

// Report is what was found. Its JSON form is what -o json prints; its keys are stable.
type Report struct {
	// IDs were read, of which Distinct are different. The difference is Duplicates.
	IDs        uint64 `json:"ids"`
	Distinct   uint64 `json:"distinct"`
	Duplicates uint64 `json:"duplicates"`
	// Repeated is how many different ids occur more than once.
	Repeated uint64 `json:"repeated"`
	// Invalid is how many things were no ids and were skipped.
	Invalid uint64 `json:"invalid"`
	// Complete reports that every source had ids, none was skipped and none looks rounded: without duplicates all
	// are different then.
	Complete bool `json:"complete"`

	Sources []Source `json:"sources"`
	// Between are the pairs of sources that have ids in common. Where there are
	// more than 16384, Partial is true: some are missing, and a Common is a least one.
	Between []Pair `json:"between"`
	Partial bool   `json:"between_partial,omitempty"`
	// Named are the first repeated ids, lowest first.
	Named []Duplicate `json:"named"`
	// Ranges are runs of repeated ids with none in between that occurs once, the
	// longest first, and RangeCount is how many there are.
	Ranges     []Range `json:"ranges"`
	RangeCount uint64  `json:"range_count"`

	// Layout is what the causes were found under, or empty.
	Layout  string `json:"layout,omitempty"`
	Preset  string `json:"preset,omitempty"`
	Guessed bool   `json:"guessed"`
	// Causes are the most frequent first, but rounded ids before all. Their duplicates add up to Duplicates.
	Causes []Cause `json:"causes"`

	// Spilled is how many bytes were put aside on the disk.
	Spilled uint64 `json:"spilled"`
}

// Source is what was found in one source.
type Source struct {
	Name string `json:"name"`
	IDs  uint64 `json:"ids"`
	// Within is how many ids of the source are there a second time, or more often.
	Within  uint64 `json:"within"`
	Invalid uint64 `json:"invalid"`
	// FirstInvalid is the message of the first that was skipped.
	FirstInvalid string `json:"first_invalid,omitempty"`
	// Rising reports that no id is lower than the one before it.
	Rising bool `json:"rising"`
	// Rounded says what shows that the ids were rounded, or is empty.
	Rounded string `json:"rounded,omitempty"`
}

// Pair is two sources and how many different ids are in both.
type Pair struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Common uint64 `json:"common"`
}

// Duplicate is an id that occurs more than once.
type Duplicate struct {
	ID    string `json:"id"`
	Count uint64 `json:"count"`
	// Places are the first of them.
	Places []Place `json:"places"`
}

// Place is where an id stands.
type Place struct {
	Source string `json:"source"`
	// At counts as the source does; Text says it in words.
	At   uint64 `json:"at"`
	Text string `json:"place"`
}

// Range is repeated ids that follow each other, from First to Last.
type Range struct {
	First   string   `json:"first"`
	Last    string   `json:"last"`
	Count   uint64   `json:"count"`
	Sources []string `json:"sources"` // of the first two places of each
}

// Kind is a kind of cause.
type Kind string

// The kinds of causes.
const (
	SameWorker  Kind = "same worker in two places"
	Overlapping Kind = "overlapping terms"
	SetBack     Kind = "clock set back"
	MixUp       Kind = "layout mix-up"
	Copies      Kind = "copies"
	Rounded     Kind = "rounded ids"
	Unexplained Kind = "unexplained"
)

// Cause is why there are duplicates, as far as the ids tell.
type Cause struct {
	Kind Kind `json:"kind"`
	// Duplicates is how many of them it explains.
	Duplicates uint64 `json:"duplicates"`
	// Sources are the one or two in which they are.
	Sources []string `json:"sources"`
	// Workers are the worker ids, at most 16, and WorkerCount is how many there
	// are. A datacenter is in their upper bits.
	Workers     []int64 `json:"workers,omitempty"`
	WorkerCount int     `json:"worker_count,omitempty"`
	// From and To are the times of the lowest and highest duplicate, if a layout is known.
	From *time.Time `json:"from,omitempty"`
	To   *time.Time `json:"to,omitempty"`
	// Evidence is what it was concluded from, and Advice what to do.
	Evidence string `json:"evidence"`
	Advice   string `json:"advice"`
}
