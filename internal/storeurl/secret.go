package storeurl

import (
	"fmt"
	"strconv"
	"strings"
)

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

// Password returns the password that is given or, when there is a file, the
// file's first line, without its end.
func Password(given Secret, file string) (Secret, error) {
	if file == "" {
		return given, nil
	}
	content, err := ReadFile(file)
	if err != nil {
		return "", err
	}
	line, _, _ := strings.Cut(string(content), "\n")
	line = strings.TrimSuffix(line, "\r")
	if line == "" {
		return "", fmt.Errorf("%s: its first line is empty", file)
	}
	return Secret(line), nil
}
