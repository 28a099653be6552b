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
// It is read as the likeliest then, and that is right unless the source spells
// ids in one of the other encodings as well. So what a text could have been is
// kept, and which encodings are certain; where both meet, the source is refused.
type speller struct {
	name  string
	place func(at uint64) string

	encoding decode.Encoding // given; empty: any
	doubtful [encodings]doubt
	certain  [encodings]uint64 // where an encoding is the only one, or 0
	digits   [maxDoubtful + 1]bool
}

// doubt is the first text that could be in an encoding, and was read as another.
type doubt struct {
	at   uint64
	read decode.Encoding
}

// encodings is how many there are; maxDoubtful is the greatest number of digits
// that decimal and hex have in common.
const (
	encodings   = 4
	maxDoubtful = 16
)

// number is an encoding's index.
func number(e decode.Encoding) int {
	for i, name := range decode.EncodingNames() {
		if name == e {
			return i
		}
	}
	return 0
}

// read reads a text that stood at a place. The error is an *[OptionError] where
// encodings meet, else one of package decode.
func (s *speller) read(text string, at uint64) (snowfence.ID, error) {
	if s.encoding != "" {
		r, err := decode.ReadAs(text, s.encoding)
		return r.ID, err
	}
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
		if d := &s.doubtful[number(r.Encoding)]; d.at == 0 {
			*d = doubt{at, taken.Encoding}
		}
	}
	if len(others) == 0 && s.certain[number(taken.Encoding)] == 0 {
		s.certain[number(taken.Encoding)] = at
	}
	return taken.ID, s.conflict()
}

// plain notes a decimal of so many digits that was read without read.
func (s *speller) plain(digits int, at uint64) error {
	if s.encoding != "" || digits > maxDoubtful || s.digits[digits] {
		return nil
	}
	// Whatever the digits are, the same encodings can have them.
	_, err := s.read(strings.Repeat("1", digits), at)
	s.digits[digits] = err == nil
	return err
}

// conflict returns an error once a text may have been misread.
func (s *speller) conflict() error {
	for i, d := range s.doubtful {
		if certain := s.certain[i]; d.at != 0 && certain != 0 {
			e := decode.EncodingNames()[i]
			return &OptionError{"encoding", fmt.Sprintf("%s: %s was read as %s and may be %s, and %s is %s: must be said which it is",
				s.name, s.place(d.at), d.read, e, s.place(certain), e)}
		}
	}
	return nil
}
