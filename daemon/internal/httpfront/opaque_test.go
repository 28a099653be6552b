package httpfront

import (
	"context"
	"errors"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/config"
	"snowfence.example/snowfence/daemon/internal/fronttest"
	"snowfence.example/snowfence/daemon/internal/service"
	"snowfence.example/snowfence/daemon/kind"
)

// dashed shows the ids of generator "default" with a dash before them.
type dashed struct{}

func (dashed) Form() kind.Form   { return kind.Text }
func (d dashed) Caps() kind.Caps { return kind.Caps{Shows: d} }
func (dashed) Mint(context.Context, int, *kind.Batch) error {
	return errors.New("is not asked to mint")
}
func (dashed) Of() string { return "default" }

func (dashed) Show(id string) (string, error) {
	if _, err := snowfence.Parse(id); err != nil {
		return "", err
	}
	return "-" + id, nil
}

func (dashed) Read(text string) (string, error) {
	if id, ok := strings.CutPrefix(text, "-"); ok {
		return id, nil
	}
	return "", &snowfence.IDError{Form: "dashed", Text: text, Reason: "has no dash"}
}

// newOpaque returns a front with the generators "default", "users" of kind segment, and "public",
// which shows the ids of the first. They are starting or serving.
func newOpaque(t *testing.T, serving bool) fixture {
	t.Helper()
	c := fronttest.Settings(t, func(c *config.Config) {
		c.Generators = map[string]config.Generator{"default": {}, "users": {Kind: "segment"}, "public": {Kind: "opaque"}}
	})
	minters := map[string]kind.Minter{"default": newCounting(), "users": newCounting(), "public": dashed{}}
	if !serving {
		minters = nil
	}
	s := fronttest.Service(t, service.Config{Settings: c}, minters)
	return fixture{Handler: newHandler(s)}
}

func TestOpaqueGeneratorAnswersTextsAndOpensThem(t *testing.T) {
	f := newOpaque(t, true)
	for _, test := range []struct{ method, target, accept, want string }{
		{"POST", "/v1/generators/public/ids?count=2", typeJSON, `{"ids":["-1000000000000000000","-1000000000000000001"]}`},
		{"GET", "/v1/generators/public/ids?show=7", typeJSON, `{"ids":["-7"]}`},
		{"GET", "/v1/generators/public/ids?show=7", typePlain, "-7"},
	} {
		w := f.do(request(test.method, test.target, "Accept: "+test.accept))
		if got := w.Body.String(); w.Code != 200 || got != test.want+"\n" {
			t.Errorf("%s: %d %s", test.target, w.Code, got)
		}
	}
	w := f.do(request("GET", "/v1/decode/-7?generator=public"))
	if got := w.Body.String(); w.Code != 200 || !strings.HasPrefix(got, `{"id":"7",`) || !strings.Contains(got, `"generator":"default"`) {
		t.Errorf("%d %s", w.Code, got)
	}
	wantProblem(t, f.do(request("GET", "/v1/decode/7?generator=public")), 400, "invalid-id")
}

func TestWhatCanNotBeShownIsAProblem(t *testing.T) {
	f := newOpaque(t, true)
	for target, want := range map[string]string{
		"public/ids?show=":           "invalid-id",
		"public/ids?show=x":          "invalid-id",
		"default/ids?show=7":         "invalid-id",
		"default/ids?show=":          "invalid-id",
		"public/ids?show=7&count=1":  "invalid-query",
		"public/ids?show=&count=2":   "invalid-query",
		"default/ids?show=7&count=x": "invalid-query",
	} {
		wantProblem(t, f.do(request("GET", "/v1/generators/"+target)), 400, want)
	}
}
