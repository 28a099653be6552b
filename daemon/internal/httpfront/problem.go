package httpfront

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
)

// typePrefix makes a type's name the URI that RFC 9457 asks for: a tag (RFC
// 4151), as there is nothing to fetch.
const typePrefix = "tag:snowfence.example,2026:problem/"

// The types of problems that HTTP alone has, beside the types of package service.
const (
	typeNotFound         = typePrefix + "not-found"
	typeMethodNotAllowed = typePrefix + "method-not-allowed"
	typeInvalidQuery     = typePrefix + "invalid-query"
	typeUnexpectedBody   = typePrefix + "unexpected-body"
	typeBodyTooLarge     = typePrefix + "body-too-large"
	typeCrossSite        = typePrefix + "cross-site"
	typeUnknownHost      = typePrefix + "unknown-host"
	typeNotReady         = typePrefix + "not-ready"
)

// problem is sent in the body of RFC 9457. The fields after Detail are extensions.
type problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail,omitempty"`
	Field  string `json:"field,omitempty"`
	Value  string `json:"value,omitempty"`
	Limit  string `json:"limit,omitempty"`

	Generators []generatorJSON `json:"generators,omitempty"` // of a server that is not ready

	retryAfter time.Duration
}

func (p *problem) Error() string { return p.Type + ": " + p.Detail }

// statusOf returns HTTP's status of a meaning.
func statusOf(meaning front.Meaning) int {
	return [...]int{
		front.Invalid: http.StatusBadRequest, front.Unauthorized: http.StatusUnauthorized, front.Forbidden: http.StatusForbidden,
		front.NotFound: http.StatusNotFound, front.Conflict: http.StatusConflict, front.TooMany: http.StatusTooManyRequests,
		front.Unavailable: http.StatusServiceUnavailable, front.Cancelled: http.StatusServiceUnavailable, front.Broken: http.StatusInternalServerError,
	}[meaning]
}

// asProblem translates an error of the service or of this package.
func asProblem(err error) *problem {
	if own, ok := errors.AsType[*problem](err); ok {
		return own
	}
	p := front.ProblemOf(err)
	return &problem{
		Type:   typePrefix + p.Type.String(),
		Title:  p.Type.Title(),
		Status: statusOf(p.Type.Meaning()),
		Detail: p.Detail,
		Field:  p.Field, Value: p.Value, Limit: p.Limit,
		retryAfter: p.RetryAfter,
	}
}

// fail answers with a problem, and counts it.
func (h *Handler) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := asProblem(err)
	status := h.prepare(w, p)
	if h.writeJSON(w, r, status, "application/problem+json", p) != nil { // for want of memory: these fields always make JSON
		w.WriteHeader(status)
	}
}

// prepare counts a problem and sets its headers. It returns its status.
func (h *Handler) prepare(w http.ResponseWriter, p *problem) (status int) {
	h.count(p)
	if p.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(p.retryAfter.Seconds()))))
	}
	if p.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer realm="snowfence"`)
	}
	return p.Status
}

// count counts a problem.
func (h *Handler) count(p *problem) { h.Meter.Failed(strings.TrimPrefix(p.Type, typePrefix)) }
