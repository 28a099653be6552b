package main

import (
	"bufio"
	"io"
	"math/bits"
	"strconv"

	"snowfence.example/snowfence"
)

// series is n distinct ids of the default layout, as three workers issue them in some years.
type series struct {
	n        uint64
	shuffled bool
	time     int // shifts of the fields
	worker   int
}

func newSeries(n uint64, shuffled bool) series {
	l := snowfence.DefaultLayout()
	return series{n, shuffled, l.Shift(snowfence.Time), l.Shift(snowfence.Worker)}
}

// at returns the id of a number below n; ids rise with it.
func (s series) at(k uint64) uint64 {
	const workers, distance = 3, 300
	return k/workers<<s.time | k%workers*distance<<s.worker | k*0x9e3779b9>>16&15
}

// order returns the numbers below n, each once.
func (s series) order(yield func(k uint64) bool) {
	width := bits.Len64(s.n)
	mask := uint64(1)<<width - 1
	for i := range mask + 1 {
		k := i
		if s.shuffled {
			// Each step can be undone within the mask, so no two numbers become one.
			for _, odd := range [...]uint64{0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb} {
				k = k * odd & mask
				k ^= k >> (width/2 + 1)
			}
		}
		if k < s.n && !yield(k) {
			return
		}
	}
}

// duplicate is an id that was planted, and the two lines that it stands at, from 1.
type duplicate struct{ id, first, second uint64 }

// write writes the ids, and then some of them a second time: as many as are to be
// planted, at most half of n. In all it writes n ids and planted more.
func (s series) write(w io.Writer, planted uint64) ([]duplicate, error) {
	b := bufio.NewWriterSize(w, 1<<20)
	var twice []duplicate
	line, step := uint64(0), uint64(0)
	if planted > 0 {
		step = s.n / (2 * planted)
	}
	word := make([]byte, 0, 32)
	put := func(id uint64) error {
		line++
		word = append(strconv.AppendUint(word[:0], id, 10), '\n')
		_, err := b.Write(word)
		return err
	}
	for k := range s.order {
		id := s.at(k)
		if err := put(id); err != nil {
			return nil, err
		}
		// Among the ids of the first half, as far apart as may be.
		if uint64(len(twice)) < planted && line%step == 0 {
			twice = append(twice, duplicate{id: id, first: line})
		}
	}
	for i := range twice {
		if err := put(twice[i].id); err != nil {
			return nil, err
		}
		twice[i].second = line
	}
	return twice, b.Flush()
}
