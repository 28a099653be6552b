package decode

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// names are the presets of the plausible candidates, best first.
func names(candidates []Candidate) []string {
	var all []string
	for _, c := range candidates {
		if c.Plausible {
			all = append(all, c.Preset)
		}
	}
	return all
}

func TestGuessRanksByPlausibility(t *testing.T) {
	for _, x := range []struct {
		name string
		id   snowfence.ID
		want string // the first of the plausible ones
	}{
		{"a tweet of 2022", 1541815603606036480, "twitter leaf discord"},
		{"a discord id of 2016 is as well one of twitter's of 2012", 175928847299117063, "twitter jsnowflake beyondfeng"},
		{"the epoch itself", 0, "default twitter"},
	} {
		if got := strings.Join(names(Guess(x.id, now)), " "); !strings.HasPrefix(got, x.want) {
			t.Errorf("%s: %s, want %s …", x.name, got, x.want)
		}
	}
}

func TestGuessFindsFreshIDsOfEveryPreset(t *testing.T) {
	seen := map[string]bool{} // presets may share a layout
	for _, p := range snowfence.Presets() {
		if seen[p.Layout.String()] || !p.Layout.Horizon().After(now) {
			continue
		}
		seen[p.Layout.String()] = true
		parts := snowfence.Parts{Tick: p.Layout.TickAt(now.Add(-time.Hour)), Sequence: 3}
		if p.Layout.Bits(snowfence.Worker) > 0 {
			parts.Worker = 5
		}
		id, err := p.Layout.Compose(parts)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		candidates := Guess(id, now)
		if candidates[0].age != 0 {
			t.Errorf("%s: %s of an hour ago is taken for %s of %v", p.Name, id, candidates[0].Preset, candidates[0].At)
		}
		at := slices.IndexFunc(candidates, func(c Candidate) bool { return c.Preset == p.Name })
		// Twitter's and Leaf's ids have the same time.
		if at < 0 || !candidates[at].At.Equal(candidates[0].At) {
			t.Errorf("%s: %s is taken for %s", p.Name, id, candidates[0].Preset)
		}
	}
}

// madeUnder returns an id of a preset that is so old.
func madeUnder(t *testing.T, p snowfence.Preset, age time.Duration, worker, sequence int64) snowfence.ID {
	t.Helper()
	parts := snowfence.Parts{Tick: p.Layout.TickAt(now.Add(-age)), Worker: worker, Sequence: sequence}
	if p.Layout.Bits(snowfence.Worker) == 0 {
		parts.Worker = 0
	}
	id, err := p.Layout.Compose(parts)
	if err != nil {
		t.Fatalf("%s: %v", p.Name, err)
	}
	return id
}

func TestIDsOfThisProgramAreTakenForThatAtEveryAge(t *testing.T) {
	p, err := snowfence.PresetByName("default")
	if err != nil {
		t.Fatal(err)
	}
	for _, age := range []time.Duration{0, time.Hour, 3 * day, 300 * day} {
		for _, worker := range []int64{0, 5, 845, 1023} {
			for _, sequence := range []int64{0, 18, 1023, 4095} {
				if id := madeUnder(t, p, age, worker, sequence); Guess(id, now)[0].Preset != p.Name {
					t.Errorf("%s of worker %d and sequence %d, %s old, is taken for %s", id, worker, sequence, age, Guess(id, now)[0].Preset)
				}
			}
		}
	}
	// Small numbers belong to the beginning of every layout.
	for _, id := range []snowfence.ID{1, 5 << 22, 1 << 40} {
		if c := Guess(id, now); c[0].rank == 0 {
			t.Errorf("%s is taken for %s of %v", id, c[0].Preset, c[0].Time)
		}
	}
}

// TestOldIDsOfOtherSystemsAreTakenForThese shows the reading of each system's ids of worker 5 and
// sequence 3 after an hour, three days and 300. Most are taken for the same when they are fresh. Later
// on many can't be distinguished from another's.
func TestOldIDsOfOtherSystemsAreTakenForThese(t *testing.T) {
	ages := []time.Duration{time.Hour, 3 * day, 300 * day}
	for name, want := range map[string]string{
		"default":                 "default default default",
		"twitter":                 "twitter twitter twitter",
		"leaf":                    "twitter twitter twitter",
		"shardingsphere":          "shardingsphere twitter twitter",
		"shardingsphere-shanghai": "shardingsphere-shanghai twitter twitter",
		"jsnowflake":              "jsnowflake twitter twitter",
		"beyondfeng":              "beyondfeng twitter twitter",
		"simple":                  "simple twitter twitter",
		"simple-class":            "simple twitter twitter",
		"simple-addition":         "simple twitter twitter",
		"sonyflake-v1":            "sonyflake-v1 sonyflake-v1 sonyflake-v1",
		"sonyflake-v2":            "sonyflake-v2 default default",
		"discord":                 "discord twitter twitter",
		"instagram":               "instagram instagram instagram",
		"mastodon":                "mastodon twitter default",
		"cosid":                   "cosid twitter twitter",
		"seata":                   "seata default default",
		"yitter":                  "yitter yitter yitter",
		"tsid":                    "tsid twitter twitter",
		"javascript-safe-ms":      "javascript-safe-ms javascript-safe-ms javascript-safe-ms",
		"javascript-safe-s":       "javascript-safe-s seata seata",
	} {
		p, err := snowfence.PresetByName(name)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, age := range ages {
			got = append(got, Guess(madeUnder(t, p, age, 5, 3), now)[0].Preset)
		}
		if g := strings.Join(got, " "); g != want {
			t.Errorf("%s: %s, want %s", name, g, want)
		}
	}
}

func TestIDsFromBeforeTheirSystemAreImplausible(t *testing.T) {
	// Leaf has Twitter's epoch, but is years younger.
	l := layout(t, "leaf")
	for day, want := range map[string]bool{"2012-03-03": false, "2019-09-06": true, "2026-11-21": true, "2026-11-22": false} {
		at, err := time.Parse(time.DateOnly, day)
		if err != nil {
			t.Fatal(err)
		}
		id, err := l.Compose(snowfence.Parts{Tick: l.TickAt(at), Worker: 39})
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.Contains(names(Guess(id, now)), "leaf"); got != want {
			t.Errorf("%s: plausible %v, want %v", day, got, want)
		}
	}
}

func TestSystemsOnOldEpochsStartLater(t *testing.T) {
	later := map[string]int{"leaf": 2016, "mastodon": 2015}
	for _, p := range snowfence.Presets() {
		start, isLater := startOf(p), later[p.Name] != 0
		if isLater && (start.Year() != later[p.Name] || !start.After(p.Layout.Epoch)) || !isLater && !start.Equal(p.Layout.Epoch) {
			t.Errorf("%s starts at %v, with the epoch %v", p.Name, start, p.Layout.Epoch)
		}
		delete(later, p.Name)
	}
	if len(later) > 0 {
		t.Errorf("no presets are named so: %v", later)
	}
}

func TestGuessOffersPresetsOfOneLayoutOnce(t *testing.T) {
	var layouts []string
	for _, c := range Guess(1541815603606036480, now) {
		layouts = append(layouts, c.Layout)
	}
	slices.Sort(layouts)
	if n := len(layouts); len(slices.Compact(layouts)) != n {
		t.Errorf("layouts repeat: %v", layouts)
	}
}

func TestGuessedDocumentSaysSo(t *testing.T) {
	d := GuessedDocument(Guess(1541815603606036480, now))
	if !d.Guessed || d.Preset != "twitter" || len(d.Candidates) == 0 || d.Candidates[0].Preset != "leaf" {
		t.Errorf("got %+v", d)
	}
	if text, err := json.Marshal(d.Candidates[1]); err != nil ||
		string(text) != `{"preset":"discord","layout":"unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z","time":"2026-08-25T14:24:45.448Z"}` {
		t.Errorf("got %s, %v", text, err)
	}
}
