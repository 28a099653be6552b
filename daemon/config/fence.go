package config

import (
	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/fence"
)

// Fenced reports whether the generator holds a worker id of its own.
func (g Generator) Fenced() bool { return g.Kind == KindSnowflake || g.Kind == KindWide }

// Fence returns the config of this generator's holder. The caller adds the store, the process, the
// clock and the logger.
func (g Generator) Fence() fence.Config {
	c := fence.Config{
		Namespace: g.Namespace, Layout: g.Layout, Policy: g.Policy, Window: g.Window, ClaimWait: g.ClaimWait,
		Datacenters: g.Datacenters, Datacenter: g.Datacenter, Workers: g.Workers,
	}
	if g.Standby {
		c.ClaimWait = 1 << 62 // 146 years
	}
	if g.AnyLayout {
		c.Layout = snowfence.Layout{}
	}
	if number, ok := g.pinnedWorker(); ok {
		c.Worker, c.Datacenter = &number, nil // the number holds the datacenter
	}
	return c
}

// pinnedWorker returns the worker number that the generator pins, in the
// numbering of the fence: the datacenter id above the worker id. ok is false without a pinned worker
// id, and when the numbers don't fit the layout.
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

// filled is a generator's fence as it was given, and with the defaults that package fence filled in.
type filled struct{ given, complete fence.Config }

// InEffect returns the generator of a complete configuration with the defaults of its window, claim-wait and
// policy. Where the namespace's own layout decides, they are the default layout's defaults.
func (g Generator) InEffect() Generator {
	if g.filled == nil {
		return g
	}
	c := g.filled.complete
	g.Window, g.Policy = c.Window, c.Policy
	if !g.Standby {
		g.ClaimWait = c.ClaimWait
	}
	return g
}

// CheckWindows returns an [*Error] for each generator of a complete configuration whose window is too
// short for the loss of its store, as far as the store's URL shows the loss.
func (c Config) CheckWindows() error {
	d := &draft{Config: c}
	for _, name := range c.Names() {
		if g := c.Generators[name]; g.filled != nil {
			if err := g.filled.complete.Outlasts(engine.Loss(c.StoresOf(g)[0])); err != nil {
				d.blame(join(generatorSection, name), err)
			}
		}
	}
	return Join(d.faults...)
}
