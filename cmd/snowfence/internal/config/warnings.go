package config

import (
	"fmt"
	"slices"
	"time"
)

// horizonNotice is how long before its layout's horizon a generator is warned
// of: what a fence warns of while it runs.
const horizonNotice = 365 * 24 * time.Hour

// Warnings returns what is odd about the sources but keeps nothing from
// working.
func (c Config) Warnings() []string { return slices.Clone(c.warnings) }

// LayoutWarnings returns which generators of a complete configuration can't
// mint at an instant, or not for another year, because their layouts' time bits
// don't reach that far.
func (c Config) LayoutWarnings(now time.Time) []string {
	var warnings []string
	for _, name := range c.Names() {
		g := c.Generators[name]
		if g.Kind != KindSnowflake {
			continue
		}
		path := join(generatorSection, name, keyLayout)
		warn := func(format string, at time.Time) {
			warnings = append(warnings, fmt.Sprintf("%s: %s: %s: "+format, c.originOf(path), path, g.Layout, at.UTC().Format(time.DateOnly)))
		}
		switch horizon := g.Layout.Horizon(); {
		case now.Before(g.Layout.Epoch):
			warn("its epoch, %s, lies ahead: no ids can be minted before", g.Layout.Epoch)
		case !now.Before(horizon):
			warn("ran out on %s: no ids can be minted", horizon)
		case horizon.Sub(now) < horizonNotice:
			warn("runs out on %s, in less than a year: plan another namespace", horizon)
		}
	}
	return warnings
}
