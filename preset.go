package snowfence

import (
	"fmt"
	"strings"
	"time"
)

// Preset is a layout with a name. It is another system's layout, to read its ids or to go on
// from them, with the [Policy] closest to that system's.
type Preset struct {
	// Name is lower-case, with hyphens.
	Name string
	// Layout is the layout of the system's ids.
	Layout Layout
	// Policy treats the clock and the sequence as the system does.
	Policy Policy
}

// PresetByName returns the preset of that name. An error that lists the names is returned for an
// unknown name.
func PresetByName(name string) (Preset, error) {
	if row, ok := presetNamed(name); ok {
		return row.preset(), nil
	}
	return Preset{}, fmt.Errorf("snowfence: no preset is named %q; there are %s", name, presetNames())
}

// Presets returns the presets of up to 64 bits, the default first. docs/kinds.md lists their layouts.
// Each call makes new ones, so the caller may change them.
// Discord's worker is the datacenter, and its process the worker.
func Presets() []Preset { return presets(false) }

// WidePresets returns the presets of wide layouts. Each call makes new ones, so the caller may
// change them.
func WidePresets() []Preset { return presets(true) }

func presets(wide bool) []Preset {
	var all []Preset
	for _, row := range presetTable() {
		if p := row.preset(); p.Layout.Wide == wide {
			all = append(all, p)
		}
	}
	return all
}

// presetRow is a preset with its layout as a text, which [ParseLayout] reads too.
type presetRow struct {
	name   string
	layout string
	policy Policy
}

// preset reads the layout. Tests hold that each of them can be read and is valid.
func (r presetRow) preset() Preset {
	fields, epoch, _ := strings.Cut(r.layout, "@")
	l, _ := parseFields(fields)
	l.Epoch, _ = parseEpoch(epoch)
	return Preset{r.name, l, r.policy}
}

func presetNamed(name string) (presetRow, bool) {
	for _, row := range presetTable() {
		if row.name == name {
			return row, true
		}
	}
	return presetRow{}, false
}

// presetNames lists the names for a message.
func presetNames() string {
	var names []string
	for _, row := range presetTable() {
		names = append(names, row.name)
	}
	return strings.Join(names, ", ")
}

// none is the shortest duration, which a policy takes for zero.
const none = time.Nanosecond

// reject is the policy of generators that read the wall clock at every call, fail after a
// step back and wait only for the next tick.
func reject(start SequenceStart) Policy {
	return Policy{MaxRollback: none, MaxBurst: none, WallEveryCall: true, Start: start}
}

// tolerate is reject, except that it waits for a step back, 10 ms at most.
func tolerate(rollback time.Duration, start SequenceStart) Policy {
	p := reject(start)
	p.MaxRollback, p.MaxWait = rollback, 10*time.Millisecond
	return p
}

func presetTable() []presetRow {
	zero := SequenceStart{Rule: StartZero}
	rejecting := reject(zero)
	// ShardingSphere's two defaults: max-tolerate-time-difference-milliseconds 10 and
	// max-vibration-offset 1.
	shardingSphere := tolerate(10*time.Millisecond, SequenceStart{StartVibration, 1})
	// It keeps its logical time over every step back of a clock that is not broken.
	sonyflake := Policy{MaxRollback: 10 * time.Minute, MaxBurst: none, Start: zero}
	return []presetRow{
		{"default", "ms41-worker10-seq12@2026-01-01T00:00:00Z", Policy{}},
		{"twitter", "ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z", rejecting},
		{"leaf", "ms41-worker10-seq12@2010-11-04T01:42:54.657Z", tolerate(5*time.Millisecond, SequenceStart{StartRandom, 99})},
		{"bwmarrin", "ms41-worker10-seq12@2010-11-04T01:42:54.657Z", sonyflake},
		{"shardingsphere", "ms41-worker10-seq12@2016-11-01T00:00:00Z", shardingSphere},
		{"shardingsphere-shanghai", "ms41-worker10-seq12@2016-10-31T16:00:00Z", shardingSphere},
		{"jsnowflake", "ms41-datacenter5-worker5-seq12@2019-12-31T16:00:00Z", reject(SequenceStart{StartRandom, 99})},
		{"beyondfeng", "ms41-datacenter5-worker5-seq12@2016-11-26T13:21:05.631Z", rejecting},
		{"simple", "ms41-worker5-datacenter5-seq12@2020-07-31T16:00:00Z", rejecting},
		{"simple-class", "ms41-datacenter5-worker5-seq12@2020-07-31T16:00:00Z", rejecting},
		{"simple-addition", "ms41-datacenter5-worker5-seq12@2020-07-31T16:00:00Z", rejecting},
		{"sonyflake-v1", "10ms39-seq8-worker16@2014-09-01T00:00:00Z", sonyflake},
		{"sonyflake-v2", "10ms39-seq8-worker16@2025-01-01T00:00:00Z", sonyflake},
		{"baidu", "s28-worker22-seq13@2016-05-19T16:00:00Z", rejecting},
		// Discord, Instagram, Mastodon, Seata and TSID publish no rule for their clocks, so the default one stands in.
		{"discord", "unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z", Policy{Start: zero}},
		{"instagram", "unsigned-ms41-worker13-seq10@2011-08-24T21:07:01.721Z", Policy{Start: zero}},
		{"mastodon", "unsigned-ms48-seq16@1970-01-01T00:00:00Z", Policy{Start: SequenceStart{StartRandom, 1<<16 - 1}}},
		// CosId's sequence goes on from tick to tick.
		{"cosid", "ms41-worker10-seq12@2019-12-24T16:00:00Z", reject(SequenceStart{StartCarry, 2047})},
		{"seata", "worker10-ms41-seq12@2020-05-02T16:00:00Z", Policy{Start: zero}},
		// yitter's own bursts run up to 2,000 ticks ahead.
		{"yitter", "ms51-worker6-seq6@2020-02-19T18:20:02Z", Policy{MaxBurst: 2 * time.Second, Start: zero}},
		{"tsid", "unsigned-ms42-worker10-seq12@2020-01-01T00:00:00Z", Policy{Start: SequenceStart{StartRandom, 1<<12 - 1}}},
		{"javascript-safe-ms", "ms41-worker3-seq9@2026-01-01T00:00:00Z", Policy{}},
		{"javascript-safe-s", "s31-worker3-seq19@2026-01-01T00:00:00Z", Policy{}},
		{"uuid8", "wide-ms48-version4-seq12-variant2-worker20-random42@1970-01-01T00:00:00Z", Policy{}},
		{"objectid", "wide-s32-worker40-seq24@1970-01-01T00:00:00Z", Policy{}},
		{"game-server", "wide-ms48-worker20-seq16@2026-01-01T00:00:00Z", Policy{}},
	}
}
