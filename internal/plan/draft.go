package plan

import (
	"errors"
	"fmt"
	"slices"

	"snowfence.example/snowfence"
)

// maxDraftBits is far beyond any layout, and keeps sums and powers of two small.
const maxDraftBits = 999

// ParseDraft reads the texts of [snowfence.ParseLayout], with fields of any width up to
// 999 bits, because claims are made for layouts that cannot exist:
// ms37-worker20-seq16. The result is not validated. A wider field is an error that names it.
func ParseDraft(s string) (snowfence.Layout, error) {
	l, err := snowfence.ParseLayout(s)
	if err == nil && l.Wide {
		err = fmt.Errorf("layout %q is wide: must have at most 64 bits", s)
	}
	if err == nil || l.Wide || !errors.As(err, new(*snowfence.LayoutError)) {
		return l, err
	}
	narrow := l
	narrow.Fields = slices.Clone(l.Fields)
	for i, f := range l.Fields {
		if f.Bits > maxDraftBits {
			return snowfence.Layout{}, fmt.Errorf("layout %q: %s is %d bits, must be at most %d", s, f.Kind, f.Bits, maxDraftBits)
		}
		narrow.Fields[i].Bits = 1
	}
	if narrow.Validate() != nil { // not only the widths are wrong
		return snowfence.Layout{}, err
	}
	return l, nil
}
