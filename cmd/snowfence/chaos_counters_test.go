//go:build servers

package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/countertest"
	"snowfence.example/snowfence/internal/testkit"
)

// wideGenerators are the generators of wide ids, by the presets that read these.
var wideGenerators = map[string]string{"sessions": "uuid8", "documents": "objectid"}

// countedConfig has the generators beside fenced ids. Tickets need a durable store. The layouts of wide ids have a
// datacenter in the upper worker bits, and so few worker ids that these go from one daemon to another. Every tick begins at
// sequence 0: two holders of one worker id can't differ by chance.
func countedConfig(lossy bool) string {
	config := "  users: {kind: segment, settings: {step: \"100\", max-wait: 3s}}\n" +
		"  invoices: {kind: daily, settings: {prefix: I, digits: \"9\", max-wait: 3s}}\n"
	if !lossy {
		config += "  tickets: {kind: ticket, settings: {max-wait: 3s}}\n"
	}
	worker := bits.Len(uint(*chaosHosts)) + 1
	for name, layout := range map[string]string{
		"sessions":  fmt.Sprintf("wide-ms48-version4-seq12-variant2-datacenter%d-worker%d-random42@1970-01-01", 20-worker, worker),
		"documents": fmt.Sprintf("wide-s32-datacenter%d-worker%d-seq24@1970-01-01", 40-worker, worker),
	} {
		config += fmt.Sprintf("  %[1]s: {kind: wide, namespace: %[1]s, layout: %[2]s, datacenter: 5, window: %[3]s, policy: {sequence-start: zero}}\n", name, layout, chaosWindow)
	}
	return config
}

// counted are the numbers, or the wide ids, that callers got from one generator, from all daemons together.
type counted struct {
	wide    *snowfence.Layout // nil of numbers
	ordered bool              // each number is greater than the ones of the calls that ended before

	mu    sync.Mutex
	texts []string // of wide ids without their random bits
	drawn []countertest.Drawn
}

func newCounted(t *testing.T, lossy bool) map[string]*counted {
	t.Helper()
	all := map[string]*counted{"users": {}, "invoices": {}}
	if !lossy {
		all["tickets"] = &counted{ordered: true}
	}
	for name, preset := range wideGenerators {
		p, err := snowfence.PresetByName(preset)
		if err != nil {
			t.Fatal(err)
		}
		all[name] = &counted{wide: &p.Layout}
	}
	return all
}

// count takes numbers, or wide ids, from whatever daemon the subject is at the moment.
func (c *chaos) count(ctx context.Context, s *subject, generator string) {
	random := rand.New(rand.NewPCG(uint64(s.number), 3))
	client := testkit.Client()
	client.Timeout = 5 * time.Second
	defer client.CloseIdleConnections()
	for ctx.Err() == nil {
		if d := s.current(); d != nil && d.URL != "" {
			begun := time.Since(c.began)
			// An error means that there are fewer, which is what faults do.
			texts, _ := testkit.MintTexts(ctx, client, d.URL, generator, 1+random.IntN(30))
			if err := c.counted[generator].add(texts, begun, time.Since(c.began)); err != nil {
				c.t.Errorf("%s: %v", generator, err)
			}
		}
		pause(ctx, 10*time.Millisecond)
	}
}

func (k *counted) add(texts []string, begun, end time.Duration) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, text := range texts {
		if k.wide != nil {
			id, err := snowfence.ParseWide(text)
			if err != nil {
				return err
			}
			parts, err := k.wide.DecomposeWide(id)
			if err != nil {
				return err
			}
			parts.Random = 0
			if id, err = k.wide.ComposeWide(parts); err != nil {
				return err
			}
			text = id.String()
		}
		k.texts = append(k.texts, text)
		if k.ordered {
			id, err := snowfence.Parse(text)
			if err != nil {
				return err
			}
			k.drawn = append(k.drawn, countertest.Drawn{Number: int64(id), Begun: begun, End: end})
		}
	}
	return nil
}

// wrong returns an error if a number came twice, or two wide ids have the same time, worker and sequence, as equal ids
// have; and if tickets are out of order.
func (k *counted) wrong() error {
	return errors.Join(countertest.Distinct(k.texts), countertest.Order(k.drawn))
}

func (c *chaos) judgeCounted() {
	for _, name := range slices.Sorted(maps.Keys(c.counted)) {
		k := c.counted[name]
		if err := k.wrong(); err != nil || len(k.texts) == 0 {
			c.t.Errorf("%s gave %d: %v", name, len(k.texts), err)
		}
		c.t.Logf("%s: %d of %s: none twice", c.engine.Name, len(k.texts), name)
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
		k := newCounted(t, false)["sessions"]
		if err := k.add([]string{one, other}, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := k.wrong(); (err != nil) != repeated {
			t.Errorf("%s and %s: %v", one, other, err)
		}
	}
}
