package main

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"testing"
)

func TestSeriesHasEachOfItsIDsOnce(t *testing.T) {
	for _, n := range []uint64{1, 2, 3, 1000, 4096, 5003} {
		for _, shuffled := range []bool{false, true} {
			s := newSeries(n, shuffled)
			var ids []uint64
			for k := range s.order {
				ids = append(ids, s.at(k))
			}
			if rising := slices.IsSorted(ids); rising == shuffled && n >= 1000 {
				t.Errorf("%d ids, shuffled %t: it is %t that they rise", n, shuffled, rising)
			}
			slices.Sort(ids)
			if distinct := len(slices.Compact(ids)); uint64(distinct) != n {
				t.Errorf("%d ids, shuffled %t: %d are distinct", n, shuffled, distinct)
			}
		}
	}
}

// TestPlantedIDsStandWhereTheyAreSaidTo plants up to as many as there may be.
func TestPlantedIDsStandWhereTheyAreSaidTo(t *testing.T) {
	for _, planted := range []uint64{0, 1, 7, 50} {
		var out bytes.Buffer
		twice, err := newSeries(100, true).write(&out, planted)
		if err != nil || uint64(len(twice)) != planted {
			t.Fatalf("%d of %d are planted, %v", len(twice), planted, err)
		}
		lines := strings.Fields(out.String())
		if uint64(len(lines)) != 100+planted {
			t.Fatalf("%d ids are written, want %d", len(lines), 100+planted)
		}
		for _, d := range twice {
			id := strconv.FormatUint(d.id, 10)
			if d.first >= d.second || lines[d.first-1] != id || lines[d.second-1] != id {
				t.Errorf("id %s is said to stand at %d and %d", id, d.first, d.second)
			}
		}
	}
}
