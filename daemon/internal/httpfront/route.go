package httpfront

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"snowfence.example/snowfence/daemon/internal/front"
)

// route is one address and its function.
type route struct {
	path    path
	methods []string
	answer  answer

	audience audience
	document bool // it takes a body of JSON
	form     bool // it takes a form
	cookie   bool // a token may stand in the cookie of the page, which calls it
	spring   bool // its path is read as Spring Boot 1.5 reads it: see springPath
}

func ours(path string, methods []string, answer answer, who audience) route {
	return route{path: at(path), methods: methods, answer: answer, audience: who}
}

// path is the path of a route, between slashes. The part {name} stands for any that is not empty, and
// {name...} for all that follow.
type path []string

func at(text string) path { return strings.Split(text, "/") }

// audience is who uses a route.
type audience uint8

const (
	clients   audience = iota
	operators          // for operators alone
	everybody          // open without a token: people who look for the way in
	monitors           // open without a token, and every front has these
	others             // clients of another system, who show their token in its way
	readers            // of the page, which looks at their tokens itself
)

// call is a request that is answered.
type call struct {
	*http.Request
	client front.Client
	last   bool // of its connection

	route *route
	body  []byte           // of a route that takes one
	parts []string         // of the path, between slashes
	array [maxParts]string // for these
}

// maxParts is more than the path of any route has. The last one takes all that is left.
const maxParts = 8

// find returns the route of the request's path, or nil.
func (r *call) find(routes []route) *route {
	path, escaped := r.URL.Path, r.URL.RawPath != ""
	if escaped {
		path = r.URL.RawPath
	}
	if cleaned := springPath(path); cleaned != path {
		r.split(cleaned, escaped)
		for i := range routes {
			if routes[i].spring && routes[i].match(r.parts) {
				r.route = &routes[i]
				return r.route
			}
		}
	}
	r.split(path, escaped)
	for i := range routes {
		if routes[i].match(r.parts) {
			r.route = &routes[i]
			return r.route
		}
	}
	return nil
}

// springPath is a path without the parts that Spring Boot 1.5 ignores: all from a semicolon to the end
// of a part, empty parts, and a slash at the end.
func springPath(path string) string {
	if !strings.Contains(path, ";") && !strings.Contains(path, "//") && !strings.HasSuffix(path, "/") {
		return path // as in most requests
	}
	var cleaned strings.Builder
	for part := range strings.SplitSeq(path, "/") {
		if part, _, _ = strings.Cut(part, ";"); part != "" {
			cleaned.WriteString("/" + part)
		}
	}
	return cleaned.String()
}

// split takes a path apart.
func (r *call) split(path string, escaped bool) {
	r.parts = r.array[:0]
	for more := true; more; {
		part := path
		if more = len(r.parts) < maxParts-1; more {
			part, path, more = strings.Cut(path, "/")
		}
		if escaped {
			part, _ = url.PathUnescape(part) // package url has read it before
		}
		r.parts = append(r.parts, part)
	}
}

// value returns the text of a wildcard of the route, or nothing for an unknown wildcard.
func (r *call) value(wildcard string) string {
	i := slices.Index(r.route.path, wildcard)
	switch {
	case i < 0:
		return ""
	case i == len(r.route.path)-1:
		return strings.Join(r.parts[i:], "/") // it may stand for several
	}
	return r.parts[i]
}

// match reports whether a request's path is that of the route. Spring takes any suffix at the end, such as .json.
func (r *route) match(parts []string) bool {
	p := r.path
	for i, want := range p {
		switch {
		case i == len(parts):
			return false
		case strings.HasSuffix(want, "...}"):
			return true
		case strings.HasPrefix(want, "{") && parts[i] != "":
		case want != parts[i] && !(r.spring && i == len(p)-1 && strings.HasPrefix(parts[i], want+".")):
			return false
		}
	}
	return len(parts) == len(p)
}

// takes reports whether a method is answered.
func (r *route) takes(method string) bool { return slices.Contains(r.methods, method) }

// takesForm reports whether parameters may come as a form: other systems, which serve any method, take them so.
func (r *route) takesForm() bool { return r.form || r.takes(http.MethodPut) && !r.document }
