package http

import (
	"net/http"
	"strconv"
	"strings"
)

// The forms in which answers are offered.
const (
	typeJSON  = "application/json"
	typePlain = "text/plain"
)

// negotiate returns the offer that the Accept header likes best (RFC 9110,
// section 12.5.1), the earlier one when it likes two alike. It fails when none
// is acceptable.
func negotiate(r *http.Request, offers ...string) (string, error) {
	accept := strings.Join(r.Header.Values("Accept"), ",")
	if accept == "" {
		return offers[0], nil
	}
	best, bestQuality := "", 0
	for _, offer := range offers {
		if q := quality(accept, offer); q > bestQuality {
			best, bestQuality = offer, q
		}
	}
	if best == "" {
		return "", &problem{
			status: http.StatusNotAcceptable, name: typeNotAcceptable, title: "No acceptable form is offered",
			detail: "offered are " + strings.Join(offers, " and "), field: "Accept", value: accept, limit: strings.Join(offers, ", "),
		}
	}
	return best, nil
}

// quality returns how much an Accept header likes a media type, in
// thousandths. The most specific range that covers the type decides. A range
// that can't be read is passed over, as it might be meant for others.
func quality(accept, offer string) int {
	family, _, _ := strings.Cut(offer, "/")
	specific, q := 0, 0
	for element := range strings.SplitSeq(accept, ",") {
		mediaRange, parameters, _ := strings.Cut(element, ";")
		var level int
		switch strings.ToLower(strings.TrimSpace(mediaRange)) {
		case offer:
			level = 3
		case family + "/*":
			level = 2
		case "*/*":
			level = 1
		}
		if level <= specific {
			continue
		}
		if weight, ok := weightOf(parameters); ok {
			specific, q = level, weight
		}
	}
	return q
}

// weightOf returns the q of a range's parameters in thousandths, 1000 when
// there is none.
func weightOf(parameters string) (thousandths int, ok bool) {
	for parameter := range strings.SplitSeq(parameters, ";") {
		name, value, _ := strings.Cut(parameter, "=")
		if !strings.EqualFold(strings.TrimSpace(name), "q") {
			continue
		}
		value = strings.TrimSpace(value)
		// 0 or 1 with at most three decimals, as the standard writes it.
		if len(value) > 5 || strings.Trim(value, "0123456789.") != "" {
			return 0, false
		}
		f, err := strconv.ParseFloat(value, 64)
		if err != nil || f > 1 {
			return 0, false
		}
		return int(f*1000 + 0.5), true
	}
	return 1000, true
}
