package plan

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
)

// maxDraftBits is far beyond any layout, and keeps sums and powers of two small.
const maxDraftBits = 999

// fieldWidth finds a field of a layout's text: a word and its bits. A count
// before a unit of time ("10 ms 39") follows no word, so it is not found.
var fieldWidth = regexp.MustCompile(`(\p{L}\s*)([0-9]+)`)

// ParseDraft reads the texts of [snowfence.ParseLayout], with fields of any width up to
// 999 bits, because claims are made for layouts that cannot exist: "ms 37 + server 20 +
// sequence 16". The result is not validated. A wider field is an error that names it.
func ParseDraft(s string) (snowfence.Layout, error) {
	l, err := snowfence.ParseLayout(s)
	if err == nil && l.Wide {
		err = fmt.Errorf("layout %q is wide: must have at most 64 bits", s)
	}
	if err == nil || l.Wide {
		return l, err
	}
	// With every width at one bit only the widths can have been wrong; the
	// words, their order and the epoch are still read in one place.
	fields, epoch, hasEpoch := strings.Cut(s, "@")
	narrow := fieldWidth.ReplaceAllString(fields, "${1}1")
	if hasEpoch {
		narrow += "@" + epoch
	}
	l, narrowErr := snowfence.ParseLayout(narrow)
	widths := fieldWidth.FindAllStringSubmatch(fields, -1)
	if narrowErr != nil || len(widths) != len(l.Fields) {
		return snowfence.Layout{}, err
	}
	for i, w := range widths {
		bits, err := strconv.Atoi(w[2])
		if err != nil || bits > maxDraftBits {
			return snowfence.Layout{}, fmt.Errorf("layout %q: %s is %s bits, must be at most %d", s, l.Fields[i].Word(), w[2], maxDraftBits)
		}
		l.Fields[i].Bits = bits
	}
	return l, nil
}
