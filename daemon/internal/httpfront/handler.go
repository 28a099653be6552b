package httpfront

import (
	"cmp"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/daemon/internal/budget"
	"snowfence.example/snowfence/daemon/internal/compat"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/page"
)

// Config has the parts of the front.
type Config struct {
	// Service answers the calls that the front translates requests into.
	Service front.Service

	// Meter counts requests.
	Meter front.Meter

	// Metrics answers /metrics.
	Metrics http.Handler

	// Page answers the routes of the page, beside the routes of operators. It may be nil.
	Page *page.Page

	// Public turns on the routes of clients, and Admin the routes of operators. With neither, the front
	// answers probes alone, without the names of generators.
	Public, Admin bool

	// Limits are the limits of connections and requests.
	Limits front.Limits

	// Memory bounds the memory of HTTP/2's streams. Nil is unbounded.
	Memory *budget.Budget

	// AnyHost turns off the check of the Host header: for servers with a token, which web pages can't
	// know, and for addresses with names that this program can't know.
	AnyHost bool

	// Clock dates the answers. Nil means [snowfence.SystemClock].
	Clock snowfence.Clock

	// Hosts are the host names that are answered to beside loopback's.
	Hosts []string
}

// Handler is the front. Use [New] to make one.
type Handler struct {
	Config
	routes []route
	small  sync.Pool              // of *buffer, empty, for a few ids: many requests may wait for theirs
	large  sync.Pool              // the same for others, whose memory is taken from that of all
	calls  sync.Pool              // of *call, empty
	host   atomic.Pointer[string] // of the last request, if it was known
	date   atomic.Pointer[date]   // of the last answer

	// Values of headers that all answers share.
	noStore, noSniff []string
	contentTypes     map[string][]string
}

// answer answers a request. Its error is answered as a problem.
type answer func(w http.ResponseWriter, r *call) error

// table lists the routes. The busiest route comes first, since the first match is taken.
func (h *Handler) table() []route {
	get, post, mint := []string{http.MethodGet, http.MethodHead}, []string{http.MethodPost}, []string{http.MethodGet, http.MethodPost}
	// Leaf and tinyid serve any method that their framework does not answer by itself.
	anyMethod := []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}
	routes := []route{
		{path: at("/v1/generators/{name}/ids"), methods: mint, answer: h.mint, cookie: true},
		ours("/v1/generators", get, h.generators, clients),
		ours("/v1/generators/{name}/reservations", append(get, http.MethodPost), h.reservations, clients),
		ours("/v1/generators/{name}/reservations/{number}/confirm", post, h.confirm, clients),
		ours("/v1/generators/{name}/reservations/{number}/void", post, h.void, clients),
		{path: at("/v1/decode/{id}"), methods: get, answer: h.decode, cookie: true},
		{path: at("/v1/generators/{name}/leases"), methods: post, answer: h.claim, document: true},
		{path: at("/v1/generators/{name}/leases/{worker}"), methods: []string{http.MethodPut}, answer: h.extend, document: true},
		{path: at("/v1/generators/{name}/leases/{worker}/release"), methods: post, answer: h.giveBack, document: true},
		h.theirs("/api/snowflake/get/{key...}", anyMethod, compat.LeafSnowflake, clients),
		h.theirs("/api/segment/get/{key...}", anyMethod, compat.LeafSegment, clients),
		h.theirs("/decodeSnowflakeId", append(anyMethod, http.MethodHead), compat.LeafDecode, clients),
		h.theirs("/cache", get, compat.LeafCache, operators),
		h.theirs("/db", get, compat.LeafDB, operators),
		h.theirs("/tinyid/id/nextId", anyMethod, compat.TinyIDs, others),
		h.theirs("/tinyid/id/nextIdSimple", anyMethod, compat.TinyIDsSimple, others),
		h.theirs("/tinyid/id/nextSegmentId", anyMethod, compat.TinySegment, others),
		h.theirs("/tinyid/id/nextSegmentIdSimple", anyMethod, compat.TinySegmentSimple, others),
		ours("/livez", get, h.static(typePlain, []byte("live\n")), monitors),
		ours("/readyz", get, h.health(front.Ready), monitors),
		ours("/readyz/{name}", get, h.health(front.Ready), monitors),
		ours("/activez", get, h.health(front.Active), monitors),
		ours("/activez/{name}", get, h.health(front.Active), monitors),
		ours("/metrics", get, h.expose, operators),
		ours("/openapi.yaml", get, h.static("application/yaml", api.OpenAPI()), everybody),
	}
	if h.Page != nil {
		for _, p := range h.Page.Routes() {
			routes = append(routes, h.ofPage(p))
		}
	}
	return routes
}

// New returns the front.
func New(cfg Config) *Handler {
	h := &Handler{
		Config: cfg, noStore: []string{"no-store"}, noSniff: []string{"nosniff"},
		contentTypes: map[string][]string{typeJSON: {typeJSON}, typePlain: {typePlain + "; charset=utf-8"}},
	}
	h.Clock = cmp.Or(h.Clock, snowfence.SystemClock())
	h.small.New = func() any { return &buffer{text: make([]byte, 0, few)} }
	h.large.New = func() any { return new(buffer) }
	h.calls.New = func() any { return new(call) }
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
	case operators, readers:
		return h.Admin
	case everybody:
		return h.Public || h.Admin
	default:
		return true
	}
}

// serve answers one request.
func (h *Handler) serve(w http.ResponseWriter, r *http.Request) {
	began := h.Meter.Began()
	defer h.Meter.Answered(began, 1)
	h.setShared(w)
	l := linkOf(r)
	c, _ := h.calls.Get().(*call) // it holds nothing else
	c.Request, c.client, c.last = r, h.Service.Client(l.remote), l.guesses.Spent()
	defer h.release(c)
	if c.last || r.ContentLength != 0 && r.ProtoMajor == 1 { // or the library waits for a body that the route has not read
		w.Header().Set(connection, "close") // in HTTP/2 it is a GOAWAY
	}
	err := h.answer(w, c)
	l.guesses.Note(c.client)
	if err != nil {
		h.fail(w, r, err)
	}
}

// release keeps the memory of a call for another.
func (h *Handler) release(c *call) {
	*c = call{}
	h.calls.Put(c)
}

func (h *Handler) answer(w http.ResponseWriter, r *call) error {
	route := r.find(h.routes)
	if route != nil && route.audience == readers {
		page.Harden(w.Header())
	}
	switch {
	case route == nil && r.Method == http.MethodOptions && r.URL.Path == "/":
		w.WriteHeader(http.StatusNoContent) // HAProxy asks this, to see whether a server is there
		return nil
	case route == nil:
		return h.nowhere()
	case !route.takes(r.Method):
		allow := strings.Join(route.methods, ", ") + ", OPTIONS"
		w.Header().Set("Allow", allow)
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return nil
		}
		return &problem{Type: typeMethodNotAllowed, Title: "The method is not allowed here", Status: http.StatusMethodNotAllowed, Detail: "allowed are " + allow}
	}
	if route.audience != everybody && route.audience != monitors {
		if err := h.admit(r.Request, route); err != nil {
			return err
		}
	}
	if route.audience == clients || route.audience == operators {
		shown, err := h.shown(r)
		if err == nil {
			err = r.client.Authorize(shown)
		}
		if err != nil {
			return err
		}
	}
	if err := h.checkBody(w, r); err != nil {
		return err
	}
	return route.answer(w, r)
}

// nowhere is the problem of an unknown address. It shows where the front's addresses are listed.
func (h *Handler) nowhere() error {
	if h.has(everybody) {
		return notFound("the addresses are listed at /openapi.yaml")
	}
	return notFound("this address answers /livez, /readyz, /readyz/NAME, /activez and /activez/NAME alone")
}

func notFound(detail string) error {
	return &problem{Type: typeNotFound, Title: "Nothing has this address", Status: http.StatusNotFound, Detail: detail}
}

// static answers with the same at all times.
func (h *Handler) static(contentType string, body []byte) answer {
	return func(w http.ResponseWriter, r *call) error {
		return h.writeBody(w, r.Request, http.StatusOK, contentType, body)
	}
}

// theirs is a route of another system, answered as that one does. Paths of operators' pages are taken as they are, or
// a rule of a proxy that keeps others from /cache could be got around by /cache;x.
func (h *Handler) theirs(path string, methods []string, a compat.Answerer, who audience) route {
	answer := func(w http.ResponseWriter, r *call) error {
		r.SetPathValue("key", r.value("{key...}"))
		got, err := a(r.Request, r.client)
		if got.Status == 0 {
			return err
		}
		if err != nil {
			h.count(asProblem(err))
		}
		if who == operators {
			return h.writeMade(w, r.Request, got.Status, got.Type, got.Body)
		}
		h.Memory.Add(len(got.Body)) // it was held while it was made
		defer h.Memory.Give(len(got.Body))
		return h.writeBody(w, r.Request, got.Status, got.Type, got.Body)
	}
	return route{path: at(path), methods: methods, answer: answer, audience: who, spring: who != operators}
}

// scrape is about how many bytes the metrics of fifty generators take until their client has read them.
const scrape = 1 << 20

// expose answers with the metrics.
func (h *Handler) expose(w http.ResponseWriter, r *call) error {
	if err := r.client.ReadMetrics(); err != nil {
		return err
	}
	held := share{memory: h.Memory}
	defer held.release()
	if err := held.hold(scrape); err != nil {
		return err
	}
	h.Metrics.ServeHTTP(w, r.Request)
	return nil
}
