package check

// Report is the result of a check. -o json prints its JSON form; its keys are stable.
type Report struct {
	// IDs were read, of which Distinct are different. The difference is Duplicates.
	IDs        uint64 `json:"ids"`
	Distinct   uint64 `json:"distinct"`
	Duplicates uint64 `json:"duplicates"`
	// Repeated is how many different ids occur more than once.
	Repeated uint64 `json:"repeated"`
	// Complete reports that every source has ids and none looks rounded. Without duplicates all ids are different then.
	Complete bool     `json:"complete"`
	Sources  []Source `json:"sources"`
	// Between are the pairs of sources with ids in common. Partial is true when there are more
	// than 16384 of them: some are missing, and a Common is a least one.
	Between []Pair `json:"between"`
	Partial bool   `json:"between_partial,omitempty"`
	// Named are the first repeated ids, lowest first.
	Named []Duplicate `json:"named"`
	// Layout is the layout of the causes, or empty.
	Layout  string `json:"layout,omitempty"`
	Preset  string `json:"preset,omitempty"`
	Guessed bool   `json:"guessed"`
	// Causes are the most frequent first, but rounded ids before all. Their duplicates
	// add up to Duplicates.
	Causes  []Cause `json:"causes"`
	Spilled uint64  `json:"spilled"` // bytes that were put aside on the disk
}

// Source is the result for one source.
type Source struct {
	Name string `json:"name"`
	IDs  uint64 `json:"ids"`
	// Within is how many ids of the source stand there a second time, or more often.
	Within uint64 `json:"within"`
	// Rounded shows by which numbers the ids look rounded, or is empty.
	Rounded string `json:"rounded,omitempty"`
}

// Pair is two sources and how many different ids are in both.
type Pair struct {
	A      string `json:"a"`
	B      string `json:"b"`
	Common uint64 `json:"common"`
}

// Duplicate is an id that occurs more than once. Places are the first of its places.
type Duplicate struct {
	ID     string  `json:"id"`
	Count  uint64  `json:"count"`
	Places []Place `json:"places"`
}

// Place is where an id stands. At counts as the source does; Text is the same in words.
type Place struct {
	Source string `json:"source"`
	At     uint64 `json:"at"`
	Text   string `json:"place"`
}

// Kind is a kind of cause.
type Kind string

// The kinds of causes.
const (
	SameWorker Kind = "same worker in two places"
	SetBack    Kind = "clock set back"
	Copies     Kind = "copies"
	Rounded    Kind = "rounded ids"
	Undecided  Kind = "undecided"
)

// Cause is why there are duplicates in one or two sources, as far as the ids show it.
// Duplicates is how many it explains. Evidence has the numbers that show it, and Advice names a remedy.
// Workers are the worker ids, at most 16, and WorkerCount is how many there are; a datacenter is in
// their upper bits.
type Cause struct {
	Kind        Kind     `json:"kind"`
	Duplicates  uint64   `json:"duplicates"`
	Sources     []string `json:"sources"`
	Workers     []int64  `json:"workers,omitempty"`
	WorkerCount int      `json:"worker_count,omitempty"`
	Evidence    string   `json:"evidence"`
	Advice      string   `json:"advice"`
}
