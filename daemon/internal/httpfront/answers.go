package httpfront

import (
	"cmp"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/daemon/token"
)

// mint answers with new ids, or with the text of one that exists.
func (h *Handler) mint(w http.ResponseWriter, r *call) error {
	query, err := parameters(r.Request, "count", "show")
	if err != nil {
		return err
	}
	if query.Has("count") && query.Has("show") {
		return invalidQuery("count", query.Get("count"), "must be left out beside show")
	}
	use, err := r.client.Use(r.value("{name}"))
	if err != nil {
		return err
	}
	n := 1
	if text := query.Get("count"); query.Has("count") {
		if n, err = strconv.Atoi(text); err != nil || strconv.Itoa(n) != text {
			return use.InvalidCount(text)
		}
	}
	held, err := use.Hold(n)
	if err != nil {
		return err
	}
	defer r.client.Release(held)
	buffers := &h.small
	if held > 0 {
		buffers = &h.large
	}
	b, _ := buffers.Get().(*buffer) // it holds nothing else
	defer b.release(buffers)
	if query.Has("show") {
		err = use.Show(query.Get("show"), &b.batch)
	} else {
		err = use.Mint(r.Context(), n, &b.batch)
	}
	if err != nil {
		return err
	}
	form := typeJSON
	if front.Preferred(r.Header["Accept"], typeJSON) == typePlain {
		form = typePlain
	}
	h.setContentType(w, form)
	if held > 0 {
		b.text = slices.Grow(b.text, chunk)
	}
	if form == typeJSON {
		b.write(w, `{"ids":["`, `","`, "\"]}\n") // package kind ensures that ids need no escapes
	} else {
		b.write(w, "", "\n", "\n")
	}
	return nil
}

// buffer is the memory of one answer with ids, kept for the next.
type buffer struct {
	batch kind.Batch
	text  []byte
}

const (
	// chunk is how much text is gathered before it is written, however long the answer is.
	chunk = 32 << 10

	// few is how much text there is room for while a request waits for a few ids.
	few = 2 << 10
)

func (b *buffer) release(to *sync.Pool) {
	b.batch.Reset()
	b.text = b.text[:0]
	to.Put(b)
}

// write writes the ids, with texts before, between and after them.
func (b *buffer) write(w http.ResponseWriter, before, between, after string) {
	b.text = append(b.text, before...)
	for i := range b.batch.Len() {
		if i > 0 {
			b.text = append(b.text, between...)
		}
		b.text = b.batch.AppendID(b.text, i)
		if full := cap(b.text)-len(b.text) <= kind.MaxText+len(`,""]}`)+1; full && !b.flush(w) {
			return
		}
	}
	b.text = append(b.text, after...)
	b.flush(w)
}

// flush writes and empties the text. It fails when the client is gone: its ids may be lost.
func (b *buffer) flush(w http.ResponseWriter) bool {
	_, err := w.Write(b.text)
	b.text = b.text[:0]
	return err == nil
}

// generatorJSON is one generator in an answer.
type generatorJSON struct {
	Name      string    `json:"name"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Form      string    `json:"form,omitempty"`
	Ready     bool      `json:"ready"` // gives ids
	StandsBy  bool      `json:"stands_by,omitempty"`
	Problem   string    `json:"problem,omitempty"`
	Ends      time.Time `json:"ends,omitzero"`
	EndsSoon  bool      `json:"ends_soon"`
	Trouble   string    `json:"trouble,omitempty"`
	Since     time.Time `json:"trouble_since,omitzero"`
	Until     time.Time `json:"ids_until,omitzero"`
}

// generatorsJSON is the answer that lists the generators.
type generatorsJSON struct {
	Generators []generatorJSON `json:"generators"`
}

// generators answers with the generators and how they stand.
func (h *Handler) generators(w http.ResponseWriter, r *call) error {
	if _, err := parameters(r.Request); err != nil {
		return err
	}
	statuses, err := r.client.Statuses()
	if err != nil {
		return err
	}
	return h.writeJSON(w, r.Request, http.StatusOK, typeJSON, generatorsJSON{describe(statuses)})
}

// health answers 200 while every generator, or the named one, is well, and else a problem. Either way
// it has the states of the client's generators. Without a name it ignores a wrong token, an unknown
// host and a page of another site: they must not take the server away from a load balancer. With a name
// the token must allow it: or names could be guessed.
func (h *Handler) health(well func([]front.Status) bool) answer {
	return func(w http.ResponseWriter, r *call) error {
		name := r.value("{name}")
		var refused error
		if shown := r.Header.Get("Authorization"); shown != "" && h.has(everybody) { // a front for probes works without a token
			refused = r.client.Authorize(token.Bearer(shown))
		}
		if name != "" {
			if err := cmp.Or(refused, r.client.Admit(name)); err != nil {
				return err
			}
		}
		others := func(s front.Status) bool { return name != "" && s.Name != name }
		statuses := slices.DeleteFunc(h.Service.Statuses(), others)
		if len(statuses) == 0 {
			return notFound("no generator has this name")
		}
		all := statuses
		statuses, _ = r.client.Statuses() // empty if the client has not shown a token that it needs
		if h.admit(r.Request, nil) != nil || !h.has(everybody) {
			statuses = nil // a front for probes may be open to strangers
		}
		shown := describe(slices.DeleteFunc(statuses, others))
		if well(all) {
			if h.writeJSON(w, r.Request, http.StatusOK, typeJSON, generatorsJSON{shown}) != nil { // a probe needs no list
				return h.writeJSON(w, r.Request, http.StatusOK, typeJSON, generatorsJSON{[]generatorJSON{}})
			}
			return nil
		}
		p := &problem{
			Type: typeNotReady, Title: "Not every generator is ready", Status: http.StatusServiceUnavailable,
			Detail: "a generator can not mint, or soon may not be able to", retryAfter: time.Second,
		}
		if front.Ready(all) {
			p = asProblem(front.Standby.Problem(nil))
		}
		p.Generators = shown
		return p
	}
}

func describe(statuses []front.Status) []generatorJSON {
	list := make([]generatorJSON, len(statuses))
	for i, s := range statuses {
		list[i] = generatorJSON{Name: s.Name, Kind: s.Kind, Namespace: s.Namespace, Ready: s.Problem == nil, StandsBy: s.StandsBy, EndsSoon: s.EndsSoon}
		if s.Form != 0 {
			list[i].Form = s.Form.String()
		}
		if s.Problem != nil {
			list[i].Problem = typePrefix + s.Problem.Type.String()
		}
		if !s.Ends.IsZero() {
			list[i].Ends = s.Ends.UTC().Truncate(time.Second)
		}
		if t := s.Trouble; t != nil {
			list[i].Trouble, list[i].Since = t.Text, t.Since.UTC().Truncate(time.Second)
			if !t.Until.IsZero() {
				list[i].Until = t.Until.UTC().Truncate(time.Second)
			}
		}
	}
	return list
}

// decode answers with the parts of an id.
func (h *Handler) decode(w http.ResponseWriter, r *call) error {
	query, err := parameters(r.Request, "layout", "generator")
	if err != nil {
		return err
	}
	document, err := r.client.Decode(r.value("{id}"), query.Get("layout"), query.Get("generator"))
	if err != nil {
		return err
	}
	return h.writeJSON(w, r.Request, http.StatusOK, typeJSON, document)
}

func (h *Handler) writeJSON(w http.ResponseWriter, r *http.Request, status int, contentType string, value any) error {
	body, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return h.writeMade(w, r, status, contentType, append(body, '\n'))
}

// writeBody writes a whole answer, but for a HEAD its header alone.
func (h *Handler) writeBody(w http.ResponseWriter, r *http.Request, status int, contentType string, body []byte) error {
	h.setContentType(w, contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	if r.Method != http.MethodHead {
		_, _ = w.Write(body) // it fails only when the client is gone
	}
	return nil
}

func (h *Handler) setContentType(w http.ResponseWriter, contentType string) {
	if shared, ok := h.contentTypes[contentType]; ok {
		w.Header()["Content-Type"] = shared
		return
	}
	w.Header().Set("Content-Type", contentType)
}
