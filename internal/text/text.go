// Package text reads and writes small things: numbers, ranges, lists: numbers
// with commas, plurals, amounts of bytes, lists of numbers, errors without the
// program's name.
//
//	text.Count(1500, "id")             "1,500 ids"
//	text.Bytes(1 << 30)                "1.0 GiB"
//	text.ParseRanges("8,0-3,4")        0-4 and 8
//	text.Message(err)                  "the store is closed"
//
// All of it is safe for concurrent use.
package text

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Number is any countable type.
type Number interface{ ~int | ~int64 | ~uint64 }

// Grouped writes a number with commas: "12,345".
func Grouped[N Number](n N) string {
	s := fmt.Sprint(n)
	for at := len(s) - 3; at > 0 && s[at-1] != '-'; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return s
}

// Plural returns the word that goes with a number: one for 1, else several.
func Plural[N Number](n N, one, several string) string {
	if n == 1 {
		return one
	}
	return several
}

// Count writes a number of things whose plural ends in s: "1 id", "2,500 ids".
func Count[N Number](n N, thing string) string { return Grouped(n) + " " + Plural(n, thing, thing+"s") }

// Bytes writes an amount of bytes: "17 bytes", "1.5 GiB".
func Bytes(n uint64) string {
	if n < 1<<10 {
		return Count(n, "byte")
	}
	v, unit := float64(n)/(1<<10), 0
	for ; v >= 1<<10 && unit < 3; unit++ {
		v /= 1 << 10
	}
	return fmt.Sprintf("%.1f %ciB", v, "KMGT"[unit])
}

// ParseBytes reads an amount of bytes such as 512MiB, 2G or 1.5GB: K, M, G and T, alone
// or before iB, are powers of 1024, and before B alone powers of 1000.
func ParseBytes(text string) (int64, error) {
	end := strings.LastIndexAny(text, "0123456789.") + 1
	n, err := strconv.ParseFloat(text[:end], 64)
	unit, known := map[string]float64{
		"": 1, "B": 1,
		"K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40,
		"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40,
		"KB": 1e3, "MB": 1e6, "GB": 1e9, "TB": 1e12,
	}[strings.ToUpper(strings.TrimSpace(text[end:]))]
	if err != nil || !known || n < 0 || n*unit > math.MaxInt64/2 {
		return 0, fmt.Errorf("%q: must be an amount of bytes, such as 512MiB or 2GB", text)
	}
	return int64(n * unit), nil
}

// Message returns an error's text without the "snowfence: " that its lines may begin
// with: the program writes that before every line.
func Message(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimPrefix(line, "snowfence: ")
	}
	return strings.Join(lines, "\n")
}

// Or lists words to choose from: "a, b or c".
func Or(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// Strings returns words of some type as strings.
func Strings[T ~string](words []T) []string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	return texts
}
