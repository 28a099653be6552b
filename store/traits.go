package store

import (
	"fmt"
	"time"
)

// Traits are a store's possible loss and its reach.
type Traits struct {
	// Engine is the engine's name, for people: "memory", "file", "etcd".
	Engine string

	// Durable is true if an acknowledged swap survives every failure that the
	// engine is made for. If it is false the store is lossy, and Loss shows how
	// much.
	Durable bool

	// Loss is the greatest age of an acknowledged write that a failure can take
	// away, counted from its acknowledgement. It is zero if the store is
	// durable, and positive if it is not.
	Loss time.Duration

	// OneHost is true if the registers can be reached from one host only.
	OneHost bool
}

// Validate returns an error that names the field, its value and its limit if
// the traits contradict themselves.
func (t Traits) Validate() error {
	switch {
	case t.Engine == "":
		return fmt.Errorf("store: traits: engine: empty, must name the engine")
	case t.Durable && t.Loss != 0:
		return fmt.Errorf("store: traits: loss %v: must be 0 on a durable store", t.Loss)
	case !t.Durable && t.Loss <= 0:
		return fmt.Errorf("store: traits: loss %v: must be more than 0 on a lossy store", t.Loss)
	}
	return nil
}

// String returns the traits as people read them: "file: durable, one host".
func (t Traits) String() string {
	keeps := "durable"
	if !t.Durable {
		keeps = fmt.Sprintf("can lose %v", t.Loss)
	}
	reach := "many hosts"
	if t.OneHost {
		reach = "one host"
	}
	return fmt.Sprintf("%s: %s, %s", t.Engine, keeps, reach)
}
