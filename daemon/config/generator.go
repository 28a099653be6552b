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
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/internal/text"
)

// generator completes one generator and holds it to the rules that concern it alone.
func (v *completion) generator(name string, g Generator) Generator {
	path := join(generatorSection, name)
	if wrong := checkName(name); wrong != "" {
		v.fault(path, name, "%s", wrong)
	}
	if g.Kind == "" && (g.Layout.Wide || g.Layout.IsZero() && v.Layout.Wide) {
		g.Kind = KindWide
	}
	g.Kind = cmp.Or(g.Kind, KindSnowflake)
	g.Namespace = cmp.Or(g.Namespace, v.Namespace)
	if err := stored.CheckNamespace(g.Namespace); err != nil {
		v.blame(path, err)
		return g
	}
	for _, store := range g.Stores {
		if _, ok := v.Stores[store]; !ok {
			if all := strings.Join(g.Stores, ","); strings.Contains(all, ":") {
				store = all // a URL of several hosts, which shows no password as a whole
			}
			v.fault(join(path, keyStore), store, "is not among the names in %s: %s", storeSection, cmp.Or(strings.Join(slices.Sorted(maps.Keys(v.Stores)), ", "), "it has none"))
		}
	}
	if !g.Fenced() {
		v.foreignKind(path, g)
		return g
	}
	v.complete(path+".", generatorKeys(), &g)
	if len(g.Stores) > 1 {
		v.fault(join(path, keyStore), strings.Join(g.Stores, ","), "must be one name: kind %s has one store", g.Kind)
	}
	for key, value := range g.Settings {
		v.fault(join(path, settingSection, key), value, "kind %s has no settings", g.Kind)
	}
	if g.Layout.IsZero() {
		g.Layout = v.layoutFor(g.Kind)
		g.AnyLayout = v.anyLayout && g.Kind == KindSnowflake
	}
	if err := g.Layout.Validate(); err != nil {
		v.fault(join(path, keyLayout), "", "%s", text.Message(err))
		return g // the rest is measured by the layout
	}
	if g.Layout.Wide && g.Kind != KindWide {
		v.fault(join(path, keyLayout), g.Layout.String(), "is for kind %s: must have at most 64 bits", KindWide)
		return g
	} else if g.Kind == KindWide && !g.Layout.Wide {
		v.fault(join(path, keyLayout), g.Layout.String(), "must be wide for kind %s, such as %s", KindWide, wideDefault)
		return g
	}
	switch {
	case g.Standby && g.Layout.Workers() != 1:
		v.fault(join(path, keyStandby), "true", "needs a layout without worker and datacenter bits, such as ms41-seq22: with %s each process has a worker id of its own", g.Layout)
	case g.Standby && v.Store == "" && len(g.Stores) == 0:
		v.fault(join(path, keyStandby), "true", "needs %s to be set: daemons that stand by for each other share one", keyStore)
	case g.Journal == JournalOn && v.Data == "":
		v.fault(join(path, keyJournal), "true", "needs %s to be set", keyData)
	case g.Journal == JournalOn && g.Layout.Workers() == 1:
		v.fault(join(path, keyJournal), "true", "must be off with layout %s, which has one worker id: its order needs the store at each start", g.Layout)
	case g.JournalAcrossReboots && g.Journal != JournalOn:
		v.fault(join(path, keyReboots), "true", "needs %s: true", keyJournal)
	}
	if !v.workers(path, g) {
		return g
	}
	given := g.Fence()
	if g.filled == nil || !reflect.DeepEqual(g.filled.given, given) { // else it was judged before
		complete, err := given.Complete()
		if err != nil {
			v.blame(path, err)
			return g
		}
		g.filled = &filled{given, complete}
	}
	return g
}

// filled is a generator's fence as it was given, and with the defaults that package fence filled in.
type filled struct{ given, complete fence.Config }

// InEffect returns the generator of a complete configuration with the defaults of its window, claim-wait and
// policy. Where the namespace's own layout decides, they are those of the default layout.
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

// CheckWindows returns an [*Error] for each generator of a complete configuration whose window is too short
// for what its store can lose, as far as the store's URL tells that.
func (c Config) CheckWindows() error {
	v := &completion{Config: c}
	for _, name := range c.Names() {
		if g := c.Generators[name]; g.filled != nil {
			if err := g.filled.complete.Outlasts(engine.Loss(c.StoresOf(g)[0])); err != nil {
				v.blame(join(generatorSection, name), err)
			}
		}
	}
	return Join(v.faults...)
}

// Fenced reports whether the generator holds a worker id of its own.
func (g Generator) Fenced() bool { return g.Kind == KindSnowflake || g.Kind == KindWide }

// layoutFor is the layout of a fenced generator that names none.
func (v *completion) layoutFor(kind string) snowfence.Layout {
	if kind == KindWide && !v.Layout.Wide {
		if preset, err := snowfence.PresetByName(wideDefault); err == nil {
			return preset.Layout
		}
	}
	return v.Layout
}

// forEveryKind reports whether generators of every kind have the key.
func (f field) forEveryKind() bool { return f.tag.Get("kinds") == "all" }

// foreignKind judges a generator of a kind other than snowflake.
func (v *completion) foreignKind(path string, g Generator) {
	if !slices.Contains(v.kinds, g.Kind) {
		v.fault(join(path, keyKind), g.Kind, "unknown kind; known are %s", strings.Join(v.kinds, ", "))
	}
	for _, e := range generatorKeys() {
		if e.forEveryKind() {
			continue
		}
		if key := join(path, e.Path); v.origins[key] != (Origin{}) {
			v.fault(key, "", "is not for kind %s", g.Kind)
		}
	}
}

// generatorName is what the name of a generator and of a kind's setting must
// be. Without underscores and capitals, a variable leads back to its key.
var generatorName = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// maxName is the greatest length of a generator's name.
const maxName = 63

// checkName returns what is wrong with a generator's name, or nothing.
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

// AnyKey is the alias that stands for every key of Leaf's path for snowflake ids that is no other name: Leaf does not
// look at keys there.
const AnyKey = "*"

// alias is what an alias must be.
var alias = regexp.MustCompile(`^[!-~]{1,128}$`)

// aliases holds aliases to what they must be. No two generators answer to one name.
func (v *completion) aliases() {
	owner := map[string]string{}
	for _, name := range v.Names() {
		owner[name] = name
	}
	for _, name := range v.Names() {
		for _, other := range v.Generators[name].Aliases {
			switch first, taken := owner[other]; {
			case !alias.MatchString(other):
				v.fault(join(generatorSection, name, keyAliases), other, "each must be 1 to 128 visible ASCII characters")
			case other == AnyKey && v.Generators[name].Kind != KindSnowflake:
				v.fault(join(generatorSection, name, keyAliases), other, "is for kind %s, since Leaf looks at the keys of its segments", KindSnowflake)
			case taken:
				v.fault(join(generatorSection, name, keyAliases), other, "generator %s has this name already", first)
			default:
				owner[other] = name
			}
		}
	}
}

// together holds generators of one namespace to one layout and to one store, since two
// stores give the same worker ids away; and to pin no worker id twice: its ids would be held
// up until one of the two is gone.
func (v *completion) together() {
	layouts := map[string]string{} // name of the first generator, by namespace
	type place struct {
		namespace string
		worker    int64
	}
	pinned := map[place]string{} // name of the first generator
	for _, name := range v.Names() {
		g := v.Generators[name]
		if !g.Fenced() {
			continue
		}
		path := join(generatorSection, name)
		if first, ok := layouts[g.Namespace]; !ok {
			layouts[g.Namespace] = name
		} else if other := v.Generators[first].Layout; !other.Equal(g.Layout) {
			v.fault(join(path, keyLayout), g.Layout.String(), "generator %s has layout %s in the same namespace, %s: a namespace has one layout, so give one of them a namespace of its own", first, other, g.Namespace)
		} else if !slices.Equal(v.StoresOf(v.Generators[first]), v.StoresOf(g)) {
			v.fault(join(path, keyStore), strings.Join(g.Stores, ","), "generator %s has the same namespace, %s, in another store: their ids would collide", first, g.Namespace)
		}
		if number, ok := g.pinnedWorker(); ok {
			at := place{g.Namespace, number}
			if first, taken := pinned[at]; taken {
				v.fault(join(path, keyWorker), fmt.Sprint(*g.Worker), "generator %s pins the same worker id of the same namespace, %s", first, g.Namespace)
				continue
			}
			pinned[at] = name
		}
	}
}

// agree gives a generator without a layout that of another one in its namespace.
func (v *completion) agree() {
	given := map[string]snowfence.Layout{} // by namespace
	namespace := func(g Generator) string { return cmp.Or(g.Namespace, v.Namespace) }
	for _, g := range v.Generators {
		if !g.Layout.IsZero() && !g.Layout.Wide && !g.AnyLayout {
			given[namespace(g)] = g.Layout
		}
	}
	for name, g := range v.Generators {
		if layout, ok := given[namespace(g)]; ok && v.anyLayout && g.Layout.IsZero() && (g.Kind == "" || g.Kind == KindSnowflake) {
			g.Layout = layout
			v.Generators[name] = g
		}
	}
}

// forever is the claim-wait of a generator that stands by: 146 years.
const forever time.Duration = 1 << 62

// Fence returns what a holder for this generator is opened with. The store,
// the process, the clock and the logger are for the caller to add.
func (g Generator) Fence() fence.Config {
	c := fence.Config{
		Namespace: g.Namespace, Layout: g.Layout, Policy: g.Policy, Window: g.Window, ClaimWait: g.ClaimWait,
		Datacenters: g.Datacenters, Datacenter: g.Datacenter, Workers: g.Workers,
	}
	if g.Standby {
		c.ClaimWait = forever
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
		v.fault(join(path, config.Field), config.Value, "%s", config.Limit)
	case errors.As(err, &policy):
		v.fault(join(path, policySection, policy.Field), policy.Value, "%s", policy.Limit)
	default:
		v.fault(path, "", "%s", text.Message(err))
	}
}

// workers holds worker and datacenter to the layout: the fence knows only the one number.
func (v *completion) workers(path string, g Generator) bool {
	if g.Datacenter == nil {
		return true
	}
	most := func(f snowfence.FieldKind) int64 { return 1<<g.Layout.Bits(f) - 1 }
	datacenters, workers := most(snowfence.Datacenter), most(snowfence.Worker)
	switch n := *g.Datacenter; {
	case datacenters == 0:
		v.fault(join(path, keyDatacenter), fmt.Sprint(n), "layout %s has no datacenter", g.Layout)
	case n < 0 || n > datacenters:
		v.fault(join(path, keyDatacenter), fmt.Sprint(n), "must be from 0 to %d with layout %s", datacenters, g.Layout)
	case g.Worker != nil && (*g.Worker < 0 || *g.Worker > workers):
		v.fault(join(path, keyWorker), fmt.Sprint(*g.Worker), "must be from 0 to %d, the workers of one datacenter with layout %s", workers, g.Layout)
	default:
		return true
	}
	return false
}
