package httpfront

import (
	"net/http"
	"testing"
)

func TestAcceptIsWeighed(t *testing.T) {
	for accept, want := range map[string]string{
		"":                                    typeJSON,
		"*/*":                                 typeJSON,
		"application/json":                    typeJSON,
		"text/plain":                          typePlain,
		"TEXT/Plain":                          typePlain,
		"text/*":                              typePlain,
		"application/*":                       typeJSON,
		"text/plain, application/json":        typeJSON,
		"text/plain, */*;q=0.1":               typePlain,
		"text/plain;q=0.9, application/json":  typeJSON,
		"text/plain, application/json; q=0.5": typePlain,
		"application/json;q=0, */*":           typePlain,
		"text/*;q=0.2, text/plain;q=0.8, application/json;q=0.5": typePlain,
		"text/html, application/xhtml+xml, */*;q=0.8":            typeJSON,
		"text/plain;charset=utf-8":                               typePlain,
		"text/plain;q=0.001, application/json;q=0":               typePlain,
		"application/xml":                                        "",
		"text/plain;q=0":                                         "",
		"*/*;q=0":                                                "",
		"*/*;q=2":                                                "",
		"*/*;q=0.0001":                                           "",
		"*/*;q=x":                                                "",
		";;;,,,/;q=1":                                            "",
	} {
		r := request("GET", "/v1/generators/default/ids")
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		got, err := negotiate(r, typeJSON, typePlain)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: %q, %v; want %q", accept, got, err, want)
		}
	}
}

func TestAcceptMayStandInSeveralHeaders(t *testing.T) {
	r := request("GET", "/", "Accept: application/json;q=0.1", "Accept: text/plain")
	if got, err := negotiate(r, typeJSON, typePlain); got != typePlain {
		t.Errorf("%q, %v; want %q", got, err, typePlain)
	}
}

func TestWhatIsNotOfferedIsRefusedBeforeAnIDIsMinted(t *testing.T) {
	f := newFixture(t, "")
	for _, path := range []string{"/v1/generators/default/ids", "/v1/generators", "/v1/decode/1"} {
		wantProblem(t, f.do(request("GET", path, "Accept: image/png")), http.StatusNotAcceptable, "not-acceptable")
	}
	if n := f.minter.Calls.Load(); n != 0 {
		t.Errorf("ids were minted %d times", n)
	}
}

func FuzzAccept(f *testing.F) {
	for _, seed := range []string{"*/*", "text/plain;q=0.5, application/json", ";q=;;,", "a/b;q=1.0000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, accept string) {
		for _, offer := range []string{typeJSON, typePlain} {
			if q := quality(accept, offer); !(q >= 0 && q <= 1) {
				t.Errorf("%q likes %s by %v", accept, offer, q)
			}
		}
	})
}
