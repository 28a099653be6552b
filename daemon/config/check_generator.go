package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/text"
)

// completeGenerator completes one generator and holds it to the rules that concern it alone. A fault ends the rules that
// build on it.
func (d *draft) completeGenerator(name string, g Generator) Generator {
	path := join(generatorSection, name)
	if wrong := checkName(name); wrong != "" {
		d.fault(path, name, "%s", wrong)
	}
	if g.Kind == "" && (g.Layout.Wide || g.Layout.IsZero() && d.Layout.Wide) {
		g.Kind = KindWide
	}
	g.Kind = cmp.Or(g.Kind, KindSnowflake)
	g.Namespace = cmp.Or(g.Namespace, d.Namespace)
	if g.Fenced() && g.Layout.IsZero() {
		g.Layout, g.AnyLayout = d.layoutFor(g)
	}
	if err := stored.CheckNamespace(g.Namespace); err != nil {
		d.blame(path, err)
		return g
	}
	for _, store := range g.Stores {
		if _, ok := d.Stores[store]; !ok {
			if all := strings.Join(g.Stores, ","); strings.Contains(all, ":") {
				store = all // a URL of several hosts: only the whole URL is shown without its password
			}
			d.fault(join(path, "store"), store, "is not among the names in %s: %s", storeSection, cmp.Or(strings.Join(slices.Sorted(maps.Keys(d.Stores)), ", "), "it has none"))
		}
	}
	if !g.Fenced() {
		d.foreignKind(path, g)
		return g
	}
	d.completeFields(path+".", d.generator, &g)
	g.LendShare = cmp.Or(g.LendShare, new(defaultLendShare))
	if share := *g.LendShare; share < 0 || share > 100 {
		d.fault(join(path, "lend-share"), fmt.Sprint(share), "must be a whole number of percent, from 0 to 100")
	}
	if len(g.Stores) > 1 {
		d.fault(join(path, "store"), strings.Join(g.Stores, ","), "must be one name: kind %s has one store", g.Kind)
	}
	for key, value := range g.Settings {
		d.fault(join(path, settingSection, key), value, "kind %s has no settings", g.Kind)
	}
	if !d.layoutFits(path, g) {
		return g
	}
	d.processes(path, g)
	if given := g.Fence(); d.datacenter(path, g) && (g.filled == nil || !reflect.DeepEqual(g.filled.given, given)) { // else it was judged before
		complete, err := given.Complete()
		if err != nil {
			d.blame(path, err)
			return g
		}
		g.filled = &filled{given, complete}
	}
	return g
}

// defaultLendShare leaves half of the worker ids to daemons and Go programs.
const defaultLendShare int64 = 50

// foreignKind judges a generator that is not fenced.
func (d *draft) foreignKind(path string, g Generator) {
	if !slices.Contains(d.kinds, g.Kind) {
		d.fault(join(path, "kind"), g.Kind, "unknown kind; known are %s", strings.Join(d.kinds, ", "))
	}
	for _, f := range d.generator {
		if key := join(path, f.name); !f.forEveryKind() && d.set[key].origin != (Origin{}) {
			d.fault(key, "", "is not for kind %s", g.Kind)
		}
	}
}

// layoutFor returns the layout of a fenced generator without a layout. free is true if the namespace may have another.
func (d *draft) layoutFor(g Generator) (layout snowfence.Layout, free bool) {
	if g.Kind == KindWide && !d.Layout.Wide {
		preset, err := snowfence.PresetByName(wideDefault)
		if err != nil {
			return d.Layout, false
		}
		return preset.Layout, false
	}
	return d.Layout, d.anyLayout && g.Kind == KindSnowflake
}

// layoutFits reports whether the layout is valid and of the generator's kind: the rest is measured by it.
func (d *draft) layoutFits(path string, g Generator) bool {
	err, key := g.Layout.Validate(), join(path, "layout")
	switch {
	case err != nil:
		d.fault(key, "", "%s", text.Message(err))
	case g.Layout.Wide && g.Kind != KindWide:
		d.fault(key, g.Layout.String(), "is for kind %s: must have at most 64 bits", KindWide)
	case !g.Layout.Wide && g.Kind == KindWide:
		d.fault(key, g.Layout.String(), "must be wide for kind %s, such as %s", KindWide, wideDefault)
	default:
		return true
	}
	return false
}

// processes judges how the processes of a generator follow each other.
func (d *draft) processes(path string, g Generator) {
	wrong := func(key, reason string, args ...any) { d.fault(join(path, key), "true", reason, args...) }
	switch {
	case g.Standby && g.Layout.Workers() != 1:
		wrong("standby", "needs a layout without worker and datacenter bits, such as ms41-seq22: with %s each process has a worker id of its own", g.Layout)
	case g.Standby && d.Store == "" && len(g.Stores) == 0:
		wrong("standby", "needs %s to be set: daemons that stand by for each other share one", "store")
	case g.Journal == JournalOn && d.Data == "":
		wrong("journal", "needs %s to be set", "data")
	case g.Journal == JournalOn && g.Layout.Workers() == 1:
		wrong("journal", "must be off with layout %s, which has one worker id: its order needs the store at each start", g.Layout)
	}
}

// datacenter holds worker and datacenter to the layout: the fence knows only the one number.
func (d *draft) datacenter(path string, g Generator) bool {
	if g.Datacenter == nil {
		return true
	}
	most := func(f snowfence.FieldKind) int64 { return 1<<g.Layout.Bits(f) - 1 }
	datacenters, workers, key := most(snowfence.Datacenter), most(snowfence.Worker), join(path, "datacenter")
	switch n := *g.Datacenter; {
	case datacenters == 0:
		d.fault(key, fmt.Sprint(n), "layout %s has no datacenter", g.Layout)
	case n < 0 || n > datacenters:
		d.fault(key, fmt.Sprint(n), "must be from 0 to %d with layout %s", datacenters, g.Layout)
	case g.Worker != nil && (*g.Worker < 0 || *g.Worker > workers):
		d.fault(join(path, "worker"), fmt.Sprint(*g.Worker), "must be from 0 to %d, the workers of one datacenter with layout %s", workers, g.Layout)
	default:
		return true
	}
	return false
}

// blame notes the fault that the fence finds in a generator, at the key that it is about.
func (d *draft) blame(path string, err error) {
	if config, ok := errors.AsType[*stored.ConfigError](err); ok {
		d.fault(join(path, config.Field), config.Value, "%s", config.Limit)
	} else if policy, ok := errors.AsType[*snowfence.PolicyError](err); ok {
		d.fault(join(path, "policy", policy.Field), policy.Value, "%s", policy.Limit)
	} else {
		d.fault(path, "", "%s", text.Message(err))
	}
}

// generatorName matches the name of a generator and of a kind's setting. Without underscores and
// capitals, a variable leads back to its key.
var generatorName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the greatest length of a generator's name.
const maxName = 63

// checkName returns the fault of a generator's name, or an empty text.
func checkName(name string) string {
	switch {
	case len(name) > maxName || !generatorName.MatchString(name):
		return fmt.Sprintf("must be at most %d lower-case letters, digits and single hyphens between them, beginning with a letter", maxName)
	case strings.HasSuffix(name, "-"+settingSection) || strings.Contains(name, "-"+settingSection+"-"):
		// Its variables would read as settings of another generator.
		return fmt.Sprintf("must not have the word %q after the first", settingSection)
	}
	return ""
}

// AnyKey is the alias for every other key of Leaf's path for snowflake ids: Leaf does not look at keys there.
const AnyKey = "*"

// alias matches an alias.
var alias = regexp.MustCompile(`^[!-~]{1,128}$`)

// aliases checks the form of aliases, and that each name leads to one generator.
func (d *draft) aliases() {
	owner := map[string]string{}
	for _, name := range d.Names() {
		owner[name] = name
	}
	for _, name := range d.Names() {
		g, key := d.Generators[name], join(generatorSection, name, "aliases")
		for _, other := range g.Aliases {
			switch first, taken := owner[other]; {
			case !alias.MatchString(other):
				d.fault(key, other, "each must be 1 to 128 visible ASCII characters")
			case other == AnyKey && g.Kind != KindSnowflake:
				d.fault(key, other, "is for kind %s, since Leaf looks at the keys of its segments", KindSnowflake)
			case taken:
				d.fault(key, other, "generator %s has this name already", first)
			default:
				owner[other] = name
			}
		}
	}
}

// together holds generators of one namespace to one layout and to one store, since two stores give the
// same worker ids away. It refuses a worker id that two generators pin: one of them would wait until
// the other is gone.
func (d *draft) together() {
	layouts, pinned := map[string]string{}, map[string]string{} // name of the first generator, by namespace and by its worker id
	for _, name := range d.Names() {
		g, path := d.Generators[name], join(generatorSection, name)
		if !g.Fenced() {
			continue
		}
		if first, ok := layouts[g.Namespace]; !ok {
			layouts[g.Namespace] = name
		} else if other := d.Generators[first].Layout; !other.Equal(g.Layout) {
			d.fault(join(path, "layout"), g.Layout.String(), "generator %s has layout %s in the same namespace, %s: a namespace has one layout, so give one of them a namespace of its own", first, other, g.Namespace)
		} else if !slices.Equal(d.StoresOf(d.Generators[first]), d.StoresOf(g)) {
			d.fault(join(path, "store"), strings.Join(g.Stores, ","), "generator %s has the same namespace, %s, in another store: their ids would collide", first, g.Namespace)
		}
		if number, ok := g.pinnedWorker(); ok {
			at := fmt.Sprint(g.Namespace, " ", number)
			if first, taken := pinned[at]; taken {
				d.fault(join(path, "worker"), fmt.Sprint(*g.Worker), "generator %s pins the same worker id of the same namespace, %s", first, g.Namespace)
			} else {
				pinned[at] = name
			}
		}
	}
}
