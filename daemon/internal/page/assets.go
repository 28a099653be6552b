package page

import (
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/internal/view"
	"snowfence.example/snowfence/internal/decode"
	"snowfence.example/snowfence/internal/text"
)

//go:embed assets
var embedded embed.FS

// asset is a file of the page that shows nothing of this daemon. It is open without a token.
type asset struct {
	body     []byte
	tag, typ string
}

const typeJSON = "application/json"

// readAssets reads all files but the templates.
func readAssets() (map[string]asset, error) {
	types := map[string]string{
		".css": "text/css; charset=utf-8", ".mjs": "text/javascript; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", ".png": "image/png", ".html": "text/html; charset=utf-8",
	}
	all := map[string]asset{}
	return all, fs.WalkDir(embedded, "assets", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || name == "assets/index.html" || name == "assets/login.html" {
			return err
		}
		body, err := embedded.ReadFile(name)
		typ, ok := types[path.Ext(name)]
		if !ok {
			typ = "text/plain; charset=utf-8"
		}
		all[strings.TrimPrefix(name, "assets/")] = asset{body, tagOf(body), typ}
		return err
	})
}

// asset answers with a file. Browsers keep it, and ask whether it is the same still.
func (p *Page) asset(h http.Header, r *http.Request, _ front.Client) (Answer, error) {
	name := strings.TrimPrefix(r.URL.Path, "/ui/")
	if name == "runbook" {
		name += ".html"
	}
	a, ok := p.assets[name]
	if !ok {
		return Answer{}, ErrNotFound
	}
	h.Set("Cache-Control", "no-cache")
	return tagged(h, r, a.tag, a.typ, a.body), nil
}

// tagOf is a strong ETag of a content.
func tagOf(content []byte) string {
	sum := sha256.Sum256(content)
	return strconv.Quote(base64.RawURLEncoding.EncodeToString(sum[:18]))
}

// tagged answers with a body, unless the client reports that it has it.
func tagged(h http.Header, r *http.Request, tag, typ string, body []byte) Answer {
	h.Set("ETag", tag)
	for known := range strings.SplitSeq(strings.Join(r.Header["If-None-Match"], ","), ",") {
		if known = strings.TrimPrefix(strings.TrimSpace(known), "W/"); known == tag || known == "*" {
			return Answer{Status: http.StatusNotModified}
		}
	}
	return Answer{http.StatusOK, typ, body}
}

// functions are the functions of the templates.
func (p *Page) functions() template.FuncMap {
	type part struct {
		Text string
		Code bool
	}
	return template.FuncMap{
		"relative": func(t time.Time) string {
			if t.IsZero() {
				return ""
			}
			return decode.Relative(t, p.Clock.Wall())
		},
		"utc": func(of any) string { // a time, or seconds since 1970
			t, _ := of.(time.Time)
			if seconds, ok := of.(int64); ok {
				t = time.Unix(seconds, 0)
			} else if t.IsZero() {
				return ""
			}
			return t.UTC().Format(time.DateTime)
		},
		"minutes": minutes,
		"duration": func(ms int64) string {
			if ms < 1000 {
				return fmt.Sprintf("%d ms", max(ms, 0))
			}
			return strings.TrimPrefix(decode.Relative(time.Unix(ms/1000, 0), time.Unix(0, 0)), "in ")
		},
		"grouped": func(number any) string {
			shown := fmt.Sprint(number)
			if n, err := strconv.ParseInt(shown, 10, 64); err == nil {
				return text.Grouped(n)
			}
			return shown
		},
		"decimals": func(n int, x any) string {
			if p, ok := x.(*float64); ok && p != nil {
				x = *p
			}
			if x, ok := x.(float64); ok {
				return strconv.FormatFloat(x, 'f', n, 64)
			}
			return ""
		},
		"code": func(sentence string) (parts []part) {
			for i, piece := range strings.Split(sentence, "`") {
				parts = append(parts, part{piece, i%2 == 1})
			}
			return parts
		},
		"json": func(x any) (string, error) {
			b, err := json.Marshal(x)
			return string(b), err
		},
	}
}

// minutes is a history with a point for each minute: the greatest value of its points.
func minutes(h view.History) view.History {
	const each = int(time.Minute / view.HistoryStep)
	thin := func(all map[string][]*float64) map[string][]*float64 {
		some := map[string][]*float64{}
		for name, values := range all {
			for points := range slices.Chunk(values, each) {
				some[name] = append(some[name], slices.MaxFunc(points, func(a, b *float64) int { return cmp.Compare(height(a), height(b)) }))
			}
		}
		return some
	}
	thinned := view.History{Rates: thin(h.Rates), Refused: thin(h.Refused), StoreMS: thin(h.StoreMS), Errors: thin(h.Errors)}
	for points := range slices.Chunk(h.Times, each) {
		thinned.Times = append(thinned.Times, points[0])
	}
	return thinned
}

// height puts an unknown value below all others.
func height(x *float64) float64 {
	if x == nil {
		return -1
	}
	return *x
}
