package plan

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// suffix is a multiplier that a quantity may end in.
type suffix struct {
	text   string
	factor float64
}

// suffixes are decimal ones as in rates and binary ones as in memory sizes. The
// longer ones stand first.
func suffixes() []suffix {
	return []suffix{
		{"Ki", 1 << 10}, {"Mi", 1 << 20}, {"Gi", 1 << 30}, {"Ti", 1 << 40},
		{"k", 1e3}, {"K", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12},
	}
}

// ParseQuantity reads a positive number as people write it: 1024, 1,024,
// 1_024, 10k, 4M, 1.5G, 64Ki, 1e6 or 2^20. A trailing "/s" is allowed, for
// rates. An error is returned for anything else, for zero and below, and for
// numbers above 2^62.
func ParseQuantity(s string) (float64, error) {
	text := strings.TrimSuffix(strings.TrimSpace(s), "/s")
	text = strings.NewReplacer(",", "", "_", "").Replace(text)
	factor := 1.0
	for _, x := range suffixes() {
		if rest, ok := strings.CutSuffix(text, x.text); ok {
			text, factor = strings.TrimSpace(rest), x.factor
			break
		}
	}
	value, err := parseNumber(text)
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is not a quantity such as 1024, 10k, 4M or 2^20", s)
	case !(value > 0): // NaN included
		return 0, fmt.Errorf("%q is not above zero", s)
	case value*factor > 1<<62:
		return 0, fmt.Errorf("%q is above the limit of 2^62", s)
	}
	return value * factor, nil
}

// parseNumber reads a plain number or a power such as 2^20. The alphabet is
// checked first, because strconv would also read hex, Inf and NaN.
func parseNumber(s string) (float64, error) {
	if strings.Trim(s, "0123456789.eE+^") != "" {
		return 0, strconv.ErrSyntax
	}
	base, exponent, ok := strings.Cut(s, "^")
	if !ok {
		return strconv.ParseFloat(s, 64)
	}
	b, err := strconv.ParseFloat(base, 64)
	if err != nil {
		return 0, err
	}
	e, err := strconv.ParseFloat(exponent, 64)
	if err != nil {
		return 0, err
	}
	return math.Pow(b, e), nil
}

// ParseCount reads a whole quantity, such as a number of workers. An error is
// returned where [ParseQuantity] returns one, and for fractions.
func ParseCount(s string) (int64, error) {
	value, err := ParseQuantity(s)
	if err != nil {
		return 0, err
	}
	if value != math.Trunc(value) {
		return 0, fmt.Errorf("%q is not a whole number", s)
	}
	return int64(value), nil
}

// Count writes a whole number with its thousands set apart: 1,048,576.
func Count(n int64) string {
	digits := strconv.FormatInt(n, 10)
	sign := ""
	if n < 0 {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return sign + digits
}

// Quantity writes a number for people: up to three decimals below ten, whole
// with thousands set apart below ten million, and to three digits with a
// suffix (4.19G) from there on.
func Quantity(value float64) string {
	switch {
	case value < 10:
		return trimZeros(strconv.FormatFloat(value, 'f', 3, 64))
	case value < 1e7:
		return Count(int64(math.Round(value)))
	}
	for _, x := range slices.Backward(suffixes()) {
		if x.factor >= 1e6 && len(x.text) == 1 && value >= x.factor {
			return threeDigits(value/x.factor) + x.text
		}
	}
	return Count(int64(value))
}

// threeDigits writes a number between 1 and 10,000 to three digits.
func threeDigits(value float64) string {
	decimals := 2
	for limit := 9.995; value >= limit && decimals > 0; limit *= 10 {
		decimals--
	}
	return trimZeros(strconv.FormatFloat(value, 'f', decimals, 64))
}

// Years writes a length in years: two decimals below ten, one below a
// thousand, none above.
func Years(years float64) string {
	switch {
	case years < 10:
		return trimZeros(strconv.FormatFloat(years, 'f', 2, 64))
	case years < 1000:
		return trimZeros(strconv.FormatFloat(years, 'f', 1, 64))
	default:
		return Quantity(years)
	}
}

// trimZeros drops the zeros that end a decimal fraction.
func trimZeros(s string) string {
	if !strings.Contains(s, ".") {
		return s
	}
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// Amount writes a number and what there is of it: "1 worker", "1,024 workers".
func Amount(number, noun string) string {
	if number != "1" {
		noun += "s"
	}
	return number + " " + noun
}
