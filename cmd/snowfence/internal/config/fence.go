package config

import (
	"errors"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/lease"
)

// Fence returns what a holder for this generator is opened with. The store,
// the process, the clock and the logger are for the caller to add.
func (g Generator) Fence() fence.Config {
	c := fence.Config{
		Namespace:   g.Namespace,
		Layout:      g.Layout,
		Policy:      g.Policy,
		Datacenters: g.Datacenters,
		Datacenter:  g.Datacenter,
		Window:      g.Window,
		ClaimWait:   g.ClaimWait,
	}
	if number, ok := g.pinnedWorker(); ok {
		c.Worker, c.Datacenter = &number, nil // the number holds the datacenter
	}
	return c
}

// pinnedWorker returns the worker number that the generator pins, in the
// numbering of the fence: the datacenter id above the worker id. ok is false
// when it pins none, and when the numbers don't fit the layout.
func (g Generator) pinnedWorker() (number int64, ok bool) {
	switch {
	case g.Worker == nil:
		return 0, false
	case g.Datacenter == nil:
		return *g.Worker, true
	}
	number, err := g.Layout.WorkerNumber(*g.Datacenter, *g.Worker)
	return number, err == nil
}

// lease holds a generator to what the fence asks of it, and takes the fence's
// defaults over.
func (v *completion) lease(path string, g *Generator) {
	c := g.Fence()
	state, err := lease.New(lease.Config{
		Namespace:   c.Namespace,
		Layout:      c.Layout,
		Datacenters: c.Datacenters,
		Datacenter:  c.Datacenter,
		Worker:      c.Worker,
		Window:      c.Window,
		ClaimWait:   c.ClaimWait,
		MaxRollback: g.Policy.WithDefaults(g.Layout).MaxRollback,
	})
	if err != nil {
		v.leaseFault(path, err)
		return
	}
	complete := state.Config()
	g.Window, g.ClaimWait = complete.Window, complete.ClaimWait
}

// leaseFault notes what the fence says of a generator.
func (v *completion) leaseFault(path string, err error) {
	var bad *lease.ConfigError
	if errors.As(err, &bad) {
		v.fault(join(path, bad.Field), strings.Trim(bad.Value, `"`), "%s", bad.Limit)
		return
	}
	v.fault(path, "", "%s", reason(err))
}

// workers holds worker and datacenter to the layout, where both are given: the
// fence knows the number only that they make.
func (v *completion) workers(path string, g Generator) bool {
	if g.Datacenter == nil {
		return true
	}
	if bits := g.Layout.Bits(snowfence.Datacenter); bits == 0 {
		v.fault(join(path, keyDatacenter), show(*g.Datacenter), "layout %s has no datacenter", g.Layout)
		return false
	} else if most := int64(1)<<bits - 1; *g.Datacenter < 0 || *g.Datacenter > most {
		v.fault(join(path, keyDatacenter), show(*g.Datacenter), "must be from 0 to %d with layout %s", most, g.Layout)
		return false
	}
	if g.Worker == nil {
		return true
	}
	if most := int64(1)<<g.Layout.Bits(snowfence.Worker) - 1; *g.Worker < 0 || *g.Worker > most {
		v.fault(join(path, keyWorker), show(*g.Worker), "must be from 0 to %d, the workers of one datacenter with layout %s", most, g.Layout)
		return false
	}
	return true
}
