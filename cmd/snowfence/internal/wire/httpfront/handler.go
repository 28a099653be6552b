package httpfront

import (
	"net/http"
	"path"
	"strings"
	"sync"

	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/cmd/snowfence/internal/metrics"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
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

	// Public has the routes of clients, and Admin those of operators.
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
	mux     *http.ServeMux
	buffers sync.Pool // of *buffer, empty
}

// route is one address and what answers it.
type route struct {
	path    string
	methods []string // GET stands for HEAD, too; none means any
	answer  answer

	audience audience
}

// audience is who uses a route.
type audience uint8

const (
	clients   audience = iota
	operators          // what only they should see
	everybody          // no token is asked for: probes, and people who look for the way in
	others             // clients of another system, who show their token in its way
)

// answer answers a request. What it returns is answered as a problem.
type answer func(w http.ResponseWriter, r *http.Request, client *service.Client) error

func (h *Handler) routes() []route {
	get, post, mint := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodGet, http.MethodPost}
	return []route{
		{"/v1/generators/{name}/ids", mint, h.mint, clients},
		{"/v1/generators", get, h.generators, clients},
		{"/v1/generators/{name}/reservations", mint, h.reservations, clients},
		{"/v1/generators/{name}/reservations/{number}/confirm", post, h.confirm, clients},
		{"/v1/generators/{name}/reservations/{number}/void", post, h.void, clients},
		{"/v1/decode/{id}", get, h.decode, clients},
		{"/api/snowflake/get/{key...}", nil, h.compat(compat.LeafSnowflake), clients},
		{"/api/segment/get/{key...}", nil, h.compat(compat.LeafSegment), clients},
		{"/decodeSnowflakeId", nil, h.compat(compat.LeafDecode), clients},
		{"/cache", get, h.compat(compat.LeafCache), operators},
		{"/db", get, h.compat(compat.LeafDB), operators},
		{"/tinyid/id/nextId", nil, h.compat(compat.TinyIDs), others},
		{"/tinyid/id/nextIdSimple", nil, h.compat(compat.TinyIDsSimple), others},
		{"/tinyid/id/nextSegmentId", nil, h.compat(compat.TinySegment), others},
		{"/tinyid/id/nextSegmentIdSimple", nil, h.compat(compat.TinySegmentSimple), others},
		{"/livez", get, static(typePlain, []byte("live\n")), everybody},
		{"/readyz", get, h.ready, everybody},
		{"/metrics", get, h.expose, operators},
		{"/openapi.yaml", get, static("application/yaml", api.OpenAPI()), everybody},
	}
}

// New returns the front.
func New(cfg Config) *Handler {
	h := &Handler{Config: cfg, mux: http.NewServeMux()}
	h.buffers.New = func() any { return &buffer{text: make([]byte, 0, chunk)} }
	for _, route := range h.routes() {
		if (route.audience == clients || route.audience == others) && !h.Public || route.audience == operators && !h.Admin {
			continue
		}
		answer := func(w http.ResponseWriter, r *http.Request, c *service.Client) error { return h.answer(route, w, r, c) }
		if len(route.methods) == 0 {
			h.handle(route.path, answer)
			continue
		}
		for _, method := range route.methods {
			h.handle(method+" "+route.path, answer)
		}
		allow := strings.Replace(strings.Join(route.methods, ", "), http.MethodGet, "GET, HEAD", 1)
		h.handle(route.path, func(w http.ResponseWriter, _ *http.Request, _ *service.Client) error {
			w.Header().Set("Allow", allow)
			return &problem{Type: typeMethodNotAllowed, Title: "The method is not allowed here", Status: http.StatusMethodNotAllowed, Detail: "allowed are " + allow}
		})
	}
	h.handle("/", notFound)
	return h
}

func (h *Handler) handle(pattern string, a answer) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		client := h.Service.Client(remote(r))
		if err := a(w, r, &client); err != nil {
			h.fail(w, r, err)
		}
	})
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := h.Meter.Began()
	defer h.Meter.Answered(began, 1)
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	// The mux would send a client on to the shortest form of a path.
	if p := r.URL.EscapedPath(); path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/" {
		h.fail(w, r, notFound(w, r, nil))
		return
	}
	h.mux.ServeHTTP(w, r)
}

func notFound(http.ResponseWriter, *http.Request, *service.Client) error {
	return &problem{Type: typeNotFound, Title: "Nothing has this address", Status: http.StatusNotFound, Detail: "the addresses are listed at /openapi.yaml"}
}

func (h *Handler) answer(route route, w http.ResponseWriter, r *http.Request, client *service.Client) error {
	if route.audience != everybody {
		if err := h.admit(r); err != nil {
			return err
		}
	}
	if route.audience == clients || route.audience == operators {
		if err := client.Authorize(bearer(r.Header.Get("Authorization"))); err != nil {
			return err
		}
	}
	if err := h.checkBody(w, r); err != nil {
		return err
	}
	return route.answer(w, r, client)
}

// static answers with the same at all times.
func static(contentType string, body []byte) answer {
	return func(w http.ResponseWriter, r *http.Request, _ *service.Client) error {
		return writeBody(w, r, http.StatusOK, contentType, body)
	}
}

// compat answers as another system does.
func (h *Handler) compat(a compat.Answerer) answer {
	return func(w http.ResponseWriter, r *http.Request, client *service.Client) error {
		got, err := a(r, client)
		if got.Status == 0 {
			return err
		}
		if err != nil {
			h.count(asProblem(err))
		}
		return writeBody(w, r, got.Status, got.Type, got.Body)
	}
}

// expose answers with the metrics.
func (h *Handler) expose(w http.ResponseWriter, r *http.Request, _ *service.Client) error {
	h.Metrics.ServeHTTP(w, r)
	return nil
}
