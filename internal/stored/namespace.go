package stored

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

// DefaultNamespace is the namespace of a config without one.
const DefaultNamespace = "default"

// ClockTolerance is how far a clock may be from its reference, and how far it may step
// forward within a term.
const ClockTolerance = 10 * time.Minute

// maxNamespace is the greatest length of a namespace's name in bytes.
const maxNamespace = 64

// Namespace is the record of one space of unique ids in one store. It is
// written once, when the namespace is first used, and never changed by this
// program.
type Namespace struct {
	// Layout is the fingerprint: the canonical text form of the layout, which
	// holds its unit, epoch, order and widths.
	Layout string `json:"layout"`

	// Incarnation is a random 128-bit number in hexadecimal, drawn when the record was
	// created. Every register repeats it. So a register of another life of the namespace
	// can be recognised.
	Incarnation string `json:"incarnation"`

	// Datacenters are the datacenters that this store may issue, if several stores share
	// the namespace. Empty means all.
	Datacenters []int64 `json:"datacenters"`

	// Created is when the record was written, by the clock of its writer.
	Created time.Time `json:"created"`
}

// NewNamespace returns the record of a namespace that is new.
func NewNamespace(layout snowfence.Layout, datacenters []int64, incarnation string, now time.Time) Namespace {
	return Namespace{Layout: layout.String(), Incarnation: incarnation, Datacenters: datacenters, Created: now}
}

// Fits returns a *[LayoutMismatchError] if the namespace of that name has another layout,
// and a *[ConfigError] if it has other datacenters. No datacenters fit every namespace.
func (n Namespace) Fits(name string, layout snowfence.Layout, datacenters []int64) error {
	if given := layout.String(); n.Layout != given {
		return &LayoutMismatchError{Namespace: name, Stored: n.Layout, Configured: given}
	}
	if len(datacenters) > 0 && !slices.Equal(datacenters, n.Datacenters) {
		return &ConfigError{"datacenters", fmt.Sprint(datacenters), fmt.Sprintf("must be those of the namespace's record, %v", n.Datacenters)}
	}
	return nil
}

// Succeeds returns an error wrapping [ErrNamespaceReplaced] if the record differs from the known one. Every
// record succeeds the zero record.
func (n Namespace) Succeeds(known Namespace) error {
	switch {
	case known.Incarnation == "":
		return nil
	case n.Incarnation != known.Incarnation:
		return fmt.Errorf("%w: incarnation %s, before %s", ErrNamespaceReplaced, n.Incarnation, known.Incarnation)
	case !slices.Equal(n.Datacenters, known.Datacenters):
		// Another store may issue them now.
		return fmt.Errorf("%w: its store may issue the datacenters %v, before %v", ErrNamespaceReplaced, n.Datacenters, known.Datacenters)
	}
	return nil
}

// Young reports whether a write may still be younger than the store's loss. The time of
// the write is its writer's, with [ClockTolerance] for the error of that clock. The write
// is old only if it is old by each of the given clocks.
func Young(written time.Time, loss time.Duration, clocks ...time.Time) bool {
	for _, now := range clocks {
		if loss > 0 && now.Sub(written) < loss+ClockTolerance {
			return true
		}
	}
	return false
}

func (n *Namespace) text() any {
	return &struct {
		Format int `json:"format"`
		*Namespace
	}{format, n}
}

func (n *Namespace) check() error {
	if n.Layout == "" {
		return errors.New("field \"layout\" is empty")
	}
	for i, d := range n.Datacenters {
		if d < 0 || i > 0 && d <= n.Datacenters[i-1] {
			return fmt.Errorf("field \"datacenters\" is %v: must increase from 0 or more", n.Datacenters)
		}
	}
	return checkHex("incarnation", n.Incarnation, 16)
}

// Encode writes the record as it is stored.
func (n Namespace) Encode() ([]byte, error) {
	n.Datacenters, n.Created = append([]int64{}, n.Datacenters...), n.Created.UTC()
	return encode(&n, store.MaxValue)
}

// DecodeNamespace reads a namespace's record. An error wrapping [ErrRecord]
// is returned for every value that this program would not have written.
func DecodeNamespace(value []byte) (Namespace, error) {
	var n Namespace
	if err := decode(value, &n, store.MaxValue); err != nil {
		return Namespace{}, err
	}
	return n, nil
}

// CheckNamespace returns a *[ConfigError] unless name can name a namespace: 1
// to 64 bytes of [a-z0-9._-].
func CheckNamespace(name string) error {
	fault := &ConfigError{Field: "namespace", Value: name, Limit: "must be 1 to 64 of [a-z0-9._-]"}
	if name == "" || len(name) > maxNamespace {
		return fault
	}
	for _, c := range []byte(name) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '.' && c != '_' && c != '-' {
			return fault
		}
	}
	return nil
}

// NamespaceKey is where a namespace's record is stored.
func NamespaceKey(namespace string) string { return NamespacesPrefix + namespace + "/namespace" }

// NamespacesPrefix begins every key of every namespace.
const NamespacesPrefix = "ns/"

// RegisterPrefix begins the keys of a namespace's registers. What follows is
// the worker number in decimal, as wide for all of them as for the greatest.
func RegisterPrefix(namespace string) string { return "ns/" + namespace + "/worker/" }
