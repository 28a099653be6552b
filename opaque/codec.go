package opaque

import (
	"fmt"

	"snowfence.example/snowfence"
)

// Codec turns an id into the text that outsiders see, and back. Implementations are safe for
// concurrent use.
type Codec interface {
	// Encode writes an id of 63 bits. A *[snowfence.IDError] is returned for a negative one, and
	// [ErrSetting] by a zero value that can't be used.
	Encode(id snowfence.ID) (string, error)

	// Decode reads a text of Encode. A *[snowfence.IDError], which wraps
	// [snowfence.ErrInvalidID], is returned for any other text, and [ErrSetting] as by Encode.
	Decode(text string) (snowfence.ID, error)
}

// ErrSetting is wrapped by every error about a key, a purpose, a prefix or a zero value.
var ErrSetting = snowfence.NewError(snowfence.ClassUsage, "snowfence: invalid opaque setting")

// checkID refuses a value that its constructor did not make, and a negative id.
func checkID(form string, made bool, id snowfence.ID) error {
	if !made {
		return fmt.Errorf("%w: form %s has no key and no inner form: use its constructor", ErrSetting, form)
	} else if id < 0 {
		return invalid(form, id.String(), -1, "has the 64th bit set; the limit is 63 bits")
	}
	return nil
}

// invalid returns an error that carries no more of a foreign text than its doc allows.
func invalid(form, text string, position int, reason string, args ...any) error {
	return &snowfence.IDError{Form: form, Text: text[:min(len(text), 64)], Position: position, Reason: fmt.Sprintf(reason, args...)}
}
