package stored

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strconv"
	"time"

	"snowfence.example/snowfence/store"
)

// Counter is the store's entry for one counter. It is never deleted. Its fields are in the order of the text.
type Counter struct {
	// Kind is the kind of counter: "segment", "ticket" or "daily".
	Kind string `json:"kind"`

	// Incarnation is a random 128-bit number in hexadecimal, drawn when the record was
	// created. A process that sees another one knows that the counter was begun again.
	Incarnation string `json:"incarnation"`

	// Unsettled means that the store can still lose the beginning of the record. A failover may
	// take it away, and then the counter is begun again. Records of earlier versions count as settled.
	Unsettled bool `json:"unsettled,omitzero"`

	// Start is the first number, and Increment the distance between two.
	Start     int64 `json:"start"`
	Increment int64 `json:"increment"`

	// Limit is the greatest number that its last writer would reserve.
	Limit int64 `json:"limit"`

	// Zone and Digits are of a daily sequence: the time zone of its dates, and the width of
	// its numbers. Empty and 0 otherwise.
	Zone   string `json:"zone"`
	Digits int    `json:"digits"`

	// Lanes are the separate counts, ascending by name. A daily sequence has a lane for each
	// of its last dates, "20261122". Every other counter has one, without a name. When there are too
	// many lanes, the earliest goes.
	Lanes []Lane `json:"lanes"`

	// Writer and Writers are in records of earlier versions, and empty in later ones.
	Writer  string   `json:"writer"`
	Writers []Writer `json:"writers"`

	// Waits means that this very write waits to be confirmed, on a lossy store. Waiting are the
	// writes before it that do, the latest at the end.
	Waits   bool   `json:"waits,omitzero"`
	Waiting []Wait `json:"waiting,omitempty"`

	// Write is a random mark of this very write, 64 bits in hexadecimal.
	Write string `json:"write"`

	// Created and Clock are the clocks of the first and of the last writer at their writes.
	Created time.Time `json:"created"`
	Clock   time.Time `json:"clock"`

	// Process is the last writer, for people.
	Process Process `json:"-"`
}

// Lane is one count of a counter. Every number below Next is reserved.
type Lane struct {
	Name string `json:"name"`
	Next int64  `json:"next"`
}

// Wait names one effect of one write in a record's history.
type Wait struct {
	Effect string // of 72 bits; see [Counter.Effect]
	Sent   uint32 // when it was sent, by its writer's clock: the lower 32 bits of Unix seconds
}

// effectLength is how many characters an effect has, and waitLength how many the text of a Wait.
const effectLength, waitLength = 12, 12 + 8

// MarshalText implements [encoding.TextMarshaler]. A record of many must fit into [store.MaxValue].
func (w Wait) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%s%08x", w.Effect, w.Sent), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (w *Wait) UnmarshalText(text []byte) error {
	if len(text) != waitLength {
		return fmt.Errorf("field \"waiting\" has %q: must be %d characters", text, waitLength)
	}
	sent, err := strconv.ParseUint(string(text[effectLength:]), 16, 32)
	w.Effect, w.Sent = string(text[:effectLength]), uint32(sent)
	return err
}

// Effect names the effect that this record's write had when it made the version. The very bytes
// may take effect again, with another version. That effect has another name.
func (c *Counter) Effect(v store.Version) Wait {
	sum := sha256.Sum256([]byte(c.Write + string(v)))
	return Wait{base64.RawURLEncoding.EncodeToString(sum[:])[:effectLength], uint32(c.Clock.Unix())}
}

// Writer names the last write of a process in the record's history.
type Writer struct {
	Nonce   string        `json:"nonce"`
	Version store.Version `json:"version"` // of the register after that write
}

// The kinds of counters.
const (
	Segment = "segment"
	Ticket  = "ticket"
	Daily   = "daily"
)

// DateForm is how a lane of a daily sequence is named.
const DateForm = "20060102"

func (c *Counter) text() any {
	return &struct {
		Format int `json:"format"`
		*Counter
		Host    *string    `json:"host"`
		PID     *int       `json:"pid"`
		Version *string    `json:"version"`
		Started *time.Time `json:"started"`
	}{format, c, &c.Process.Host, &c.Process.PID, &c.Process.Version, &c.Process.Started}
}

func (c *Counter) check() error {
	daily := c.Kind == Daily
	switch {
	case !slices.Contains([]string{Segment, Ticket, Daily}, c.Kind):
		return fmt.Errorf("field \"kind\" is %q: must be segment, ticket or daily", c.Kind)
	case c.Start < 0 || c.Increment < 1:
		return fmt.Errorf("fields \"start\" and \"increment\" are %d and %d: must be at least 0 and 1", c.Start, c.Increment)
	case daily != (c.Digits > 0) || c.Digits < 0:
		return fmt.Errorf("field \"digits\" is %d: must be above 0 for a daily sequence, and 0 otherwise", c.Digits)
	case !daily && (len(c.Lanes) != 1 || c.Lanes[0].Name != "" || c.Zone != ""):
		return fmt.Errorf("a %s has one lane without a name, and no zone", c.Kind)
	}
	last := ""
	for i, lane := range c.Lanes {
		switch _, err := time.Parse(DateForm, lane.Name); {
		case !daily:
		case err != nil:
			return fmt.Errorf("%q is no date: must be like 20261122", lane.Name)
		case i > 0 && lane.Name <= last:
			return fmt.Errorf("date %s comes after %s: must ascend", lane.Name, last)
		}
		last = lane.Name
		if lane.Next < c.Start || (lane.Next-c.Start)%c.Increment != 0 {
			return fmt.Errorf("field \"next\" is %d: must be %d, or that plus a multiple of %d", lane.Next, c.Start, c.Increment)
		}
	}
	return cmp.Or(checkHex("incarnation", c.Incarnation, 16), checkHex("write", c.Write, 8))
}

// Encode writes the record as it is stored.
func (c Counter) Encode() ([]byte, error) {
	c.Created, c.Clock, c.Process.Started = c.Created.UTC(), c.Clock.UTC(), c.Process.Started.UTC()
	c.Lanes, c.Writers = append([]Lane{}, c.Lanes...), append([]Writer{}, c.Writers...)
	return encode(&c, store.MaxValue)
}

// DecodeCounter reads a counter's record. An error wrapping [ErrRecord] is returned for every
// value that this program would not have written. Nothing is ever counted from such a record.
func DecodeCounter(value []byte) (Counter, error) {
	var c Counter
	if err := decode(value, &c, store.MaxValue); err != nil {
		return Counter{}, err
	}
	return c, nil
}

// Lane returns a lane's place in Lanes, and whether it is there.
func (c *Counter) Lane(name string) (int, bool) {
	return slices.BinarySearchFunc(c.Lanes, name, func(l Lane, name string) int { return cmp.Compare(l.Name, name) })
}

// CounterPrefix begins the keys of a namespace's counters. The counter's name follows.
func CounterPrefix(namespace string) string { return "counter/" + namespace + "/" }
