package stored

import (
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
)

// counted is a record of a lossy store with writes that wait to be confirmed.
func counted(waiting int) Counter {
	c := Counter{
		Kind: Segment, Incarnation: testIncarnation, Start: 1, Increment: 1, Limit: 1000, Lanes: []Lane{{Next: 21}}, Writers: []Writer{},
		Write: "0123456789abcdef", Created: time.Unix(1_790_000_000, 0).UTC(), Clock: time.Unix(1_790_000_100, 0).UTC(), Process: held(900).Process,
	}
	for i := range waiting {
		c.Waits = true
		c.Waiting = append(c.Waiting, c.Effect(store.Version(strings.Repeat("v", i))))
	}
	return c
}

func TestCounterIsReadAsItWasWritten(t *testing.T) {
	old := counted(0)
	old.Writer, old.Writers = "0011223344556677", []Writer{{"8899aabbccddeeff", "17"}} // of an earlier version
	for _, c := range []Counter{counted(0), counted(2), old} {
		text := string(encoded(t, c))
		if got, err := DecodeCounter([]byte(text)); err != nil || !reflect.DeepEqual(got, c) {
			t.Errorf("read as %+v, written as %+v: %v", got, c, err)
		}
		if len(c.Waiting) == 0 && strings.Contains(text, "wait") {
			t.Errorf("a record in which no write waits has a new field: %s", text)
		}
	}
	good := string(encoded(t, counted(1)))
	for _, bad := range []string{
		strings.Replace(good, `"waiting":["`, `"waiting":["A`, 1),
		strings.Replace(good, `6ab13be4"]`, `6AB13BE4"]`, 1),
		strings.Replace(good, `6ab13be4"]`, `6ab13bex"]`, 1),
		strings.Replace(good, `"waits":true`, `"waits":false`, 1),
	} {
		if _, err := DecodeCounter([]byte(bad)); !errors.Is(err, ErrRecord) || bad == good {
			t.Errorf("%s is read: %v", bad, err)
		}
	}
}

func TestLongestCounterFits(t *testing.T) {
	c := counted(100) // as many as package counter keeps
	c.Kind, c.Unsettled, c.Zone, c.Digits, c.Lanes = Daily, true, "America/Argentina/ComodRivadavia", 18, nil
	for range 10 {
		c.Lanes = append(c.Lanes, Lane{"20261122", 1e18})
	}
	c.Start, c.Increment, c.Limit = math.MaxInt64, math.MaxInt32, math.MaxInt64
	c.Process.Host, c.Process.Version = strings.Repeat("h", 255), strings.Repeat("v", 64)
	if n := len(encoded(t, c)); n > store.MaxValue {
		t.Errorf("it has %d bytes", n)
	}
}

// TestEffectIsOfOneWriteAndOneVersion: the same bytes may take effect twice.
func TestEffectIsOfOneWriteAndOneVersion(t *testing.T) {
	a, b := counted(0), counted(0)
	b.Write = "fedcba9876543210"
	if again := counted(0); a.Effect("1") != again.Effect("1") || a.Effect("1").Effect == a.Effect("2").Effect || a.Effect("1").Effect == b.Effect("1").Effect {
		t.Error("an effect is not named by its write and its version")
	}
}
