package http

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"snowfence.example/snowfence/cmd/snowfence/internal/service"
)

// typePrefix makes a type's name the URI that RFC 9457 asks for: a tag (RFC
// 4151), as there is nothing to fetch.
const typePrefix = "tag:snowfence.example,2026:problem/"

// The types of problems that HTTP alone has, beside those of package service.
const (
	typeNotFound         = "not-found"
	typeMethodNotAllowed = "method-not-allowed"
	typeNotAcceptable    = "not-acceptable"
	typeInvalidQuery     = "invalid-query"
	typeUnexpectedBody   = "unexpected-body"
	typeBodyTooLarge     = "body-too-large"
	typeCrossSite        = "cross-site"
	typeUnknownHost      = "unknown-host"
	typeNotReady         = "not-ready"
)

// problem is an error in the form in which it is sent.
type problem struct {
	status              int
	name                string // of its type
	title               string
	detail              string
	field, value, limit string
	retryAfter          time.Duration
	generators          []generatorJSON // of a server that is not ready
}

func (p *problem) Error() string { return p.name + ": " + p.detail }

// problemJSON is the body of RFC 9457. What stands after Detail is an
// extension.
type problemJSON struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
	Value  string `json:"value,omitempty"`
	Limit  string `json:"limit,omitempty"`

	Generators []generatorJSON `json:"generators,omitempty"`
}

// statusOf returns what one of the service's classes is called here.
func statusOf(class service.Class) int {
	switch class {
	case service.Invalid:
		return http.StatusBadRequest
	case service.Unauthorized:
		return http.StatusUnauthorized
	case service.NotFound:
		return http.StatusNotFound
	case service.Unavailable, service.Cancelled:
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// asProblem translates an error of the service or of this package.
func asProblem(err error) *problem {
	var own *problem
	if errors.As(err, &own) {
		return own
	}
	var p *service.Problem
	if !errors.As(err, &p) {
		p = &service.Problem{Type: service.Internal, Detail: "the answer could not be made"}
	}
	return &problem{
		status:     statusOf(p.Type.Class()),
		name:       p.Type.String(),
		title:      p.Type.Title(),
		detail:     p.Detail,
		field:      p.Field,
		value:      p.Value,
		limit:      p.Limit,
		retryAfter: p.RetryAfter,
	}
}

// writeProblem answers with a problem.
func writeProblem(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="snowfence"`)
	}
	// These fields always make JSON, so this can't fail.
	_ = writeJSON(w, r, p.status, "application/problem+json", problemJSON{
		Type:   typePrefix + p.name,
		Title:  p.title,
		Status: p.status,
		Detail: p.detail,
		Field:  p.field,
		Value:  p.value,
		Limit:  p.limit,

		Generators: p.generators,
	})
}
