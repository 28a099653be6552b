package httpfront

import (
	"log/slog"
	"net/http"
	"path"
	"strings"
	"sync"

	"snowfence.example/snowfence/api"
	"snowfence.example/snowfence/cmd/snowfence/internal/config"
	"snowfence.example/snowfence/cmd/snowfence/internal/service"
)

// Config says what the front is made of.
type Config struct {
	// Service is what the front translates for.
	Service *service.Service

	// Metrics answers /metrics.
	Metrics http.Handler

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
	methods []string // GET stands for HEAD, too
	answer  answer

	// open routes ask for no token: they are for probes, and for people who look for the way in.
	open bool
}

// answer answers a request. What it returns is answered as a problem.
type answer func(w http.ResponseWriter, r *http.Request) error

func (h *Handler) routes() []route {
	get, post, mint := []string{http.MethodGet}, []string{http.MethodPost}, []string{http.MethodGet, http.MethodPost}
	return []route{
		{"/v1/generators/{name}/ids", mint, h.mint, false},
		{"/v1/generators", get, h.generators, false},
		{"/v1/generators/{name}/reservations", mint, h.reservations, false},
		{"/v1/generators/{name}/reservations/{number}/confirm", post, h.confirm, false},
		{"/v1/generators/{name}/reservations/{number}/void", post, h.void, false},
		{"/v1/decode/{id}", get, h.decode, false},
		{"/livez", get, static(typePlain, []byte("live\n")), true},
		{"/readyz", get, h.ready, true},
		{"/metrics", get, h.expose, false},
		{"/openapi.yaml", get, static("application/yaml", api.OpenAPI()), true},
	}
}

// New returns the front.
func New(cfg Config) *Handler {
	h := &Handler{Config: cfg, mux: http.NewServeMux()}
	h.buffers.New = func() any { return &buffer{text: make([]byte, 0, chunk)} }
	for _, route := range h.routes() {
		for _, method := range route.methods {
			h.handle(method+" "+route.path, func(w http.ResponseWriter, r *http.Request) error { return h.answer(route, w, r) })
		}
		allow := strings.Replace(strings.Join(route.methods, ", "), http.MethodGet, "GET, HEAD", 1)
		h.handle(route.path, func(w http.ResponseWriter, _ *http.Request) error {
			w.Header().Set("Allow", allow)
			return &problem{Type: typeMethodNotAllowed, Title: "The method is not allowed here", Status: http.StatusMethodNotAllowed, Detail: "allowed are " + allow}
		})
	}
	h.handle("/", notFound)
	return h
}

func (h *Handler) handle(pattern string, a answer) {
	h.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		if err := a(w, r); err != nil {
			writeProblem(w, r, err)
		}
	})
}

// ServeHTTP answers one request.
func (h *Handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	// The mux would send a client on to the shortest form of a path.
	if p := r.URL.EscapedPath(); path.Clean(p) != strings.TrimSuffix(p, "/") && p != "/" {
		writeProblem(w, r, notFound(w, r))
		return
	}
	h.mux.ServeHTTP(w, r)
}

func notFound(http.ResponseWriter, *http.Request) error {
	return &problem{Type: typeNotFound, Title: "Nothing has this address", Status: http.StatusNotFound, Detail: "the addresses are listed at /openapi.yaml"}
}

func (h *Handler) answer(route route, w http.ResponseWriter, r *http.Request) error {
	if !route.open {
		if err := h.admit(r); err != nil {
			return err
		}
	}
	if err := h.checkBody(w, r); err != nil {
		return err
	}
	return route.answer(w, r)
}

// static answers with the same at all times.
func static(contentType string, body []byte) answer {
	return func(w http.ResponseWriter, r *http.Request) error {
		return writeBody(w, r, http.StatusOK, contentType, body)
	}
}

// expose answers with the metrics.
func (h *Handler) expose(w http.ResponseWriter, r *http.Request) error {
	h.Metrics.ServeHTTP(w, r)
	return nil
}

// NewServer returns a server with the limits that every connection is held
// to. What the server itself has to say goes to the logger.
func NewServer(handler http.Handler, limits config.Limits, logger *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           handler,
		MaxHeaderBytes:    limits.Header,
		ReadHeaderTimeout: limits.ReadTimeout,
		ReadTimeout:       limits.ReadTimeout,
		WriteTimeout:      limits.WriteTimeout,
		IdleTimeout:       limits.IdleTimeout,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelDebug),
	}
}
