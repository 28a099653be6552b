package page

import (
	"encoding/base64"
	"net/http"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/token"
)

// Harden sets the headers of every answer of the page: only files of this host, no inline scripts and
// no frame around it, and its address stays secret.
func Harden(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
}

// Cookie returns the token in a request's cookie. It is empty without a cookie, if the request has an
// Authorization header, which counts alone, and where clients need no token.
func (p *Page) Cookie(r *http.Request) string {
	if !p.Guarded || r.Header["Authorization"] != nil || r.Header["Cookie"] == nil {
		return ""
	}
	c, err := r.Cookie(cookie(r, "").Name)
	if err != nil {
		return ""
	}
	text, _ := base64.RawURLEncoding.DecodeString(c.Value) // so that any token fits in
	return string(text)
}

// cookie is the one that a browser keeps a token in until it ends. An empty one is forgotten.
func cookie(r *http.Request, text string) *http.Cookie {
	c := &http.Cookie{Name: "snowfence", Value: base64.RawURLEncoding.EncodeToString([]byte(text)), Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode}
	if r.TLS != nil {
		c.Name, c.Secure = "__Host-"+c.Name, true
	}
	if text == "" {
		c.MaxAge = -1
	}
	return c
}

// allow returns a problem unless the reader may see all generators. A cookie with a token that is not known is forgotten, or
// a page that stays open would show it again and again.
func (p *Page) allow(h http.Header, r *http.Request, c front.Client) error {
	text := p.Cookie(r)
	shown := text
	if text == "" {
		shown = token.Bearer(r.Header.Get("Authorization"))
	}
	if err := c.Authorize(shown); err != nil {
		if text != "" && front.ProblemOf(err).Type == front.InvalidToken {
			h.Add("Set-Cookie", cookie(r, "").String())
		}
		return err
	}
	return c.ReadMetrics()
}

// guard shows an answer to readers that may see it.
func (p *Page) guard(answer Answerer) Answerer {
	return func(h http.Header, r *http.Request, c front.Client) (Answer, error) {
		if err := p.allow(h, r, c); err != nil {
			return Answer{}, err
		}
		return answer(h, r, c)
	}
}

// login takes the token of the form. An empty one is forgotten.
func (p *Page) login(h http.Header, r *http.Request, c front.Client) (Answer, error) {
	text := r.PostForm.Get("token")
	if !p.Guarded {
		text = ""
	}
	if text != "" {
		err := c.Authorize(text)
		if err == nil {
			err = c.ReadMetrics()
		}
		if err != nil {
			return p.form(h, err, true)
		}
	}
	h.Set("Set-Cookie", cookie(r, text).String())
	h.Set("Location", "/")
	return Answer{Status: http.StatusSeeOther, Type: "text/plain"}, nil
}

// form is the form for a token, for readers that may not see more.
func (p *Page) form(h http.Header, refused error, shown bool) (Answer, error) {
	h.Set("Referrer-Policy", formsPolicy)
	var l Login
	if shown {
		l.Reason = sentence(refused)
	}
	a, err := p.render("login.html", l)
	if err != nil {
		return Answer{}, err
	}
	return a, refused
}

// formsPolicy is for answers with a form that is posted. With no-referrer a browser would hide the origin of the post, by
// which the posts of other sites are distinguished.
const formsPolicy = "same-origin"
