package plan

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"snowfence.example/snowfence/internal/text"
)

// suffix is a multiplier that a quantity may end in.
type suffix struct {
	text   string
	factor float64
}

// suffixes are the largest first.
func suffixes() []suffix { return []suffix{{"T", 1e12}, {"G", 1e9}, {"M", 1e6}, {"k", 1e3}} }

// ParseQuantity reads a number above zero, up to 2^62: 1024, 10k, 1.5M, 2G or 2T.
func ParseQuantity(s string) (float64, error) {
	digits, factor := s, 1.0
	for _, x := range suffixes() {
		if before, ok := strings.CutSuffix(s, x.text); ok {
			digits, factor = before, x.factor
		}
	}
	value, err := strconv.ParseFloat(digits, 64)
	switch {
	case err != nil || strings.Trim(digits, "0123456789.eE+") != "": // strconv alone would also read hex, Inf and NaN
		return 0, fmt.Errorf("%q is not a quantity such as 1024, 10k or 4M", s)
	case value == 0:
		return 0, fmt.Errorf("%q is not above zero", s)
	case value*factor > 1<<62:
		return 0, fmt.Errorf("%q is above the limit of 2^62", s)
	}
	return value * factor, nil
}

// ParseCount reads a whole quantity, such as a number of workers. An error is
// returned where [ParseQuantity] returns one, and for fractions.
func ParseCount(s string) (float64, error) {
	value, err := ParseQuantity(s)
	if err == nil && value != math.Trunc(value) {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return value, err
}

// Quantity writes a number for people: up to three decimals below ten, whole
// with thousands set apart below ten million, and to three digits with a
// suffix (4.19G) from there on.
func Quantity(value float64) string {
	switch {
	case value < 10:
		return decimals(value, 3)
	case value < 1e7:
		return text.Grouped(int64(math.Round(value)))
	}
	for _, x := range suffixes()[:3] {
		if shown := value / x.factor; shown >= 1 {
			return decimals(shown, max(0, 2-int(math.Log10(shown*1.0005)))) + x.text
		}
	}
	return text.Grouped(int64(value))
}

// Years writes years: two decimals below ten, one below a thousand, none above.
func Years(years float64) string {
	switch {
	case years < 10:
		return decimals(years, 2)
	case years < 1000:
		return decimals(years, 1)
	default:
		return Quantity(years)
	}
}

// grouped writes a number in full: whole from a thousand on, with four decimals below.
func grouped(value float64) string {
	if value < 1000 {
		return decimals(value, 4)
	}
	return text.Grouped(int64(value))
}

// decimals writes a number with at most so many decimals.
func decimals(value float64, most int) string {
	scale := math.Pow10(most)
	return strconv.FormatFloat(math.Round(value*scale)/scale, 'f', -1, 64)
}
