package lineartest

import (
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
)

// ok, refused and lost are swaps of the key "k" between two instants, by id and
// by the version that they name. A swap's version is "v" and its id.
func ok(id int, guard store.Version, call, end time.Duration) swap {
	return swap{id: id, key: "k", guard: guard, outcome: acknowledged, version: version(id), call: call, end: end}
}

func refused(id int, guard store.Version, call, end time.Duration) swap {
	return swap{id: id, key: "k", guard: guard, outcome: conflict, call: call, end: end}
}

func lost(id int, guard store.Version, call, end time.Duration) swap {
	return swap{id: id, key: "k", guard: guard, outcome: unknown, call: call, end: end}
}

func saw(id int, end time.Duration) read {
	return read{key: "k", value: string(version(id)[1:]), version: version(id), end: end}
}

func version(id int) store.Version { return store.Version("v" + string(rune('0'+id))) }

func TestHistoriesAreJudged(t *testing.T) {
	const none = "" // sound
	tests := []struct {
		name    string
		history history
		wrong   string
	}{
		{"one after the other", history{swaps: []swap{ok(1, "", 1, 2), ok(2, "v1", 3, 4), refused(3, "v1", 5, 6)}}, none},
		{"by the order of effects, not of calls", history{swaps: []swap{ok(2, "v1", 1, 9), ok(1, "", 2, 3)}, reads: []read{saw(1, 4)}}, none},
		{"a conflict before what it met", history{swaps: []swap{ok(1, "", 1, 2), refused(2, "v1", 3, 4), ok(3, "v1", 5, 6)}}, "no order"},
		{"a conflict beside what it met", history{swaps: []swap{ok(1, "", 1, 2), refused(2, "v1", 3, 6), ok(3, "v1", 5, 7)}}, none},
		{"two over one version", history{swaps: []swap{ok(1, "", 1, 2), ok(2, "v1", 3, 4), ok(3, "v1", 5, 6)}}, "no order"},
		{"created twice", history{swaps: []swap{ok(1, "", 1, 2), ok(2, "", 3, 4)}}, "no order"},
		{"an acknowledged swap that is gone", history{swaps: []swap{ok(1, "", 1, 2), ok(2, "v1", 3, 4), refused(3, "v2", 5, 6)}}, "no order"},

		{"unknown, took effect late", history{swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4), ok(3, "v2", 9, 10)}, reads: []read{saw(1, 7), saw(2, 8)}}, none},
		{"unknown, never took effect", history{swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4), ok(3, "v1", 5, 6)}}, none},
		{"unknown, explains a conflict", history{swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4), refused(3, "v1", 5, 6)}}, none},
		{"unknown, comes too late to explain a conflict", history{swaps: []swap{ok(1, "", 1, 2), refused(3, "v1", 3, 4), lost(2, "v1", 5, 6)}}, "no order"},
		{"unknown, was read, and did not happen", history{
			swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4), ok(3, "v1", 5, 6)}, reads: []read{saw(2, 7)}}, "no order"},
		{"unknown, was read before a swap that did not meet it", history{
			swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4), lost(3, "v1", 3, 4)}, reads: []read{saw(2, 5), saw(3, 6)}}, "no order"},

		{"stale read", history{swaps: []swap{ok(1, "", 1, 2), ok(2, "v1", 3, 4)}, reads: []read{saw(2, 5), saw(1, 6)}}, none},
		{"read of a conflict", history{swaps: []swap{ok(1, "", 1, 2), refused(2, "", 3, 4)}, reads: []read{saw(2, 5)}}, "reported as a conflict"},
		{"read before it was written", history{swaps: []swap{ok(1, "", 5, 6)}, reads: []read{saw(1, 4)}}, "never written"},
		{"read of something else", history{swaps: []swap{ok(1, "", 1, 2)}, reads: []read{{"k", "else", "v1", 3}}}, "never written"},
		{"two versions of one swap", history{swaps: []swap{ok(1, "", 1, 2)}, reads: []read{{"k", "1", "v9", 3}}}, "took effect twice"},
		{"one version of two swaps", history{
			swaps: []swap{ok(1, "", 1, 2), lost(2, "v1", 3, 4)}, reads: []read{{"k", "2", "v1", 5}}}, "it is that of swap 1"},
		{"one version acknowledged twice", history{
			swaps: []swap{ok(1, "", 1, 2), {id: 2, key: "k", guard: "v1", outcome: acknowledged, version: "v1", call: 3, end: 4}}}, "is that of swap 1"},
		{"the zero version acknowledged", history{
			swaps: []swap{{id: 1, key: "k", outcome: acknowledged, call: 1, end: 2}}}, "is that of no register"},
		{"a version from nowhere", history{swaps: []swap{ok(1, "v7", 1, 2)}}, "never seen"},

		{"other keys are others", history{swaps: []swap{
			ok(1, "", 1, 2), {id: 2, key: "other", outcome: acknowledged, version: "v1", call: 3, end: 4}}}, none},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := test.history.check(time.Second)
			if test.wrong == none && err != nil {
				t.Errorf("found wrong: %v", err)
			}
			if test.wrong != none && (err == nil || !strings.Contains(err.Error(), test.wrong)) {
				t.Errorf("found %v, want %q", err, test.wrong)
			}
		})
	}
}

// TestUndecidedHistoryIsNotSound gives the checker a nanosecond: swaps that may all
// have taken effect, in any order.
func TestUndecidedHistoryIsNotSound(t *testing.T) {
	h := history{}
	for id := 1; id < 10; id++ {
		h.swaps = append(h.swaps, lost(id, "", 1, 2))
	}
	const conflicts = 3000
	for i := range conflicts {
		at := time.Duration(10 + i)
		h.swaps = append(h.swaps, swap{id: 100 + i, key: "k", outcome: conflict, call: at, end: at + conflicts})
	}
	if err := h.check(time.Nanosecond); err == nil || !strings.Contains(err.Error(), "not decided") {
		t.Errorf("found %v", err)
	}
}
