package opaque

import (
	"fmt"
	"strings"

	"snowfence.example/snowfence"
)

// Prefixed writes a type before the text of another form: order_1ASD13XH1F800B. The rules are
// those of TypeID 0.3.0 (https://github.com/jetify-com/typeid/tree/main/spec). A prefix has
// 0 to 63 characters of a-z and underscore, and a letter at both ends. An underscore follows,
// unless the prefix is empty.
//
// The last underscore of a text is the separator. So a form whose texts have underscores can't be
// prefixed, another Prefixed among them unless its prefix is empty.
//
// Security: that of the other form. The prefix is neither hidden nor protected. What binds a
// token to its type is the purpose of [NewSealed].
//
// A *Prefixed is safe for concurrent use. The zero Prefixed can't be used.
type Prefixed struct {
	lead  string // the prefix and the separator
	inner Codec
}

// NewPrefixed returns the form of inner with a prefix. [ErrSetting] is returned for a prefix that
// breaks the rules, and for an inner form that is nil or can't write id 0 without an underscore.
func NewPrefixed(prefix string, inner Codec) (*Prefixed, error) {
	lead, err := leadOf(prefix)
	if err != nil {
		return nil, err
	}
	p := &Prefixed{lead, inner}
	if _, err := p.Encode(0); err != nil {
		return nil, fmt.Errorf("%w: prefix %q: %w", ErrSetting, prefix, err)
	}
	return p, nil
}

// Encode writes the prefix, the separator and the text of the inner form. It returns the errors of
// that form, and a *[snowfence.IDError] when its text has an underscore.
func (p *Prefixed) Encode(id snowfence.ID) (string, error) {
	if err := checkID("prefixed", p != nil && p.inner != nil, id); err != nil {
		return "", err
	}
	text, err := p.inner.Encode(id)
	if err != nil {
		return "", err
	}
	if i := strings.IndexByte(text, '_'); i >= 0 {
		return "", invalid("prefixed", text, i, "has an underscore, which only the prefix may have")
	}
	return p.lead + text, nil
}

// Decode reads a text with this very prefix. A *[snowfence.IDError] is returned for any other
// prefix, and the errors of the inner form for the text behind it.
func (p *Prefixed) Decode(text string) (snowfence.ID, error) {
	if err := checkID("prefixed", p != nil && p.inner != nil, 0); err != nil {
		return 0, err
	}
	start := strings.LastIndexByte(text, '_') + 1
	if text[:start] != p.lead {
		return 0, invalid("prefixed", text, 0, "the part up to the last underscore is not %q", p.lead)
	}
	return p.inner.Decode(text[start:])
}

const prefixRule = "0 to 63 of a-z and underscore with a letter at both ends"

// leadOf returns a prefix with its separator. An empty one has none.
func leadOf(prefix string) (string, error) {
	strange := func(c rune) bool { return c != '_' && (c < 'a' || c > 'z') }
	if len(prefix) > 63 || strings.ContainsFunc(prefix, strange) || strings.Trim(prefix, "_") != prefix {
		return "", fmt.Errorf("%w: prefix %q is not %s", ErrSetting, prefix, prefixRule)
	}
	return strings.TrimPrefix(prefix+"_", "_"), nil
}
