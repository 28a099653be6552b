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

// PresetByName returns the preset of that name. An error that lists the names
// is returned when there is none.
func PresetByName(name string) (Preset, error) {
	if p, ok := presetNamed(name); ok {
		return p, nil
	}
	return Preset{}, fmt.Errorf("snowfence: no preset is named %q; there are %s", name, strings.Join(presetNames(), ", "))
}

func presetNamed(name string) (Preset, bool) {
	for _, p := range allPresets() {
		if p.Name == name {
			return p, true
		}
	}
	return Preset{}, false
}

func allPresets() []Preset { return append(Presets(), WidePresets()...) }

func presetNames() []string {
	var names []string
	for _, p := range allPresets() {
		names = append(names, p.Name)
	}
	return names
}

// Presets returns the presets of up to 64 bits, the default first. Each call makes new ones, so the caller
// may change them.
//
//	name                     fields, highest first                           epoch, Unix ms
//	default                  ms 41 · worker 10 · sequence 12                 1767225600000
//	twitter                  ms 41 · datacenter 5 · worker 5 · sequence 12   1288834974657
//	leaf                     ms 41 · worker 10 · sequence 12                 1288834974657
//	bwmarrin                 ms 41 · node 10 · step 12                       1288834974657
//	shardingsphere           ms 41 · worker 10 · sequence 12                 1477958400000
//	shardingsphere-shanghai  ms 41 · worker 10 · sequence 12                 1477929600000
//	jsnowflake               ms 41 · datacenter 5 · worker 5 · sequence 12   1577808000000
//	beyondfeng               ms 41 · datacenter 5 · machine 5 · sequence 12  1480166465631
//	simple                   ms 41 · worker 5 · datacenter 5 · sequence 12   1596211200000
//	simple-class             ms 41 · datacenter 5 · worker 5 · sequence 12   1596211200000
//	simple-addition          ms 41 · datacenter 5 · worker 5 · sequence 12   1596211200000
//	sonyflake-v1             10 ms 39 · sequence 8 · machine 16              1409529600000
//	sonyflake-v2             10 ms 39 · sequence 8 · machine 16              1735689600000
//	baidu                    s 28 · worker 22 · sequence 13                  1463673600000
//	discord                  ms 42 · worker 5 · process 5 · increment 12     1420070400000  64 bits
//	instagram                ms 41 · shard 13 · sequence 10                  1314220021721  64 bits
//	mastodon                 ms 48 · sequence 16                             0              64 bits
//	cosid                    ms 41 · machine 10 · sequence 12                1577203200000
//	seata                    worker 10 · ms 41 · sequence 12                 1588435200000
//	yitter                   ms 51 · worker 6 · sequence 6                   1582136402000
//	tsid                     ms 42 · node 10 · counter 12                    1577836800000  64 bits
//	javascript-safe-ms       ms 41 · worker 3 · sequence 9                   1767225600000  53 bits
//	javascript-safe-s        s 31 · worker 3 · sequence 19                   1767225600000  53 bits
//
// Where a system calls its datacenter or worker by another word, the field's
// Name has it: discord's worker is the Datacenter, its process the Worker.
func Presets() []Preset {
	return []Preset{
		{
			Name:   "default",
			Layout: DefaultLayout(),
			About:  "Snowfence's own: 1,024 workers with 4,096 ids a millisecond each, until 2095.",
		},
		{
			Name:   "twitter",
			Layout: milliseconds(1288834974657, Field{Time, 41, ""}, Field{Datacenter, 5, ""}, Field{Worker, 5, ""}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "Twitter's Snowflake of 2010. A clock that stepped back is an error.",
		},
		{
			Name:   "leaf",
			Layout: milliseconds(1288834974657, Field{Time, 41, ""}, Field{Worker, 10, ""}, Field{Sequence, 12, ""}),
			Policy: tolerate(5*time.Millisecond, SequenceStart{StartRandom, 99}),
			About:  "Meituan's Leaf. A step back of at most 5 ms is waited for. Leaf waits twice the step; this waits as long as needed, at most 10 ms.",
		},
		{
			Name:   "bwmarrin",
			Layout: milliseconds(1288834974657, Field{Time, 41, ""}, Field{Worker, 10, "node"}, Field{Sequence, 12, "step"}),
			Policy: sonyflakePolicy(),
			About:  "bwmarrin/snowflake in Go, with its defaults: the layout of Leaf. It goes by the monotonic clock, so steps back do not stop it.",
		},
		{
			Name:   "shardingsphere",
			Layout: milliseconds(1477958400000, Field{Time, 41, ""}, Field{Worker, 10, ""}, Field{Sequence, 12, ""}),
			Policy: shardingSpherePolicy(),
			About:  "ShardingSphere's key generator since 2026, its epoch 2016-11-01 in UTC. A step back of at most 10 ms is waited for.",
		},
		{
			Name:   "shardingsphere-shanghai",
			Layout: milliseconds(1477929600000, Field{Time, 41, ""}, Field{Worker, 10, ""}, Field{Sequence, 12, ""}),
			Policy: shardingSpherePolicy(),
			About:  "ShardingSphere's key generator until 2026, whose epoch is 2016-11-01 in the zone of the server, here Asia/Shanghai; for another zone give its midnight as the epoch.",
		},
		{
			Name:   "jsnowflake",
			Layout: milliseconds(1577808000000, Field{Time, 41, ""}, Field{Datacenter, 5, ""}, Field{Worker, 5, ""}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{StartRandom, 99}),
			About:  "JSnowflake of framework-mesh. A clock that stepped back is an error.",
		},
		{
			Name:   "beyondfeng",
			Layout: milliseconds(1480166465631, Field{Time, 41, ""}, Field{Datacenter, 5, ""}, Field{Worker, 5, "machine"}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "beyondfeng's snowflake. A clock that stepped back is an error.",
		},
		{
			Name:   "simple",
			Layout: milliseconds(1596211200000, Field{Time, 41, ""}, Field{Worker, 5, ""}, Field{Datacenter, 5, ""}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "The simple snowflake's one-off string form, with the worker above the datacenter. A clock that stepped back is an error.",
		},
		{
			Name:   "simple-class",
			Layout: milliseconds(1596211200000, Field{Time, 41, ""}, Field{Datacenter, 5, ""}, Field{Worker, 5, ""}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "The simple snowflake's class form. A clock that stepped back is an error. The class form never issues sequence 4095; this does.",
		},
		{
			Name:   "simple-addition",
			Layout: milliseconds(1596211200000, Field{Time, 41, ""}, Field{Datacenter, 5, ""}, Field{Worker, 5, ""}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "The simple snowflake's addition form, which adds the parts up to the same bits as the class form. A clock that stepped back is an error.",
		},
		{
			Name:   "sonyflake-v1",
			Layout: newLayout(10*time.Millisecond, 1409529600000, Field{Time, 39, ""}, Field{Sequence, 8, ""}, Field{Worker, 16, "machine"}),
			Policy: sonyflakePolicy(),
			About:  "Sony's Sonyflake, version 1, with the machine lowest. " + aboutSonyflake,
		},
		{
			Name:   "sonyflake-v2",
			Layout: newLayout(10*time.Millisecond, 1735689600000, Field{Time, 39, ""}, Field{Sequence, 8, ""}, Field{Worker, 16, "machine"}),
			Policy: sonyflakePolicy(),
			About:  "Sony's Sonyflake, version 2 with its default settings, with the machine lowest. " + aboutSonyflake,
		},
		{
			Name:   "baidu",
			Layout: newLayout(time.Second, 1463673600000, Field{Time, 28, ""}, Field{Worker, 22, ""}, Field{Sequence, 13, ""}),
			Policy: reject(SequenceStart{Rule: StartZero}),
			About:  "Baidu's UidGenerator. It ran out on 2024-11-20. A later epoch alone repeats ids: see docs/running-out.md.",
		},
		{
			Name:   "discord",
			Layout: unsigned(milliseconds(1420070400000, Field{Time, 42, ""}, Field{Datacenter, 5, "worker"}, Field{Worker, 5, "process"}, Field{Sequence, 12, "increment"})),
			Policy: Policy{Start: SequenceStart{Rule: StartZero}},
			About:  "Discord's ids, of 64 bits: the 64th is set from 2084 on. Discord publishes no rule for its clock, so the default policy stands in.",
		},
		{
			Name:   "instagram",
			Layout: unsigned(milliseconds(1314220021721, Field{Time, 41, ""}, Field{Worker, 13, "shard"}, Field{Sequence, 10, ""})),
			Policy: Policy{Start: SequenceStart{Rule: StartZero}},
			About:  "Instagram's ids, of 64 bits: the 64th is set from 2046 on. Its sequence is a database's, modulo 1024, and never starts again; here it starts at 0, under the default policy.",
		},
		{
			Name:   "mastodon",
			Layout: unsigned(milliseconds(0, Field{Time, 48, ""}, Field{Sequence, 16, ""})),
			Policy: Policy{Start: SequenceStart{StartRandom, 1<<16 - 1}},
			About:  "Mastodon's ids, of 64 bits, without a worker: one database numbers them. Its 16 low bits are a hash of the millisecond plus a database's sequence; here they count up from a random start, under the default policy.",
		},
		{
			Name:   "cosid",
			Layout: milliseconds(1577203200000, Field{Time, 41, ""}, Field{Worker, 10, "machine"}, Field{Sequence, 12, ""}),
			Policy: reject(SequenceStart{StartCarry, 2047}),
			About:  "CosId's millisecond snowflake, whose sequence goes on from tick to tick. A clock that stepped back is an error.",
		},
		{
			Name:   "seata",
			Layout: milliseconds(1588435200000, Field{Worker, 10, ""}, Field{Time, 41, ""}, Field{Sequence, 12, ""}),
			Policy: Policy{Start: SequenceStart{Rule: StartZero}},
			About:  "Seata's transaction ids, with the worker highest: they increase per worker only. Seata reads the clock at its start and then counts time and sequence on as one number; here ids keep to the clock, under the default policy.",
		},
		{
			Name:   "yitter",
			Layout: milliseconds(1582136402000, Field{Time, 51, ""}, Field{Worker, 6, ""}, Field{Sequence, 6, ""}),
			Policy: Policy{MaxBurst: 2 * time.Second, Start: SequenceStart{Rule: StartZero}},
			About:  "yitter's IdGenerator with its default widths. Bursts run up to 2,000 ticks ahead, as its own do. It starts each sequence at 5 and keeps 0 to 4 for times that the clock repeats; here sequences start at 0 and no time is stamped twice.",
		},
		{
			Name:   "tsid",
			Layout: unsigned(milliseconds(1577836800000, Field{Time, 42, ""}, Field{Worker, 10, "node"}, Field{Sequence, 12, "counter"})),
			Policy: Policy{Start: SequenceStart{StartRandom, 1<<12 - 1}},
			About:  "TSID with 10 bits of node (it takes 0 to 20, the counter has the rest of 22), of 64 bits: the 64th is set from 2089 on. A counter that overflows goes on from 0 in TSID, here from a random start, under the default policy.",
		},
		{
			Name:   "javascript-safe-ms",
			Layout: milliseconds(defaultEpoch, Field{Time, 41, ""}, Field{Worker, 3, ""}, Field{Sequence, 9, ""}),
			About:  "53 bits, which a JavaScript number holds exactly: 8 workers with 512 ids a millisecond each, until 2095.",
		},
		{
			Name:   "javascript-safe-s",
			Layout: newLayout(time.Second, defaultEpoch, Field{Time, 31, ""}, Field{Worker, 3, ""}, Field{Sequence, 19, ""}),
			About:  "53 bits, which a JavaScript number holds exactly: 8 workers with 524,288 ids a second each, in bursts of any shape, until 2094.",
		},
	}
}

// WidePresets returns the presets of wide layouts. Each call makes new ones, so the caller may
// change them.
//
//	name         fields, highest first                                             epoch, Unix ms
//	uuid8        ms 48 · version 4 · sequence 12 · variant 2 · worker 20 · random 42  0
//	objectid     s 32 · worker 40 · sequence 24                                    0
//	game-server  ms 48 · server 20 · sequence 16                                   1767225600000
func WidePresets() []Preset {
	return []Preset{
		{
			Name:   "uuid8",
			Layout: widen(newLayout(time.Millisecond, 0, Field{Time, 48, ""}, Field{Version, 4, ""}, Field{Sequence, 12, ""}, Field{Variant, 2, ""}, Field{Worker, 20, ""}, Field{Random, 42, ""})),
			About:  "UUIDs of version 8 (RFC 9562), wide: the time stands where a UUID of version 7 has it, so both sort together. 1,048,576 workers with 4,096 ids a millisecond each, until 10889.",
		},
		{
			Name:   "objectid",
			Layout: widen(newLayout(time.Second, 0, Field{Time, 32, ""}, Field{Worker, 40, ""}, Field{Sequence, 24, ""})),
			About:  "MongoDB's ObjectIDs, wide: a worker id stands where MongoDB's drivers have five random bytes. 16,777,216 ids a second and worker, until 2106.",
		},
		{
			Name:   "game-server",
			Layout: widen(newLayout(time.Millisecond, defaultEpoch, Field{Time, 48, ""}, Field{Worker, 20, "server"}, Field{Sequence, 16, ""})),
			About:  "1,048,576 game servers with 65,536 ids a millisecond each, wide: 84 bits, until 6485.",
		},
	}
}

func milliseconds(epoch int64, fields ...Field) Layout {
	return newLayout(time.Millisecond, epoch, fields...)
}

func widen(l Layout) Layout {
	l.Wide = true
	return l
}

func unsigned(l Layout) Layout {
	l.Unsigned = true
	return l
}

// none is the shortest duration, which a policy takes for none.
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

// shardingSpherePolicy has ShardingSphere's two defaults:
// max-tolerate-time-difference-milliseconds 10 and max-vibration-offset 1.
func shardingSpherePolicy() Policy {
	return tolerate(10*time.Millisecond, SequenceStart{StartVibration, 1})
}

// sonyflakePolicy keeps its logical time over every step back of a clock that is not broken.
func sonyflakePolicy() Policy {
	return Policy{MaxRollback: 10 * time.Minute, MaxBurst: none, Start: SequenceStart{Rule: StartZero}}
}

const aboutSonyflake = "Sonyflake keeps its logical time when the clock steps back, however far, and sleeps once the tick is full; this does so for at most ten minutes, at half speed, and refuses to wait longer than a call may."
