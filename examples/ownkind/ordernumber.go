package main

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/daemon/kind"
)

// orderNumbers is a kind of id for people, such as EU-00004711-8:
//
//	EU        region, from the settings
//	00004711  a number that the store counts, padded with zeros
//	8         check digit of that number (Luhn, ISO/IEC 7812-1): a mistyped digit is noticed
//
// An order number is never given twice in a namespace of a store. There may be gaps: a process
// that crashes loses the numbers that it had reserved. All generators of one region count
// together, so they must have as many digits.
//
// The settings are region, 2 or 3 capitals, which must be given, and digits, 4 to 18, by default 8.
type orderNumbers struct{}

// Name is what a configuration calls the kind.
func (orderNumbers) Name() string { return "order-number" }

// Configure checks the settings of one generator.
func (orderNumbers) Configure(settings map[string]string) (kind.Opener, error) {
	m := minter{digits: 8}
	for key, value := range settings {
		switch key {
		case "region":
			m.region = value
		case "digits":
			n, err := strconv.Atoi(value)
			if err != nil || n < 4 || n > 18 {
				return nil, &kind.SettingError{Key: key, Limit: "must be a whole number from 4 to 18"}
			}
			m.digits = n
		default:
			return nil, &kind.SettingError{Key: key, Limit: "is no setting of order-number: must be region or digits"}
		}
	}
	if !regexp.MustCompile(`^[A-Z]{2,3}$`).MatchString(m.region) {
		return nil, &kind.SettingError{Key: "region", Limit: "must be 2 or 3 capital letters: EU"}
	}
	return m.open, nil
}

// minter mints the order numbers of a region.
type minter struct {
	*counter.Segments // its Close is the minter's, too
	region            string
	digits            int
}

// open is a [kind.Opener]. The counter's name has the region in it: what is counted apart must
// look different.
func (m minter) open(ctx context.Context, spec kind.Spec) (kind.Minter, error) {
	limit := int64(1)
	for range m.digits {
		limit *= 10
	}
	var err error
	m.Segments, err = counter.OpenSegments(ctx, counter.SegmentsConfig{
		Config: counter.Config{
			Store:     spec.Store,
			Namespace: spec.Namespace,
			Name:      "order-number." + strings.ToLower(m.region),
			Limit:     limit - 1,
		},
		Step: 100, // a crash loses some hundred numbers at most, while demand is low
	})
	return m, err
}

// Form is [kind.Text].
func (minter) Form() kind.Form { return kind.Text }

// Mint takes n numbers from the counter, whose errors show the daemon whether to try again, and
// writes them as texts.
func (m minter) Mint(ctx context.Context, n int, into *kind.Batch) error {
	numbers := make([]snowfence.ID, n)
	if err := m.Fill(ctx, numbers); err != nil {
		return err
	}
	before := into.Len()
	var scratch [kind.MaxText]byte
	for _, number := range numbers {
		digits := fmt.Sprintf("%0*d", m.digits, number)
		if err := into.AppendText(fmt.Appendf(scratch[:0], "%s-%s-%d", m.region, digits, checkDigit(digits))); err != nil {
			into.Truncate(before)
			return err
		}
	}
	return nil
}

// checkDigit returns the digit that makes the Luhn sum a multiple of ten.
func checkDigit(digits string) int {
	sum := 0
	for i, c := range digits {
		d := int(c - '0')
		if (len(digits)-i)%2 == 1 { // every second one, from the last on, counts double
			d = d*2/10 + d*2%10
		}
		sum += d
	}
	return (10 - sum%10) % 10
}
