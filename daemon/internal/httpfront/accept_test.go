package httpfront

import (
	"net/http"
	"testing"
)

func TestIDsHaveTheTypeThatAcceptLikesBest(t *testing.T) {
	f := newFixture(t, "")
	for accept, want := range map[string]string{
		"*/*":                                 typeJSON,
		"TEXT/Plain":                          typePlain,
		"text/*":                              typePlain,
		"text/plain, application/json":        typePlain,
		"text/plain, */*;q=0.1":               typePlain,
		"text/plain;q=0.9, application/json":  typeJSON,
		"text/plain, application/json; q=0.5": typePlain,
		"text/html, application/xhtml+xml, */*;q=0.8": typeJSON,
		"text/plain;charset=utf-8":                    typePlain,
		"text/plain;q=0":                              typeJSON,
		"application/xml":                             typeJSON, // a client that takes neither is answered all the same
		"*/*;q=x":                                     typeJSON,
		";;;,,,/;q=1":                                 typeJSON,
	} {
		w := f.do(request("GET", "/v1/generators/default/ids", "Accept: "+accept))
		if got := w.Header().Get("Content-Type"); w.Code != http.StatusOK || got != f.contentTypes[want][0] {
			t.Errorf("%q: %d %q; want %q", accept, w.Code, got, want)
		}
	}
	r := request("GET", "/v1/generators/default/ids", "Accept: application/json;q=0.1", "Accept: text/plain")
	if got := f.do(r).Header().Get("Content-Type"); got != f.contentTypes[typePlain][0] {
		t.Errorf("of two headers: %q", got)
	}
}
