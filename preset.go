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
	// About names the system, and the differences that the policy can't express.
	About string
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
//
// Where a system calls its datacenter or worker by another word, the field's
// Name has it: discord's worker is the Datacenter, its process the Worker.
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
	about  string
}

// preset reads the layout. Tests hold that each of them can be read and is valid.
func (r presetRow) preset() Preset {
	fields, epoch, _ := strings.Cut(r.layout, "@")
	p := layoutParser{text: r.layout, rest: fields}
	l, _ := p.parse()
	l.Epoch, _ = parseEpoch(r.layout, epoch)
	if r.name == "discord" {
		l.Fields[1].Name = "worker" // a word that means another field in a layout's text
	}
	return Preset{r.name, l, r.policy, r.about}
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

const aboutSonyflake = "Sonyflake keeps its logical time when the clock steps back, however far, and sleeps once the tick is full; this does so for at most ten minutes, at half speed, and refuses to wait longer than a call may."

func presetTable() []presetRow {
	zero := SequenceStart{Rule: StartZero}
	rejecting := reject(zero)
	// ShardingSphere's two defaults: max-tolerate-time-difference-milliseconds 10 and
	// max-vibration-offset 1.
	shardingSphere := tolerate(10*time.Millisecond, SequenceStart{StartVibration, 1})
	// It keeps its logical time over every step back of a clock that is not broken.
	sonyflake := Policy{MaxRollback: 10 * time.Minute, MaxBurst: none, Start: zero}
	return []presetRow{
		{"default", "ms41-worker10-seq12@1767225600000", Policy{},
			"Snowfence's own: 1,024 workers with 4,096 ids a millisecond each, until 2095."},
		{"twitter", "ms41-datacenter5-worker5-seq12@1288834974657", rejecting,
			"Twitter's Snowflake of 2010. A clock that stepped back is an error."},
		{"leaf", "ms41-worker10-seq12@1288834974657", tolerate(5*time.Millisecond, SequenceStart{StartRandom, 99}),
			"Meituan's Leaf. A step back of at most 5 ms is waited for. Leaf waits twice the step; this waits as long as needed, at most 10 ms."},
		{"bwmarrin", "ms41-node10-step12@1288834974657", sonyflake,
			"bwmarrin/snowflake in Go, with its defaults: the layout of Leaf. It goes by the monotonic clock, so steps back do not stop it."},
		{"shardingsphere", "ms41-worker10-seq12@1477958400000", shardingSphere,
			"ShardingSphere's key generator since 2026, its epoch 2016-11-01 in UTC. A step back of at most 10 ms is waited for."},
		{"shardingsphere-shanghai", "ms41-worker10-seq12@1477929600000", shardingSphere,
			"ShardingSphere's key generator until 2026, whose epoch is 2016-11-01 in the zone of the server, here Asia/Shanghai; for another zone give its midnight as the epoch."},
		{"jsnowflake", "ms41-datacenter5-worker5-seq12@1577808000000", reject(SequenceStart{StartRandom, 99}),
			"JSnowflake of framework-mesh. A clock that stepped back is an error."},
		{"beyondfeng", "ms41-datacenter5-machine5-seq12@1480166465631", rejecting,
			"beyondfeng's snowflake. A clock that stepped back is an error."},
		{"simple", "ms41-worker5-datacenter5-seq12@1596211200000", rejecting,
			"The simple snowflake's one-off string form, with the worker above the datacenter. A clock that stepped back is an error."},
		{"simple-class", "ms41-datacenter5-worker5-seq12@1596211200000", rejecting,
			"The simple snowflake's class form. A clock that stepped back is an error. The class form never issues sequence 4095; this does."},
		{"simple-addition", "ms41-datacenter5-worker5-seq12@1596211200000", rejecting,
			"The simple snowflake's addition form, which adds the parts up to the same bits as the class form. A clock that stepped back is an error."},
		{"sonyflake-v1", "10ms39-seq8-machine16@1409529600000", sonyflake,
			"Sony's Sonyflake, version 1, with the machine lowest. " + aboutSonyflake},
		{"sonyflake-v2", "10ms39-seq8-machine16@1735689600000", sonyflake,
			"Sony's Sonyflake, version 2 with its default settings, with the machine lowest. " + aboutSonyflake},
		{"baidu", "s28-worker22-seq13@1463673600000", rejecting,
			"Baidu's UidGenerator. It ran out on 2024-11-20. A later epoch alone repeats ids: see docs/running-out.md."},
		{"discord", "unsigned-ms42-datacenter5-process5-increment12@1420070400000", Policy{Start: zero},
			"Discord's ids, of 64 bits: the 64th is set from 2084 on. Discord publishes no rule for its clock, so the default policy stands in."},
		{"instagram", "unsigned-ms41-shard13-seq10@1314220021721", Policy{Start: zero},
			"Instagram's ids, of 64 bits: the 64th is set from 2046 on. Its sequence is a database's, modulo 1024, and never starts again; here it starts at 0, under the default policy."},
		{"mastodon", "unsigned-ms48-seq16@0", Policy{Start: SequenceStart{StartRandom, 1<<16 - 1}},
			"Mastodon's ids, of 64 bits, without a worker: one database numbers them. Its 16 low bits are a hash of the millisecond plus a database's sequence; here they count up from a random start, under the default policy."},
		{"cosid", "ms41-machine10-seq12@1577203200000", reject(SequenceStart{StartCarry, 2047}),
			"CosId's millisecond snowflake, whose sequence goes on from tick to tick. A clock that stepped back is an error."},
		{"seata", "worker10-ms41-seq12@1588435200000", Policy{Start: zero},
			"Seata's transaction ids, with the worker highest: they increase per worker only. Seata reads the clock at its start and then counts time and sequence on as one number; here ids keep to the clock, under the default policy."},
		{"yitter", "ms51-worker6-seq6@1582136402000", Policy{MaxBurst: 2 * time.Second, Start: zero},
			"yitter's IdGenerator with its default widths. Bursts run up to 2,000 ticks ahead, as its own do. It starts each sequence at 5 and keeps 0 to 4 for times that the clock repeats; here sequences start at 0 and each time is stamped once."},
		{"tsid", "unsigned-ms42-node10-counter12@1577836800000", Policy{Start: SequenceStart{StartRandom, 1<<12 - 1}},
			"TSID with 10 bits of node (it takes 0 to 20, the counter has the rest of 22), of 64 bits: the 64th is set from 2089 on. A counter that overflows goes on from 0 in TSID, here from a random start, under the default policy."},
		{"javascript-safe-ms", "ms41-worker3-seq9@1767225600000", Policy{},
			"53 bits, which a JavaScript number holds exactly: 8 workers with 512 ids a millisecond each, until 2095."},
		{"javascript-safe-s", "s31-worker3-seq19@1767225600000", Policy{},
			"53 bits, which a JavaScript number holds exactly: 8 workers with 524,288 ids a second each, in bursts of any shape, until 2094."},
		{"uuid8", "wide-ms48-version4-seq12-variant2-worker20-random42@0", Policy{},
			"UUIDs of version 8 (RFC 9562), wide: the time stands where a UUID of version 7 has it, so both sort together. 1,048,576 workers with 4,096 ids a millisecond each, until 10889."},
		{"objectid", "wide-s32-worker40-seq24@0", Policy{},
			"MongoDB's ObjectIDs, wide: a worker id stands where MongoDB's drivers have five random bytes. 16,777,216 ids a second and worker, until 2106."},
		{"game-server", "wide-ms48-server20-seq16@1767225600000", Policy{},
			"1,048,576 game servers with 65,536 ids a millisecond each, wide: 84 bits, until 6485."},
	}
}
