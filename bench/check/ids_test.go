package main

import (
	"bytes"
	"encoding/binary"
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
	read := map[string]func(text []byte) (ids []uint64){
		"text": func(text []byte) (ids []uint64) {
			for line := range strings.Lines(string(text)) {
				id, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id)
			}
			return ids
		},
		"binary": func(text []byte) (ids []uint64) {
			for word := range slices.Chunk(text, 8) {
				ids = append(ids, binary.BigEndian.Uint64(word))
			}
			return ids
		},
	}
	for format, parse := range read {
		for _, planted := range []uint64{0, 1, 7, 50} {
			var out bytes.Buffer
			twice, err := newSeries(100, true).write(&out, format, planted)
			if err != nil || uint64(len(twice)) != planted {
				t.Fatalf("%s: %d of %d are planted, %v", format, len(twice), planted, err)
			}
			ids := parse(out.Bytes())
			if uint64(len(ids)) != 100+planted {
				t.Fatalf("%s: %d ids are written, want %d", format, len(ids), 100+planted)
			}
			for _, d := range twice {
				if d.first >= d.second || ids[d.first-1] != d.id || ids[d.second-1] != d.id {
					t.Errorf("%s: id %d is said to stand at %d and %d", format, d.id, d.first, d.second)
				}
			}
		}
	}
}
