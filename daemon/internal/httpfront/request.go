package httpfront

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/front"
)

// admit returns a problem unless the request may be answered: it names a known host, and does not come
// from a web page of another site. A link to the page may stand anywhere.
func (h *Handler) admit(r *http.Request, to *route) error {
	if !h.AnyHost && !h.knownHost(r.Host) {
		host := front.Shown(r.Host)
		return &problem{
			Status: http.StatusMisdirectedRequest, Type: typeUnknownHost, Title: "The server does not answer to this host name",
			Detail: "without a token, a loopback address answers to loopback names and to those in hosts only: if your own proxy sends this name, set hosts: [" +
				hostName(host) + "] in the configuration, or SNOWFENCE_HOSTS",
			Field: "Host", Value: host,
		}
	}
	if header, foreign := otherSite(r); foreign && !(to != nil && to.audience == readers && followed(r)) {
		return crossSite("the browser reports that the request comes from another site", header, r.Header.Get(header))
	}
	return nil
}

func crossSite(detail, field, value string) error {
	return &problem{
		Status: http.StatusForbidden, Type: typeCrossSite, Title: "Web pages of other sites may not use this server",
		Detail: detail, Field: field, Value: front.Shown(value),
	}
}

// knownHost reports whether the Host header names a loopback address or a configured host. Most
// requests name the same one, so it is looked at once.
func (h *Handler) knownHost(host string) bool {
	if last := h.host.Load(); last != nil && *last == host {
		return true
	}
	if !h.names(host) {
		return false
	}
	known := host // so that it is allocated here alone
	h.host.Store(&known)
	return true
}

// hostName returns the host of a Host header, without the port.
func hostName(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

func (h *Handler) names(host string) bool {
	host = hostName(host)
	return host == "" || config.Loopback(host) || slices.ContainsFunc(h.Hosts, func(known string) bool {
		return strings.EqualFold(known, host)
	})
}

// The headers by which a browser reports where a request comes from.
const site, origin = "Sec-Fetch-Site", "Origin"

// otherSite reports whether the request was made by a page of another site, and
// not by a program, this server's own pages or a person at the address bar, and
// which header shows it. Current browsers set Sec-Fetch-Site, which pages can't
// set; older ones send an Origin with the requests that matter.
func otherSite(r *http.Request) (header string, foreign bool) {
	if r.Header[site] == nil && r.Header[origin] == nil {
		return "", false
	}
	switch r.Header.Get(site) {
	case "same-origin", "none":
		return "", false
	case "":
	default:
		return site, true
	}
	from := r.Header.Get(origin)
	if from == "" {
		return "", false
	}
	u, err := url.Parse(from)
	return origin, err != nil || u.Host == "" || u.Host != r.Host
}

// followed reports whether a browser announces that a person followed a link, so that the answer is shown by itself. The page
// that has the link can't read it, nor frame it. Pages can't set these headers.
func followed(r *http.Request) bool {
	return r.Method == http.MethodGet && r.Header.Get("Sec-Fetch-Mode") == "navigate" && r.Header.Get("Sec-Fetch-Dest") == "document"
}

// connection is the header that ends a connection.
const connection = "Connection"

// emptyBody is how many bytes a body may have that holds nothing.
const emptyBody = 64

// checkBody refuses a body that holds anything, but for a form that a client of another system posts, and the documents of
// leases. Nothing else here takes one: a client that puts its count there would be given one id, and not know
// why. A body that can't be right is not waited for.
func (h *Handler) checkBody(w http.ResponseWriter, r *call) error {
	if r.Body == nil || r.Body == http.NoBody {
		return nil
	}
	form, most := r.route.takesForm() && isForm(r.Request), int64(emptyBody)
	if form || r.route.document {
		most = int64(h.Limits.Body)
	}
	tooLarge := &problem{
		Status: http.StatusRequestEntityTooLarge, Type: typeBodyTooLarge, Title: "The request's body is too large",
		Detail: "no request needs a body as long", Field: "body", Limit: "at most " + strconv.FormatInt(most, 10) + " bytes",
	}
	if r.ContentLength > most {
		return tooLarge
	}
	if h.Memory.Take(int(most)) != nil {
		return front.Overloaded.Problem(nil)
	}
	defer h.Memory.Give(int(most))
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, most))
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		return tooLarge
	case err != nil:
		return &front.Problem{Type: front.RequestCancelled, Detail: "the request's body broke off"}
	}
	if !r.last {
		w.Header().Del(connection)
	}
	if r.route.document {
		r.body = body
		return nil
	}
	if form {
		if r.PostForm, err = url.ParseQuery(string(body)); err == nil {
			return nil
		}
		return unexpectedBody("The request has a body that can not be read", "the form is not encoded as its content type declares")
	}
	// Many HTTP clients send an empty JSON object with a POST.
	if body = bytes.TrimSpace(body); len(body) > 0 && string(body) != "{}" {
		return unexpectedBody("The request has a body", "this request takes no body: parameters stand in the query")
	}
	return nil
}

func unexpectedBody(title, detail string) error {
	return &problem{Status: http.StatusBadRequest, Type: typeUnexpectedBody, Title: title, Detail: detail, Field: "body"}
}

// isForm reports whether the body is a form, as Spring takes it.
func isForm(r *http.Request) bool {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	methods := []string{http.MethodPost, http.MethodPut, http.MethodPatch}
	return err == nil && slices.Contains(methods, r.Method) && mediaType == "application/x-www-form-urlencoded"
}

// parameters reads the query: known names, each once. A misspelt count must not mint one id.
func parameters(r *http.Request, known ...string) (url.Values, error) {
	refuse := func(name, limit string) error {
		name = front.Shown(name)
		return wrongQuery("parameter "+strconv.Quote(name)+" "+limit, name, "", limit)
	}
	if r.URL.RawQuery == "" {
		return nil, nil
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return nil, refuse("", "is not encoded as a query must be")
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			limit := "is unknown here: no parameter is taken"
			if len(known) > 0 {
				limit = "is unknown here: known are " + strings.Join(known, ", ")
			}
			return nil, refuse(name, limit)
		case len(values) > 1:
			return nil, refuse(name, "must stand once")
		}
	}
	return query, nil
}

// The forms in which answers are offered.
const (
	typeJSON  = "application/json"
	typePlain = "text/plain"
)
