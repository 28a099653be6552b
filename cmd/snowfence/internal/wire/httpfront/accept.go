package httpfront

import (
	"mime"
	"net/http"
	"slices"
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
	best, bestQuality := "", 0.0
	for _, offer := range offers {
		if q := quality(accept, offer); q > bestQuality {
			best, bestQuality = offer, q
		}
	}
	if best == "" {
		return "", &problem{
			Status: http.StatusNotAcceptable, Type: typeNotAcceptable, Title: "No acceptable form is offered",
			Detail: "offered are " + strings.Join(offers, " and "), Field: "Accept", Value: accept, Limit: strings.Join(offers, ", "),
		}
	}
	return best, nil
}

// quality returns how much an Accept header likes a media type, from 0 to 1. The
// most specific range that covers the type decides. A range that can't be read
// is passed over, as it might be meant for others.
func quality(accept, offer string) float64 {
	family, _, _ := strings.Cut(offer, "/")
	specific, best := 0, 0.0
	for element := range strings.SplitSeq(accept, ",") {
		mediaRange, parameters, err := mime.ParseMediaType(element)
		if err != nil {
			continue
		}
		level := 1 + slices.Index([]string{"*/*", family + "/*", offer}, mediaRange)
		if level <= specific {
			continue
		}
		q := 1.0
		if text, ok := parameters["q"]; ok {
			q, err = strconv.ParseFloat(text, 64)
			if err != nil || len(text) > len("0.001") || !(q >= 0 && q <= 1) {
				continue
			}
		}
		specific, best = level, q
	}
	return best
}
