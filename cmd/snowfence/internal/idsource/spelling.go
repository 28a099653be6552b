package idsource

import (
	"fmt"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
)

// speller reads the texts of one source.
//
// A text may be an id in several encodings: 16 digits are decimal, and hex too.
// It is read as the likeliest, and that is right unless the source spells ids in
// one of the other encodings as well. So the speller keeps what a text could have
// been, and which encodings are certain; where both meet, the source is refused.
type speller struct {
	name     string
	place    func(at uint64) string
	encoding decode.Encoding // given; empty: any
	doubtful map[decode.Encoding]doubt
	certain  map[decode.Encoding]uint64 // where an encoding is the only one
	digits   [maxDoubtful + 1]bool      // lengths of decimals that were seen
}

// doubt is the first text that could be in an encoding, and was read as another.
type doubt struct {
	at   uint64
	read decode.Encoding
}

// maxDoubtful is the greatest number of digits that decimal and hex have in common.
const maxDoubtful = 16

func newSpeller(name string, place func(at uint64) string, e decode.Encoding) speller {
	return speller{name: name, place: place, encoding: e, doubtful: map[decode.Encoding]doubt{}, certain: map[decode.Encoding]uint64{}}
}

// read reads a text that stood at a place. The error is an *[OptionError] where
// encodings meet, else one of package decode.
func (s *speller) read(text []byte, at uint64) (snowfence.ID, error) {
	if v, length := s.decimal(text); length > 0 && length == len(text) {
		return snowfence.ID(v), s.plain(length, at)
	}
	if s.encoding != "" {
		r, err := decode.ReadAs(string(text), s.encoding)
		return r.ID, err
	}
	return s.likeliest(string(text), at)
}

// decimal reads the digits that a text begins with, and returns how many they are: 0
// where they may be no plain decimal, or more than 64 bits always hold.
func (s *speller) decimal(text []byte) (v uint64, length int) {
	const most = 19
	if s.encoding != "" && s.encoding != decode.Decimal || len(text) == 0 || text[0] == '0' {
		return 0, 0
	}
	for length < len(text) && text[length]-'0' <= 9 {
		if length == most {
			return 0, 0
		}
		v = v*10 + uint64(text[length]-'0')
		length++
	}
	return v, length
}

// likeliest reads a text that may be in several encodings.
func (s *speller) likeliest(text string, at uint64) (snowfence.ID, error) {
	readings, err := decode.Read(text)
	if err != nil {
		return 0, err
	}
	taken := readings[0]
	if len(text) > 2 && strings.EqualFold(text[:2], "0x") {
		return taken.ID, nil // which says what it is
	}
	others := readings[1:]
	if r, err := decode.ReadAs(text, decode.Hex); err == nil && r.ID != taken.ID {
		others = append(others, r)
	}
	for _, r := range others {
		if _, known := s.doubtful[r.Encoding]; !known {
			s.doubtful[r.Encoding] = doubt{at, taken.Encoding}
		}
	}
	if _, known := s.certain[taken.Encoding]; !known && len(others) == 0 {
		s.certain[taken.Encoding] = at
	}
	return taken.ID, s.conflict()
}

// plain notes a decimal of so many digits that was read by [speller.decimal].
func (s *speller) plain(digits int, at uint64) error {
	if s.encoding != "" || digits > maxDoubtful || s.digits[digits] {
		return nil
	}
	// Whatever the digits are, the same encodings can have them.
	_, err := s.likeliest(strings.Repeat("1", digits), at)
	s.digits[digits] = err == nil
	return err
}

// conflict returns an error once a text may have been misread.
func (s *speller) conflict() error {
	for _, e := range decode.EncodingNames() {
		d, doubtful := s.doubtful[e]
		if at, certain := s.certain[e]; doubtful && certain {
			return &OptionError{"encoding", fmt.Sprintf("%s: %s was read as %s and may be %s, and %s is %s: must be said which it is",
				s.name, s.place(d.at), d.read, e, s.place(at), e)}
		}
	}
	return nil
}
