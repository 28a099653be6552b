package page

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/decode"
)

// one is a source with one register.
type one struct {
	Source
	register view.Worker
}

func (o one) Workers(context.Context, string, string, int64, int64) ([]view.Worker, error) {
	return []view.Worker{o.register}, nil
}

func TestReadingThatARegisterCoversWeighsMoreThanAnotherAndAFutureOneLeast(t *testing.T) {
	now, l := time.Now(), snowfence.DefaultLayout()
	register := view.Worker{Number: 7, Host: "a", PID: 1, Term: 1, From: now.Add(-time.Hour), Until: now.Add(-time.Minute)}
	p := &Page{Config: Config{Source: one{register: register}, Clock: snowfence.SystemClock()}}
	s := view.State{Namespaces: []view.Namespace{{Name: "main", Layout: l.String()}}}
	read := func(at time.Time, want string) int {
		d := p.reading(t.Context(), s, decode.Document{By: l, Layout: l.String(), At: at, Parts: snowfence.Parts{Worker: 7}})
		if len(d.Owners) != 1 || !strings.Contains(d.Owners[0].Text, want) {
			t.Errorf("%s: %+v, want %q", at, d.Owners, want)
		}
		return d.weight
	}
	covered := read(now.Add(-time.Minute*30), "has this tick")
	before := read(now.Add(-2*time.Hour), "was first held later")
	future := read(now.AddDate(0, 3, 0), "has this tick yet")
	if covered <= before || before <= future {
		t.Errorf("weights are %d, %d and %d", covered, before, future)
	}
}

// hanging is a source whose store does not answer.
type hanging struct {
	Source
	state view.State
}

func (h hanging) State(context.Context) view.State { return h.state }

func (hanging) Workers(ctx context.Context, _, _ string, _, _ int64) ([]view.Worker, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second) // as the view waits
	defer cancel()
	<-ctx.Done()
	return nil, view.ErrUnknown
}

// layered is a client whose generators all read an id by a layout.
type layered struct {
	front.Client
	document decode.Document
}

func (l layered) Decode(_, _, generator string) (any, error) {
	if generator == "" {
		return nil, io.ErrUnexpectedEOF // the generators have no layout in common
	}
	return &l.document, nil
}

func TestIDIsReadWithinSecondsWhileTheStoreHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l, began := snowfence.DefaultLayout(), time.Now()
		s := view.State{Generators: make([]view.Generator, maxGenerators), Namespaces: []view.Namespace{{Name: "main", Layout: l.String()}}}
		for i := range s.Generators {
			s.Generators[i].Name = strconv.Itoa(i)
		}
		c := layered{document: decode.Document{By: l, Layout: l.String(), At: began}}
		p := &Page{Config: Config{Source: hanging{state: s}, Clock: snowfence.SystemClock()}}
		d, err := p.decode(httptest.NewRequest(http.MethodGet, "/ui/decode?id=1", nil), c)
		if took := time.Since(began); err != nil || len(d.Owners) != 1 || took > patience {
			t.Errorf("%+v, %v, after %s", d, err, took)
		}
	})
}

func TestTableOfAnHourHasTheHighestOfEachMinute(t *testing.T) {
	value := func(x float64) *float64 { return &x }
	h := minutes(view.History{Times: []int64{0, 10, 20, 30, 40, 50, 60}, Rates: map[string][]*float64{"a": {value(1), nil, value(5), value(0), value(2), value(2), nil}}})
	if got := h.Rates["a"]; len(h.Times) != 2 || h.Times[1] != 60 || len(got) != 2 || *got[0] != 5 || got[1] != nil {
		t.Errorf("%v %v", h.Times, got)
	}
}

func TestAddressOfRESPIsOneThatAReaderCanUse(t *testing.T) {
	r := httptest.NewRequest(http.MethodGet, "http://ids.example:7600/", nil)
	for configured, want := range map[string]string{
		"": "", "127.0.0.1:7601": "127.0.0.1:7601", "0.0.0.0:7601": "ids.example:7601", ":7601": "ids.example:7601", "[::]:7601": "ids.example:7601",
	} {
		if got := (&Page{Config: Config{RESP: configured}}).resp(r); got != want {
			t.Errorf("%q is shown as %q, want %q", configured, got, want)
		}
	}
}
