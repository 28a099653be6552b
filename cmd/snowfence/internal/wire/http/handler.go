package http

import (
	"net/http"
	"net/url"
	"strings"
	"sync"

	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
)

// Config says what the front is made of.
type Config struct {
	// Service is what the front translates for.
	Service *service.Service

	// Metrics answers /metrics.
	Metrics http.Handler

	// AnyHost turns off the check of the Host header. It is for servers that
	// ask for a token, which no web page knows, and for addresses that have
	// other names than this program can know.
	AnyHost bool

	// Hosts are the host names that are answered to beside loopback's.
	Hosts []string
}

// Handler is the front. Use [New] to make one.
type Handler struct {
	service *service.Service
	metrics http.Handler
	anyHost bool
	hosts   []string
	routes  []route
	buffers sync.Pool // of *buffer, empty
}

// route is one path and what answers it. A segment in braces stands for any
// one segment that is not empty.
type route struct {
	path    string
	methods map[string]method

	// open routes ask for no token and may be shown to anybody: they are for
	// probes, and for people who look for the way in.
	open bool
}

// method answers a request. It has the segments that stood where the path has
// braces. What it returns is answered as a problem.
type method func(w http.ResponseWriter, r *http.Request, segments []string) error

// New returns the front.
func New(cfg Config) *Handler {
	h := &Handler{service: cfg.Service, metrics: cfg.Metrics, anyHost: cfg.AnyHost, hosts: cfg.Hosts, buffers: sync.Pool{New: newBuffer}}
	h.routes = []route{
		{path: "/v1/generators/{name}/ids", methods: map[string]method{http.MethodGet: h.mint, http.MethodPost: h.mint}},
		{path: "/v1/generators", methods: map[string]method{http.MethodGet: h.generators}},
		{path: "/v1/decode/{id}", methods: map[string]method{http.MethodGet: h.decode}},
		{path: "/livez", methods: map[string]method{http.MethodGet: h.live}, open: true},
		{path: "/readyz", methods: map[string]method{http.MethodGet: h.ready}, open: true},
		{path: "/metrics", methods: map[string]method{http.MethodGet: h.expose}},
		{path: "/openapi.yaml", methods: map[string]method{http.MethodGet: h.openapi}, open: true},
	}
	return h
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	if err := h.answer(w, r); err != nil {
		writeProblem(w, r, err)
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *http.Request) error {
	found, segments := h.find(r.URL.EscapedPath())
	if found == nil {
		return &problem{status: http.StatusNotFound, name: typeNotFound, title: "Nothing has this address", detail: "the addresses are listed at /openapi.yaml"}
	}
	answer, allowed := found.methods[r.Method]
	if r.Method == http.MethodHead {
		answer, allowed = found.methods[http.MethodGet]
	}
	if !allowed {
		w.Header().Set("Allow", found.allow())
		return &problem{status: http.StatusMethodNotAllowed, name: typeMethodNotAllowed, title: "The method is not allowed here", detail: "allowed are " + found.allow()}
	}
	if !found.open {
		if err := h.admit(r); err != nil {
			return err
		}
	}
	if err := h.checkBody(w, r); err != nil {
		return err
	}
	return answer(w, r, segments)
}

// find returns the route of a path, which is still escaped, and what stood in
// the place of its braces.
func (h *Handler) find(path string) (*route, []string) {
	for i := range h.routes {
		if segments, ok := match(h.routes[i].path, path); ok {
			return &h.routes[i], segments
		}
	}
	return nil, nil
}

// match compares a path with a pattern, segment by segment: a slash that is
// escaped separates nothing.
func match(pattern, path string) (segments []string, ok bool) {
	for pattern != "" || path != "" {
		var want, got string
		want, pattern = firstSegment(pattern)
		got, path = firstSegment(path)
		switch {
		case strings.HasPrefix(want, "/{") && len(got) > 1:
			plain, err := url.PathUnescape(got[1:])
			if err != nil {
				return nil, false
			}
			segments = append(segments, plain)
		case want != got:
			return nil, false
		}
	}
	return segments, true
}

// firstSegment cuts "/a/b" into "/a" and "/b".
func firstSegment(path string) (first, rest string) {
	if path == "" {
		return "", ""
	}
	if i := strings.IndexByte(path[1:], '/'); i >= 0 {
		return path[:i+1], path[i+1:]
	}
	return path, ""
}

// allow returns the value of the Allow header.
func (r *route) allow() string {
	var allowed []string
	for _, name := range []string{http.MethodGet, http.MethodHead, http.MethodPost} {
		_, ok := r.methods[name]
		if name == http.MethodHead {
			_, ok = r.methods[http.MethodGet]
		}
		if ok {
			allowed = append(allowed, name)
		}
	}
	return strings.Join(allowed, ", ")
}

// live answers while the program runs at all.
func (h *Handler) live(w http.ResponseWriter, r *http.Request, _ []string) error {
	return writeText(w, r, http.StatusOK, "live\n")
}

// expose answers with the metrics.
func (h *Handler) expose(w http.ResponseWriter, r *http.Request, _ []string) error {
	h.metrics.ServeHTTP(w, r)
	return nil
}

// openapi answers with the description of this surface.
func (h *Handler) openapi(w http.ResponseWriter, r *http.Request, _ []string) error {
	return writeBody(w, r, http.StatusOK, "application/yaml", api.OpenAPI())
}
