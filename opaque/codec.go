package opaque

import (
	"fmt"

	"snowfence.example/snowfence"
)

// Codec turns an id into the text that outsiders see, and back. Implementations are safe for
// concurrent use.
type Codec interface {
	// Encode writes an id of 63 bits. A *[snowfence.IDError] is returned for a negative one.
	Encode(id snowfence.ID) (string, error)

	// Decode reads a text of Encode. A *[snowfence.IDError], which wraps
	// [snowfence.ErrInvalidID], is returned for any other text.
	Decode(text string) (snowfence.ID, error)
}

// ErrSetting is wrapped by every error about a key, a purpose or a prefix.
var ErrSetting = snowfence.NewError(snowfence.ClassUsage, "snowfence: invalid opaque setting")

func checkSign(form string, id snowfence.ID) error {
	if id < 0 {
		return invalid(form, id.String(), -1, "has the 64th bit set; the limit is 63 bits")
	}
	return nil
}

// invalid returns an error that carries no more of a foreign text than its doc says.
func invalid(form, text string, position int, reason string, args ...any) error {
	text = text[:min(len(text), 64)]
	return &snowfence.IDError{Form: form, Text: text, Position: position, Reason: fmt.Sprintf(reason, args...)}
}
