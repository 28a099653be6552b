package merge

import (
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/overlap"
)

// ID may have the 64th bit, unlike a [snowfence.ID], and is written without a sign.
type ID snowfence.ID

// String returns decimal digits.
func (id ID) String() string { return snowfence.ID(id).String() }

// MarshalText returns decimal digits.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// Time is a time that JSON shows as RFC 3339, also beyond the year 9999.
type Time struct{ time.Time }

// MarshalJSON returns the time in its zone, with as much of the second as there is.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.Format(time.RFC3339Nano) + `"`), nil
}

// Instant is a tick with the time at which it begins.
type Instant struct {
	Tick snowfence.Tick `json:"tick"`
	Time Time           `json:"time"`
}

// Stamp is how one issuer stamps an id.
type Stamp struct {
	Worker int64   `json:"worker"`
	At     Instant `json:"at"`
}

func stampOf(s overlap.Stamp) Stamp { return Stamp{s.Worker, Instant{s.Tick, Time{s.Time}}} }
