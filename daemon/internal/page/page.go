package page

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
)

// Config has the source and the settings of a page.
type Config struct {
	Source  Source
	Clock   snowfence.Clock
	Guarded bool   // readers must show a token
	Public  bool   // the page's front mints, too
	RESP    string // the configured address of the RESP front, or empty
}

// Page answers the addresses of the page. It is safe for concurrent use. Use [New] to make one.
type Page struct {
	Config
	templates *template.Template
	assets    map[string]asset // by their path

	mu   sync.Mutex // guards last
	last snapshot
}

// snapshot is a state that several readers share.
type snapshot struct {
	state view.State
	json  []byte
	tag   string // of all but the time
	until time.Duration
}

// sharing is how long a state is shown to all who ask for it. With the daemon's pause of a second between reads and the page's of
// 0.7 s between questions a change is seen within two seconds, of a large state within three and a half.
const sharing = 200 * time.Millisecond

// Answer is an answer of the page. An error without a Body becomes a problem. An error with a Body gives the Body its status.
type Answer struct {
	Status int
	Type   string
	Body   []byte
}

// Route is an address of the page.
type Route struct {
	Method     string // GET stands for HEAD, too
	Path       string
	Parameters []string // that the query may have; nil for any
	Memory     int      // bytes that an answer may take while it is made; 0 for a file that all answers share
	Answer     Answerer
}

// Answerer answers a request of a client. It adds headers to the front's own.
type Answerer func(h http.Header, r *http.Request, c front.Client) (Answer, error)

// QueryError is returned for a part of a query that can't be used.
type QueryError struct{ Field, Value, Limit string }

// Error implements error.
func (e *QueryError) Error() string {
	return e.Field + " is " + strconv.Quote(front.Shown(e.Value)) + ": " + e.Limit
}

// ErrNotFound is returned for an unknown asset or namespace.
var ErrNotFound = errors.New("nothing has this address")

// New returns a page. An error is returned if the embedded templates can't be read, which tests rule out.
func New(cfg Config) (*Page, error) {
	p := &Page{Config: cfg}
	var err error
	if p.templates, err = template.New("page").Funcs(p.functions()).ParseFS(embedded, "assets/*.html"); err == nil {
		p.assets, err = readAssets()
	}
	return p, err
}

// Routes lists the addresses.
func (p *Page) Routes() []Route {
	const small, medium, large = 16 << 10, 256 << 10, 512 << 10
	none := []string{}
	return []Route{
		{http.MethodGet, "/", nil, large, p.index},
		{http.MethodGet, "/ui/state", none, medium, p.guard(p.state)},
		{http.MethodGet, "/ui/history", none, medium, p.json(func(*http.Request, front.Client) (any, error) { return p.Source.History(), nil })},
		{http.MethodGet, "/ui/workers", []string{"store", "namespace", "from", "to"}, medium, p.json(p.workers)},
		{http.MethodGet, "/ui/decode", []string{"id", "generator"}, medium, p.json(func(r *http.Request, c front.Client) (any, error) { return p.decode(r, c) })},
		{http.MethodGet, "/ui/plan", []string{"years", "workers", "rate"}, medium, p.json(func(r *http.Request, _ front.Client) (any, error) { return planOf(r.URL.Query()) })},
		{http.MethodGet, "/ui/runbook", none, 0, p.asset},
		{http.MethodPost, "/ui/token", none, small, p.login},
		{http.MethodGet, "/ui/{asset...}", none, 0, p.asset},
	}
}

// snapshot returns a state that is at most as old as sharing allows. Readers that come together share it.
func (p *Page) snapshot(ctx context.Context) (snapshot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.Clock.Monotonic()
	if p.last.json != nil && now < p.last.until {
		return p.last, nil
	}
	s := snapshot{state: p.Source.State(context.WithoutCancel(ctx)), until: now + sharing} // others wait for it, too
	untimed := s.state
	untimed.Taken = time.Time{}
	content, err := json.Marshal(untimed)
	if err == nil {
		s.json, err = json.Marshal(s.state)
	}
	if err != nil {
		return s, err
	}
	s.tag, s.json = tagOf(content), append(s.json, '\n')
	p.last = s
	return s, nil
}

// json answers readers with a value, if they may see it.
func (p *Page) json(value func(*http.Request, front.Client) (any, error)) Answerer {
	return p.guard(func(h http.Header, r *http.Request, c front.Client) (Answer, error) {
		v, err := value(r, c)
		if err != nil {
			return Answer{}, err
		}
		body, err := json.Marshal(v)
		return tagged(h, r, tagOf(body), typeJSON, append(body, '\n')), err
	})
}

func (p *Page) state(h http.Header, r *http.Request, _ front.Client) (Answer, error) {
	s, err := p.snapshot(r.Context())
	return tagged(h, r, s.tag, typeJSON, s.json), err
}

// index is the page itself, or the form for a token.
func (p *Page) index(h http.Header, r *http.Request, c front.Client) (Answer, error) {
	signed := p.Cookie(r) != ""
	if err := p.allow(h, r, c); err != nil {
		return p.form(h, err, signed || r.Header["Authorization"] != nil)
	}
	h.Set("Referrer-Policy", formsPolicy)
	s, err := p.snapshot(r.Context())
	if err != nil {
		return Answer{}, err
	}
	m := Model{State: s.state, History: p.Source.History(), Query: r.URL.Query(), Address: addressOf(r), Signed: signed, RESP: p.resp(r), Public: p.Public}
	if m.Query.Get("id") != "" {
		if m.Decoded, err = p.decode(r, c); err != nil {
			m.Decoded = &Decoded{Text: m.Query.Get("id"), Error: sentence(err)}
		}
	}
	if cmp.Or(m.Query.Get("years"), m.Query.Get("workers"), m.Query.Get("rate")) != "" {
		if m.Plan, err = planOf(m.Query); err != nil {
			m.Plan = &Plan{Error: sentence(err)}
		}
	}
	return p.render("index.html", m)
}

func (p *Page) render(name string, value any) (Answer, error) {
	var b bytes.Buffer
	if err := p.templates.ExecuteTemplate(&b, name, value); err != nil {
		return Answer{}, err
	}
	return Answer{http.StatusOK, "text/html; charset=utf-8", b.Bytes()}, nil
}

// workers answers with the registers of some worker ids.
func (p *Page) workers(r *http.Request, _ front.Client) (any, error) {
	q := r.URL.Query()
	numbers := [2]int64{}
	for i, name := range []string{"from", "to"} {
		var err error
		if numbers[i], err = strconv.ParseInt(q.Get(name), 10, 64); err != nil || numbers[i] < 0 {
			return nil, &QueryError{name, q.Get(name), "must be a whole number, 0 or more"}
		}
	}
	if n := numbers[1] - numbers[0]; n < 1 || n > view.MaxRange {
		return nil, &QueryError{"to", q.Get("to"), "must be above from, by at most " + strconv.Itoa(view.MaxRange)}
	}
	s, err := p.snapshot(r.Context())
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(s.state.Namespaces, func(n view.Namespace) bool { return n.Store == q.Get("store") && n.Name == q.Get("namespace") }) {
		return nil, ErrNotFound
	}
	list, err := p.Source.Workers(r.Context(), q.Get("store"), q.Get("namespace"), numbers[0], numbers[1]-1)
	if err != nil {
		return nil, front.StoreUnavailable.Problem(err)
	}
	return struct {
		Workers []view.Worker `json:"workers"`
	}{append([]view.Worker{}, list...)}, nil
}

// addressOf is where the browser has found the page, for commands that people copy.
func addressOf(r *http.Request) string {
	scheme, host := "http://", r.Host
	if r.TLS != nil {
		scheme = "https://"
	}
	if strings.Trim(strings.ToLower(host), "abcdefghijklmnopqrstuvwxyz0123456789.-:[]") != "" {
		host = "localhost" // a shell might read more in it
	}
	return scheme + host
}

// resp is where the reader finds the RESP front. A front that listens at every address is where the page is.
func (p *Page) resp(r *http.Request) string {
	host, port, err := net.SplitHostPort(p.RESP)
	if err != nil {
		return ""
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		u, _ := url.Parse(addressOf(r)) // which it has made
		host = u.Hostname()
	}
	return net.JoinHostPort(host, port)
}

// sentence is an error in words for people.
func sentence(err error) string {
	if query, ok := errors.AsType[*QueryError](err); ok {
		return query.Error()
	}
	return front.ProblemOf(err).Detail
}
