package snowfence

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestPresetsReadAndMakeTheIDsOfTheirSystems holds each preset against ids of
// its own system where some are known, and else against one put together by
// hand: the shifts are written out, in the system's own order.
func TestPresetsReadAndMakeTheIDsOfTheirSystems(t *testing.T) {
	for _, test := range []struct {
		layout string
		id     uint64
		parts  Parts
		time   string
	}{
		// Known ids.
		{"twitter", 1541815603606036480, Parts{367597485448, 11, 26, 0, 0}, "2022-06-28T16:07:40.105Z"},
		{"discord", 175928847299117063, Parts{41944705796, 1, 0, 7, 0}, "2016-04-30T11:18:25.796Z"},
		{"simple", 3125927076831231, Parts{745279092, 1, 1, 4095, 0}, "2020-08-09T07:01:19.092Z"},
		{"simple-class@1969-12-31T16:00:00Z", 6698247966366502912, Parts{1596986762611, 1, 1, 0, 0}, "2020-08-09T07:26:02.611Z"},
		{"leaf", 1169786042799259000, Parts{1567733700834 - 1288834974657, 0, 39, 3448, 0}, "2019-09-06T01:35:00.834Z"},

		// Put together by hand.
		{"default", 5<<22 | 1023<<12 | 4095, Parts{5, 0, 1023, 4095, 0}, "2026-01-01T00:00:00.005Z"},
		{"twitter", (1<<41-1)<<22 | 3<<17 | 2<<12 | 1, Parts{1<<41 - 1, 3, 2, 1, 0}, "2080-07-10T17:30:30.208Z"},
		{"bwmarrin", 1000<<22 | 5<<12 | 1, Parts{1000, 0, 5, 1, 0}, "2010-11-04T01:42:55.657Z"},
		{"shardingsphere", 1000<<22 | 5<<12 | 1, Parts{1000, 0, 5, 1, 0}, "2016-11-01T00:00:01Z"},
		{"shardingsphere-shanghai", 1000<<22 | 5<<12 | 1, Parts{1000, 0, 5, 1, 0}, "2016-10-31T16:00:01Z"},
		{"jsnowflake", 1<<22 | 3<<17 | 4<<12 | 99, Parts{1, 3, 4, 99, 0}, "2019-12-31T16:00:00.001Z"},
		{"beyondfeng", 1<<22 | 3<<17 | 4<<12 | 5, Parts{1, 3, 4, 5, 0}, "2016-11-26T13:21:05.632Z"},
		{"simple", 1<<22 | 3<<17 | 4<<12 | 5, Parts{Tick: 1, Worker: 3, Datacenter: 4, Sequence: 5}, "2020-07-31T16:00:00.001Z"},
		{"simple-class", 1<<22 | 3<<17 | 4<<12 | 5, Parts{Tick: 1, Datacenter: 3, Worker: 4, Sequence: 5}, "2020-07-31T16:00:00.001Z"},
		{"simple-addition", 1<<22 + 3<<17 + 4<<12 + 5, Parts{Tick: 1, Datacenter: 3, Worker: 4, Sequence: 5}, "2020-07-31T16:00:00.001Z"},
		{"sonyflake-v1", 100<<24 | 255<<16 | 65535, Parts{100, 0, 65535, 255, 0}, "2014-09-01T00:00:01Z"},
		{"sonyflake-v2", 100<<24 | 7<<16 | 513, Parts{100, 0, 513, 7, 0}, "2025-01-01T00:00:01Z"},
		{"baidu", (1<<28-1)<<35 | (1<<22-1)<<13 | 8191, Parts{1<<28 - 1, 0, 1<<22 - 1, 8191, 0}, "2024-11-20T13:24:15Z"},
		{"instagram", 1387263000<<23 | 1341<<10 | 5001%1024, Parts{1387263000, 0, 1341, 905, 0}, "2011-09-09T22:28:04.721Z"},
		{"mastodon", 1480166465631<<16 | 51966, Parts{1480166465631, 0, 0, 51966, 0}, "2016-11-26T13:21:05.631Z"},
		{"cosid", 1<<22 | 3<<12 | 2047, Parts{1, 0, 3, 2047, 0}, "2019-12-24T16:00:00.001Z"},
		{"seata", 1023<<53 | 5<<12 | 4095, Parts{5, 0, 1023, 4095, 0}, "2020-05-02T16:00:00.005Z"},
		{"yitter", 1000<<12 | 63<<6 | 5, Parts{1000, 0, 63, 5, 0}, "2020-02-19T18:20:03Z"},
		{"tsid", 1000<<22 | 1023<<12 | 4095, Parts{1000, 0, 1023, 4095, 0}, "2020-01-01T00:00:01Z"},
		{"javascript-safe-ms", 1<<53 - 1, Parts{1<<41 - 1, 0, 7, 511, 0}, "2095-09-07T15:47:35.551Z"},
		{"javascript-safe-s", 1<<53 - 1, Parts{1<<31 - 1, 0, 7, 1<<19 - 1, 0}, "2094-01-19T03:14:07Z"},

		// The 64th bit is read but never made.
		{"discord", 1<<63 | 31<<17 | 30<<12 | 1, Parts{1 << 41, 31, 30, 1, 0}, "2084-09-06T15:47:35.552Z"},
		{"instagram", 1<<63 | 8191<<10 | 1, Parts{1 << 40, 0, 8191, 1, 0}, "2046-06-27T17:00:49.497Z"},
		{"mastodon", 1<<64 - 1, Parts{1<<48 - 1, 0, 0, 65535, 0}, "10889-08-02T05:31:50.655Z"},
		{"tsid", 1<<63 | 1, Parts{1 << 41, 0, 0, 1, 0}, "2089-09-06T15:47:35.552Z"},
	} {
		l := mustLayout(t, test.layout)
		id := ID(test.id)
		got, err := l.Decompose(id)
		if err != nil || got != test.parts {
			t.Errorf("%s: %v is %+v, %v, want %+v", test.layout, id, got, err, test.parts)
		}
		if at := l.TimeOf(got.Tick).Format(time.RFC3339Nano); at != test.time {
			t.Errorf("%s: %v is of %s, want %s", test.layout, id, at, test.time)
		}
		made, err := l.Compose(test.parts)
		if id < 0 {
			if err == nil {
				t.Errorf("%s: %+v compose to %v", test.layout, test.parts, made)
			}
		} else if err != nil || made != id {
			t.Errorf("%s: %+v compose to %v, %v, want %v", test.layout, test.parts, made, err, id)
		}
	}
}

func TestEveryPresetIsSound(t *testing.T) {
	name := regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)
	seen := map[string]bool{}
	for _, p := range Presets() {
		if !name.MatchString(p.Name) || seen[p.Name] {
			t.Errorf("%q is no name, or was given before", p.Name)
		}
		seen[p.Name] = true
		if err := p.Layout.Validate(); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		if err := p.Policy.Validate(p.Layout); err != nil {
			t.Errorf("%s: %v", p.Name, err)
		}
		byName, err := PresetByName(p.Name)
		if err != nil || !byName.Layout.Equal(p.Layout) || byName.Policy != p.Policy {
			t.Errorf("%s is found as %+v, %v", p.Name, byName, err)
		}
		if l, err := ParseLayout(p.Name); err != nil || !l.Equal(p.Layout) {
			t.Errorf("%s is read as %v, %v", p.Name, l, err)
		}
	}
	if first := Presets()[0]; first.Name != "default" || !first.Layout.Equal(DefaultLayout()) || first.Policy != (Policy{}) {
		t.Errorf("the first preset is %+v", first)
	}
}

func TestPresetsAreTheCallersToChange(t *testing.T) {
	changed := Presets()
	for i := range changed {
		changed[i].Name = ""
		changed[i].Layout.Fields[0] = Field{}
	}
	for _, p := range Presets() {
		if p.Name == "" || p.Layout.Validate() != nil {
			t.Errorf("%+v was changed", p)
		}
	}
}

func TestUnknownPresetIsAnsweredWithTheNames(t *testing.T) {
	_, err := PresetByName("Twitter")
	if err == nil || !strings.Contains(err.Error(), `"Twitter"`) || !strings.Contains(err.Error(), "default, twitter, leaf") {
		t.Errorf("error is %v", err)
	}
}

func TestEveryPresetHasItsRowInTheDocument(t *testing.T) {
	page, err := os.ReadFile("docs/kinds.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range append(Presets(), WidePresets()...) {
		if row := "\n- `" + p.Name + "`: `" + p.Layout.String() + "`\n"; !strings.Contains(string(page), row) {
			t.Errorf("docs/kinds.md lacks %s", row)
		}
	}
}

// A peerRule checks something that a peer documents of its behaviour. It returns what
// is wrong with a generator that does not keep it; empty when it does.
type peerRule func(g *Generator, clock *testClock) string

// rejects holds when the clock's step back is refused at once.
func rejects(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		g.CheckClock()
		_, err := g.Next(ctx)
		if !errors.Is(err, ErrClockBehind) || clock.Monotonic() != started {
			return fmt.Sprintf("%s back: %v after %s, want a refusal at once", back, err, clock.Monotonic()-started)
		}
		return ""
	}
}

// waits holds when a call waits out the clock's step back and then gets an id
// of the tick that the clock shows.
func waits(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		g.CheckClock()
		id, err := g.Next(ctx)
		waited := clock.Monotonic() - started
		if err != nil || waited < back || waited > 2*back {
			return fmt.Sprintf("%s back: %v after %s, want an id after %s to %s", back, err, waited, back, 2*back)
		}
		p, err := g.layout.Decompose(id)
		if err != nil || p.Tick != g.layout.TickAt(clock.Wall()) {
			return fmt.Sprintf("id of tick %d, the clock shows %d", p.Tick, g.layout.TickAt(clock.Wall()))
		}
		return ""
	}
}

// givesUp holds when a call waits for a clock that does not come back in time
// and is refused then.
func givesUp(back, after time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		_, _ = g.Next(ctx)
		clock.step(-back)
		failed := make(chan error, 1)
		go func() { _, err := g.Next(ctx); failed <- err }()
		clock.pass(time.Millisecond)
		clock.step(-after) // and again, while the call waits
		err := <-failed
		if waited := clock.Monotonic() - started; !errors.Is(err, ErrClockBehind) || waited > after+time.Millisecond {
			return fmt.Sprintf("behind for long: %v after %s, want a refusal after %s at most", err, waited, after)
		}
		return ""
	}
}

// keepsOn holds when a step back does not keep ids from coming.
func keepsOn(back time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		ctx, started := context.Background(), clock.Monotonic()
		first, _ := g.Next(ctx)
		clock.step(-back)
		clock.pass(time.Second)
		started += time.Second
		for range 1000 {
			id, err := g.Next(ctx)
			if err != nil || id <= first || clock.Monotonic()-started > 2*time.Second {
				return fmt.Sprintf("%s back: id %d after %d, %v, waited %s", back, id, first, err, clock.Monotonic()-started)
			}
			clock.pass(time.Millisecond)
			started += time.Millisecond
		}
		return ""
	}
}

// nextTick holds when a tick that is full makes a call wait for the next.
func nextTick(g *Generator, clock *testClock) string {
	started := clock.Monotonic()
	ids := make([]ID, g.mask+2)
	if err := g.Fill(context.Background(), ids); err != nil {
		return err.Error()
	}
	if waited := clock.Monotonic() - started; waited < time.Millisecond || waited > 20*time.Millisecond {
		return fmt.Sprintf("one id more than a tick holds: waited %s, want one tick", waited)
	}
	return ""
}

// ahead holds when a burst is stamped ahead of the clock by up to d.
func ahead(d time.Duration) peerRule {
	return func(g *Generator, clock *testClock) string {
		started := clock.Monotonic()
		if err := g.Fill(context.Background(), make([]ID, (g.mask+1)*uint64(d/g.layout.Unit))); err != nil {
			return err.Error()
		}
		if waited := clock.Monotonic() - started; waited != 0 {
			return fmt.Sprintf("a burst of %s waited %s", d, waited)
		}
		return ""
	}
}

// starts holds when ticks that start idle begin at sequences less than below and, all
// together, at as many points as different, or more.
func starts(below int64, different int) peerRule {
	return func(g *Generator, clock *testClock) string {
		seen := map[int64]bool{}
		for range 3000 {
			id, err := g.Next(context.Background())
			if err != nil {
				return err.Error()
			}
			p, err := g.layout.Decompose(id)
			if err != nil {
				return err.Error()
			}
			if p.Sequence >= below {
				return fmt.Sprintf("a tick begins at %d, want less than %d", p.Sequence, below)
			}
			seen[p.Sequence] = true
			clock.pass(g.layout.Unit)
		}
		if len(seen) < different {
			return fmt.Sprintf("ticks begin at %d points, want %d", len(seen), different)
		}
		return ""
	}
}

// The policy of every peer keeps what the peer documents, and the default
// policy, with the peer's layout, keeps none of it.
func TestPeersPoliciesBehaveAsDocumented(t *testing.T) {
	ms := time.Millisecond
	rules := map[string][]peerRule{
		"twitter":                 {rejects(1 * ms), rejects(time.Second), nextTick, starts(1, 1)},
		"leaf":                    {waits(1 * ms), waits(5 * ms), rejects(6 * ms), givesUp(5*ms, 10*ms), nextTick, starts(100, 100)},
		"bwmarrin":                {keepsOn(time.Minute), starts(1, 1)},
		"shardingsphere":          {waits(1 * ms), waits(10 * ms), rejects(11 * ms), nextTick, starts(2, 2)},
		"shardingsphere-shanghai": {waits(1 * ms), waits(10 * ms), rejects(11 * ms), nextTick, starts(2, 2)},
		"jsnowflake":              {rejects(1 * ms), nextTick, starts(100, 100)},
		"beyondfeng":              {rejects(1 * ms), nextTick, starts(1, 1)},
		"simple":                  {rejects(1 * ms), nextTick, starts(1, 1)},
		"simple-class":            {rejects(1 * ms), nextTick, starts(1, 1)},
		"simple-addition":         {rejects(1 * ms), nextTick, starts(1, 1)},
		"baidu":                   {rejects(time.Second), starts(1, 1)},
		"cosid":                   {rejects(1 * ms), nextTick, starts(2049, 2000)},
		"sonyflake-v1":            {keepsOn(time.Minute), starts(1, 1)},
		"sonyflake-v2":            {keepsOn(time.Minute), starts(1, 1)},
		"discord":                 {starts(1, 1)},
		"instagram":               {starts(1, 1)},
		"mastodon":                {starts(1<<16, 2800)},
		"seata":                   {starts(1, 1)},
		"yitter":                  {ahead(2 * time.Second), starts(1, 1)},
		"tsid":                    {starts(4096, 2000)},
	}
	for name, rules := range rules {
		preset, err := PresetByName(name)
		if err != nil {
			t.Error(err)
			continue
		}
		for i, rule := range rules {
			t.Run(fmt.Sprintf("%s/%d", name, i+1), func(t *testing.T) {
				for policy, keeps := range map[*Policy]bool{&preset.Policy: true, {}: false} {
					start := testStart
					if l := preset.Layout; start.After(l.Horizon()) {
						start = l.Horizon().Add(-24 * time.Hour)
					}
					bubble(t, start, func(t *testing.T, clock *testClock) {
						g := newTestGenerator(t, GeneratorConfig{Layout: preset.Layout, Clock: clock, Policy: *policy})
						wrong := rule(g, clock)
						if keeps && wrong != "" {
							t.Error(wrong)
						}
						if !keeps && wrong == "" {
							t.Error("the default policy keeps this rule too: the test shows nothing")
						}
					})
				}
			})
		}
	}
}
