package config

import (
	"errors"
	"fmt"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/text"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
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

// blame notes what the fence says of a generator, at the key that it is about.
func (v *completion) blame(path string, err error) {
	var config *stored.ConfigError
	var policy *snowfence.PolicyError
	switch {
	case errors.As(err, &config):
		v.fault(join(path, config.Field), strings.Trim(config.Value, `"`), "%s", config.Limit)
	case errors.As(err, &policy):
		v.fault(join(path, policySection, policy.Field), policy.Value, "%s", policy.Limit)
	default:
		v.fault(path, "", "%s", text.Message(err))
	}
}

// workers holds worker and datacenter to the layout, where both are given: the
// fence knows only the number that they make.
func (v *completion) workers(path string, g Generator) bool {
	if g.Datacenter == nil {
		return true
	}
	key, value, reason := join(path, keyDatacenter), *g.Datacenter, ""
	bits := g.Layout.Bits(snowfence.Datacenter)
	most := int64(1)<<bits - 1
	switch {
	case bits == 0:
		reason = fmt.Sprintf("layout %s has no datacenter", g.Layout)
	case value < 0 || value > most:
		reason = fmt.Sprintf("must be from 0 to %d with layout %s", most, g.Layout)
	case g.Worker != nil:
		key, value, most = join(path, keyWorker), *g.Worker, int64(1)<<g.Layout.Bits(snowfence.Worker)-1
		if value < 0 || value > most {
			reason = fmt.Sprintf("must be from 0 to %d, the workers of one datacenter with layout %s", most, g.Layout)
		}
	}
	if reason != "" {
		v.fault(key, fmt.Sprint(value), "%s", reason)
	}
	return reason == ""
}
