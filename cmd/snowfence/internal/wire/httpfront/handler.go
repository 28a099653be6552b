package httpfront

import (
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"

	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/cmd/snowfence/internal/metrics"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/cmd/snowfence/internal/token"
	"snowfence.example/snowfence/cmd/snowfence/internal/wire/compat"
)

// Config says what the front is made of.
type Config struct {
	// Service is what the front translates for.
	Service *service.Service

	// Meter counts requests.
	Meter *metrics.Front

	// Metrics answers /metrics.
	Metrics http.Handler

	// Public has the routes of clients, and Admin those of operators. With neither, the front answers probes
	// alone, and names no generators.
	Public, Admin bool

	// AnyHost turns off the check of the Host header: for servers with a token, which
	// no web page knows, and for addresses with names that this program can't know.
	AnyHost bool

	// Hosts are the host names that are answered to beside loopback's.
	Hosts []string
}

// Handler is the front. Use [New] to make one.
type Handler struct {
	Config
	routes  []route
	limited bool                   // whether clients' addresses matter
	buffers sync.Pool              // of *buffer, empty
	host    atomic.Pointer[string] // of the last request, if it was known

	// Values of headers that all answers share.
	noStore, noSniff []string
	contentTypes     map[string][]string
}

// answer answers a request. What it returns is answered as a problem.
type answer func(w http.ResponseWriter, r *call) error

// table lists the routes. That which counts comes first, since the first match is taken.
func (h *Handler) table() []route {
	get, post, mint := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodGet, http.MethodPost}
	// Leaf and tinyid serve any method that their framework does not answer by itself.
	anyMethod := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	return []route{
		{at("/v1/generators/{name}/ids"), mint, h.mint, clients},
		{at("/v1/generators"), get, h.generators, clients},
		{at("/v1/generators/{name}/reservations"), mint, h.reservations, clients},
		{at("/v1/generators/{name}/reservations/{number}/confirm"), post, h.confirm, clients},
		{at("/v1/generators/{name}/reservations/{number}/void"), post, h.void, clients},
		{at("/v1/decode/{id}"), get, h.decode, clients},
		{at("/api/snowflake/get/{key...}"), anyMethod, h.compat(compat.LeafSnowflake), clients},
		{at("/api/segment/get/{key...}"), anyMethod, h.compat(compat.LeafSegment), clients},
		{at("/decodeSnowflakeId"), anyMethod, h.compat(compat.LeafDecode), clients},
		{at("/cache"), get, h.compat(compat.LeafCache), operators},
		{at("/db"), get, h.compat(compat.LeafDB), operators},
		{at("/tinyid/id/nextId"), anyMethod, h.compat(compat.TinyIDs), others},
		{at("/tinyid/id/nextIdSimple"), anyMethod, h.compat(compat.TinyIDsSimple), others},
		{at("/tinyid/id/nextSegmentId"), anyMethod, h.compat(compat.TinySegment), others},
		{at("/tinyid/id/nextSegmentIdSimple"), anyMethod, h.compat(compat.TinySegmentSimple), others},
		{at("/livez"), get, h.static(typePlain, []byte("live\n")), monitors},
		{at("/readyz"), get, h.ready, monitors},
		{at("/readyz/{name}"), get, h.ready, monitors},
		{at("/metrics"), get, h.expose, operators},
		{at("/openapi.yaml"), get, h.static("application/yaml", api.OpenAPI()), everybody},
	}
}

// New returns the front.
func New(cfg Config) *Handler {
	h := &Handler{
		Config: cfg, limited: cfg.Service.Limits().AddressRate > 0, noStore: []string{"no-store"}, noSniff: []string{"nosniff"},
		contentTypes: map[string][]string{typeJSON: {typeJSON}, typePlain: {typePlain + "; charset=utf-8"}},
	}
	h.buffers.New = func() any { return &buffer{text: make([]byte, 0, chunk)} }
	for _, route := range h.table() {
		if h.has(route.audience) {
			h.routes = append(h.routes, route)
		}
	}
	return h
}

// has reports whether the front answers the routes of an audience.
func (h *Handler) has(a audience) bool {
	switch a {
	case clients, others:
		return h.Public
	case operators:
		return h.Admin
	case everybody:
		return h.Public || h.Admin
	default:
		return true
	}
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Meter.Began()
	defer h.Meter.Answered(began, 1)
	header := w.Header()
	header["Cache-Control"], header["X-Content-Type-Options"] = h.noStore, h.noSniff
	var from netip.Addr
	if h.limited {
		from = remote(r)
	}
	if err := h.answer(w, &call{Request: r, client: h.Service.Client(from)}); err != nil {
		h.fail(w, r, err)
	}
}

func (h *Handler) answer(w http.ResponseWriter, r *call) error {
	route := r.find(h.routes)
	switch {
	case route == nil:
		return &problem{Type: typeNotFound, Title: "Nothing has this address", Status: http.StatusNotFound, Detail: h.listed()}
	case !route.takes(r.Method):
		allow := strings.Replace(strings.Join(route.methods, ", "), http.MethodGet, "GET, HEAD", 1) + ", OPTIONS"
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return &problem{Type: typeMethodNotAllowed, Title: "The method is not allowed here", Status: http.StatusMethodNotAllowed, Detail: "allowed are " + allow}
	}
	if route.audience != everybody && route.audience != monitors {
		if err := h.admit(r.Request); err != nil {
			return err
		}
	}
	if route.audience == clients || route.audience == operators {
		if err := r.client.Authorize(token.Bearer(r.Header.Get("Authorization"))); err != nil {
			return err
		}
	}
	if err := h.checkBody(w, r); err != nil {
		return err
	}
	return route.answer(w, r)
}

// listed says where the addresses are listed that the front has.
func (h *Handler) listed() string {
	if h.has(everybody) {
		return "the addresses are listed at /openapi.yaml"
	}
	return "this address answers /livez, /readyz and /readyz/NAME alone"
}

// static answers with the same at all times.
func (h *Handler) static(contentType string, body []byte) answer {
	return func(w http.ResponseWriter, r *call) error {
		return h.writeBody(w, r.Request, http.StatusOK, contentType, body)
	}
}

// compat answers as another system does.
func (h *Handler) compat(a compat.Answerer) answer {
	return func(w http.ResponseWriter, r *call) error {
		r.SetPathValue("key", r.value("{key...}"))
		got, err := a(r.Request, &r.client)
		if got.Status == 0 {
			return err
		}
		if err != nil {
			h.count(asProblem(err))
		}
		return h.writeBody(w, r.Request, got.Status, got.Type, got.Body)
	}
}

// expose answers with the metrics.
func (h *Handler) expose(w http.ResponseWriter, r *call) error {
	if err := r.client.ReadMetrics(); err != nil {
		return err
	}
	h.Metrics.ServeHTTP(w, r.Request)
	return nil
}
