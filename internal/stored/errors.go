package stored

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
)

var (
	// ErrNamespaceReplaced is returned when the namespace's record is not the one with
	// which the holder began: the store was emptied, restored or exchanged. It has
	// forgotten which ticks are in use.
	ErrNamespaceReplaced = snowfence.NewError(snowfence.ClassLease, "snowfence: the namespace was replaced in the store")

	// ErrMustExist is wrapped by the error for a record that is gone, where a new one is refused.
	ErrMustExist = snowfence.NewError(snowfence.ClassFinal, "snowfence: the store must exist, and no new one is begun: see docs/restoring.md")

	// ErrJournalRefused is wrapped by the error of a journal with an unusable page.
	ErrJournalRefused = errors.New("snowfence: the journal can't be resumed from")

	// ErrRecord is wrapped by every error about an unusable record: it does not have the
	// expected JSON, or a newer program wrote it.
	ErrRecord = snowfence.NewError(snowfence.ClassFinal, "snowfence: unusable record")
)

// ConfigError is returned for a setting that can't be used. It names the field at
// fault, its value and the limit that it breaks.
type ConfigError struct {
	Field string
	Value string // as it was given; nil or none if it was not
	Limit string
}

// Error names the field, the value and the limit. A value is quoted unless it is numbers or a
// duration.
func (e *ConfigError) Error() string {
	value := e.Value
	if value != "nil" && value != "none" && (strings.TrimSpace(value) == "" || strings.Trim(value, "+-[]0123456789. hmnsuµ") != "") {
		value = fmt.Sprintf("%.130q", value)
	}
	return fmt.Sprintf("snowfence: %s is %s: %s", e.Field, value, e.Limit)
}

// Class is [snowfence.ClassUsage].
func (e *ConfigError) Class() snowfence.Class { return snowfence.ClassUsage }

// Refuse returns a *[ConfigError].
func Refuse(field string, value any, limit string) error {
	return &ConfigError{Field: field, Value: fmt.Sprint(value), Limit: limit}
}

// RefuseIf returns a *[ConfigError] if the value is wrong. With [cmp.Or] the first of several counts.
func RefuseIf(wrong bool, field string, value any, limit string) error {
	if wrong {
		return Refuse(field, value, limit)
	}
	return nil
}

// LayoutMismatchError is returned when a namespace exists with another layout
// than the configured one. It is refused because equal integers would mean
// different things.
type LayoutMismatchError struct {
	Namespace  string
	Stored     string // the layout's text form as the namespace was created
	Configured string
}

// Error shows both layouts, and names the presets of the stored one. Another namespace alone does not help:
// where both layouts cut the bits alike, its ids can repeat those that were issued here.
func (e *LayoutMismatchError) Error() string {
	name := e.Stored
	var presets []string
	for _, p := range append(snowfence.Presets(), snowfence.WidePresets()...) {
		if p.Layout.String() == e.Stored {
			presets = append(presets, strconv.Quote(p.Name))
		}
	}
	if len(presets) > 0 {
		name = strings.Join(presets, " or ")
	}
	return fmt.Sprintf("snowfence: namespace %q has the layout %s, but %s is configured: a namespace's layout never changes, so configure the layout %s; the ids of another namespace can equal those of this one",
		e.Namespace, e.Stored, e.Configured, name)
}

// Class is [snowfence.ClassUsage].
func (e *LayoutMismatchError) Class() snowfence.Class { return snowfence.ClassUsage }

// Gone returns the error, wrapping [ErrMustExist], for a record that has to be there.
func Gone(what string) error { return fmt.Errorf("the record of %s is gone: %w", what, ErrMustExist) }
