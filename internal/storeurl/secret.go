package storeurl

import "strconv"

// Secret is a text that package fmt and package slog do not show.
type Secret string

const hidden = "xxxxx"

// String hides the text.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return strconv.Quote(s.String()) }

// MarshalText hides the text from encoders, package slog's among them.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
