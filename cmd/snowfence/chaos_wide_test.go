//go:build servers

package main

import (
	"bytes"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"sync"
	"testing"

	"snowfence.example/snowfence"
)

// wideConfig adds the wide generators. Their ids are read by the presets. Their layouts have a
// datacenter in the upper worker bits, and so few worker ids that these go from one daemon to
// another. Every tick begins at sequence 0: two holders of one worker id can't differ by chance.
func wideConfig() string {
	worker := bits.Len(uint(*chaosHosts)) + 1
	const generator = "  %[1]s:\n    kind: wide\n    namespace: %[1]s\n    layout: %[2]s\n    datacenter: 5\n    window: %[3]s\n    policy: {sequence-start: zero}\n"
	uuid := fmt.Sprintf("wide-ms48-version4-seq12-variant2-datacenter%d-worker%d-random42@1970-01-01", 20-worker, worker)
	objectID := fmt.Sprintf("wide-s32-datacenter%d-worker%d-seq24@1970-01-01", 40-worker, worker)
	return fmt.Sprintf(generator, "sessions", uuid, chaosWindow) + fmt.Sprintf(generator, "documents", objectID, chaosWindow)
}

// wides are the ids that callers got from one wide generator, from all daemons together.
type wides struct {
	layout snowfence.Layout

	mu    sync.Mutex
	bare  []snowfence.WideID // without their random bits
	users map[int64][]int    // the subjects that gave ids of a worker id
}

// newWides returns the wide generators by name.
func newWides(t *testing.T) map[string]*wides {
	all := map[string]*wides{}
	for name, preset := range map[string]string{"sessions": "uuid8", "documents": "objectid"} {
		p, err := snowfence.PresetByName(preset)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &wides{layout: p.Layout, users: map[int64][]int{}}
	}
	return all
}

func (w *wides) add(subject int, texts []string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, text := range texts {
		id, err := snowfence.ParseWide(text)
		if err != nil {
			return err
		}
		parts, err := w.layout.DecomposeWide(id)
		if err != nil {
			return err
		}
		parts.Random = 0
		if id, err = w.layout.ComposeWide(parts); err != nil {
			return err
		}
		w.bare = append(w.bare, id)
		if users := w.users[parts.Worker]; !slices.Contains(users, subject) {
			w.users[parts.Worker] = append(users, subject)
		}
	}
	return nil
}

// repeated returns an error if two ids have the same time, worker and sequence, as equal ids have.
func (w *wides) repeated() error {
	slices.SortFunc(w.bare, func(a, b snowfence.WideID) int { return bytes.Compare(a[:], b[:]) })
	for i := 1; i < len(w.bare); i++ {
		if w.bare[i] == w.bare[i-1] {
			return fmt.Errorf("two ids are %s without their random bits", w.bare[i])
		}
	}
	return nil
}

func (c *chaos) judgeWides() {
	for _, name := range slices.Sorted(maps.Keys(c.wides)) {
		w := c.wides[name]
		shared := 0
		for _, users := range w.users {
			if len(users) > 1 {
				shared++
			}
		}
		if err := w.repeated(); err != nil {
			c.t.Errorf("%s: %v", name, err)
		}
		c.t.Logf("%s: %d wide ids of %s, no time, worker and sequence twice; of %d worker ids %d went from one subject to another",
			c.engine.Name, len(w.bare), name, len(w.users), shared)
		if len(w.bare) == 0 {
			c.t.Errorf("%s gave nothing", name)
		}
	}
}

func TestRandomBitsDoNotHideARepeatedWideID(t *testing.T) {
	const one = "01890a5d-ac96-874b-8000-0c0000000001"
	for other, repeated := range map[string]bool{
		one:                                    true,
		"01890a5d-ac96-874b-8000-0dffffffffff": true,  // its random bits are others
		"01890a5d-ac97-874b-8000-0c0000000001": false, // its time is another
		"01890a5d-ac96-874c-8000-0c0000000001": false, // its sequence
		"01890a5d-ac96-874b-8000-100000000001": false, // its worker
	} {
		w := newWides(t)["sessions"]
		if err := w.add(0, []string{one, other}); err != nil {
			t.Fatal(err)
		}
		if err := w.repeated(); (err != nil) != repeated {
			t.Errorf("%s and %s: %v", one, other, err)
		}
	}
}
