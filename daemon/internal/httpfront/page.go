package httpfront

import (
	"errors"
	"net/http"

	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/token"
)

// ofPage is a route of the page, which looks at the tokens of its readers itself.
func (h *Handler) ofPage(p page.Route) route {
	answer := func(w http.ResponseWriter, r *call) error {
		if p.Parameters != nil {
			if _, err := parameters(r.Request, p.Parameters...); err != nil {
				return err
			}
		}
		held := share{memory: h.Memory}
		defer held.release()
		if err := held.hold(p.Memory); err != nil {
			return err
		}
		got, err := p.Answer(w.Header(), r.Request, r.client)
		if err != nil && got.Body == nil {
			if wrong, ok := errors.AsType[*page.QueryError](err); ok {
				return invalidQuery(wrong.Field, wrong.Value, wrong.Limit)
			}
			if errors.Is(err, page.ErrNotFound) {
				return h.nowhere()
			}
			return err
		}
		if err != nil {
			got.Status = h.prepare(w, asProblem(err))
		}
		if p.Memory > 0 {
			if err := held.hold(cap(got.Body)); err != nil {
				return err
			}
		}
		if got.Status == http.StatusNotModified {
			w.WriteHeader(got.Status)
			return nil
		}
		return h.writeBody(w, r.Request, got.Status, got.Type, got.Body)
	}
	methods := []string{p.Method}
	if p.Method == http.MethodGet {
		methods = append(methods, http.MethodHead)
	}
	return route{path: at(p.Path), methods: methods, answer: answer, audience: readers, form: p.Method == http.MethodPost}
}

// shown is the token of a request. The page's cookie counts on its own routes alone, and other pages
// can't use it: a browser must report that the page has made the request, where it could mint.
func (h *Handler) shown(r *call) (string, error) {
	if r.route.cookie && h.Page != nil {
		if text := h.Page.Cookie(r.Request); text != "" {
			if r.route.takes(http.MethodPost) && r.Header.Get(site) != "same-origin" && (r.Header.Get(site) != "" || r.Header.Get(origin) == "") {
				return "", crossSite("with the page's cookie ids are minted for the page alone", site, r.Header.Get(site))
			}
			return text, nil
		}
	}
	return token.Bearer(r.Header.Get("Authorization")), nil
}
