package idsource

import (
	"fmt"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/internal/decode"
)

// speller reads the texts of one source.
//
// A text may be an id in several encodings: 16 digits are decimal, and hex too. It is
// read as the likeliest, and that must be the same for all of a source, but for what
// 0x marks as hex: else the source is refused, since one of them may be misread.
type speller struct {
	name     string
	place    func(at uint64) string
	encoding decode.Encoding // given; empty: any
	taken    decode.Encoding // what the first text was read as, if none is given
	first    uint64          // where that stood
}

func newSpeller(name string, place func(at uint64) string, e decode.Encoding) speller {
	return speller{name: name, place: place, encoding: e}
}

// read reads a text that stood at a place. The error is an *[OptionError] where
// encodings meet, else one of package decode.
func (s *speller) read(text []byte, at uint64) (snowfence.ID, error) {
	if v, length := s.decimal(text); length > 0 && length == len(text) {
		return snowfence.ID(v), s.agree(decode.Decimal, at)
	}
	if s.encoding != "" {
		r, err := decode.ReadAs(string(text), s.encoding)
		return r.ID, err
	}
	readings, err := decode.Read(string(text))
	if err != nil {
		return 0, err
	}
	if len(text) > 1 && text[1]|0x20 == 'x' && readings[0].Encoding == decode.Hex {
		return readings[0].ID, nil // it says what it is
	}
	return readings[0].ID, s.agree(readings[0].Encoding, at)
}

// agree returns an error if a text was read as another encoding than the first.
func (s *speller) agree(e decode.Encoding, at uint64) error {
	switch {
	case s.taken == e || s.encoding != "":
		return nil
	case s.taken != "":
		return &OptionError{"encoding", fmt.Sprintf("%s: %s looks like %s, and %s like %s: must be said, as all of a source are read in one encoding",
			s.name, s.place(s.first), s.taken, s.place(at), e)}
	}
	s.taken, s.first = e, at
	return nil
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
