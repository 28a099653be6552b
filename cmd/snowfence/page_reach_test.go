//go:build servers

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// This file has who can read the page: by keys alone, in each colour, on a phone, and with which token.

func TestKeysAloneReachEverything(t *testing.T) {
	t.Parallel()
	d, _ := toolbox(t)
	b := newTab(t, 1280, 900, d.URL).follow(d, "?id=9007199254740993&years=69&workers=1024&rate=1000")
	const name = `(e) => [e.tagName, e.id, e.name, e.value, e.getAttribute("aria-label"), e.textContent.trim().slice(0, 30)].filter(Boolean).join(" ").replace(/\d+/g, "0")` // figures change meanwhile
	// A group of radio buttons is one stop.
	stops := js[[]string](b, `[...document.querySelectorAll("a[href], button, input, select, summary, [tabindex='0']")]
		.filter((e) => e.checkVisibility({ visibilityProperty: true }) && !e.disabled && (e.type !== "radio" || e.checked)).map(`+name+`)`)
	js[bool](b, `(document.activeElement.blur(), getSelection().removeAllRanges(), scrollTo(0, 0), document.querySelector(".skip").focus(), true)`)
	visited := []string{js[string](b, "("+name+")(document.activeElement)")}
	for range len(stops) - 1 {
		b.keys(kb.Tab)
		visited = append(visited, js[string](b, "("+name+")(document.activeElement)"))
	}
	for i := range stops {
		if stops[i] != visited[i] {
			t.Fatalf("stop %d is %q, want %q of\n%s", i, visited[i], stops[i], strings.Join(stops, "\n"))
		}
	}
	b.keys(kb.Tab)
	b.await(`document.activeElement === document.body || document.activeElement.matches(".skip")`)

	js[bool](b, `(document.getElementById("map").focus(), true)`)
	b.keys(kb.Home + kb.ArrowRight + kb.ArrowRight + kb.ArrowRight + kb.ArrowDown + kb.ArrowLeft + kb.Enter)
	b.await(`document.activeElement.matches("#register h3") && document.activeElement.textContent === "Worker id 34"`)
}

// looks are the colours that a reader may ask for.
func looks() map[string]*emulation.MediaFeature {
	return map[string]*emulation.MediaFeature{
		"light": {Name: "prefers-color-scheme", Value: "light"}, "dark": {Name: "prefers-color-scheme", Value: "dark"}, "forced": {Name: "forced-colors", Value: "active"},
	}
}

// look emulates a reader's setting.
func (b *tab) look(feature *emulation.MediaFeature) {
	b.t.Helper()
	order(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{feature}})
}

// widest finds the elements that reach beyond the window, and that do not scroll by themselves.
const widest = `[...document.querySelectorAll("body *")].filter((e) => {
	for (let up = e.parentElement; up; up = up.parentElement) if (up !== document.documentElement && up !== document.body && getComputedStyle(up).overflowX !== "visible") return false
	return e.getBoundingClientRect().right > innerWidth
}).map((e) => e.outerHTML.slice(0, 160)).slice(0, 3).join("\n")`

// settledWidth is the width of the page, once it fits or a minute has passed: charts are drawn again after a change of the window.
const settledWidth = `new Promise((done) => {
	const end = Date.now() + 60000
	const look = () => {
		const wide = document.documentElement.scrollWidth
		wide <= innerWidth || Date.now() > end ? done(wide) : setTimeout(look, 50)
	}
	look()
})`

// accessible fails the test if axe-core finds something in any of the looks and widths, or if a phone would scroll to the side.
func (b *tab) accessible(widths ...int64) {
	b.t.Helper()
	libraries, err := nodeLibraries()
	axe, wrong := os.ReadFile(filepath.Join(libraries, "axe-core", "axe.min.js"))
	if err = errors.Join(err, wrong); err != nil {
		b.t.Fatal(err)
	}
	js[bool](b, string(axe)+"; true")
	for name, feature := range looks() {
		b.look(feature)
		for _, width := range append(widths, 360) {
			b.do(chromedp.EmulateViewport(width, 900))
			if wide := js[int64](b, settledWidth); wide > width {
				b.t.Errorf("%s, %d pixels wide: the page is %d wide, by %s", name, width, wide, js[string](b, widest))
			}
		}
		for _, width := range widths {
			b.do(chromedp.EmulateViewport(width, 900))
			if found := js[[]string](b, `axe.run(document).then((found) => found.violations.map((v) => v.id + ": " + v.help + "\n" + v.nodes.map((n) => n.html.slice(0, 200) + "\n" + n.failureSummary).join("\n")))`); len(found) > 0 {
				b.t.Errorf("%s, %d pixels wide: %s", name, width, strings.Join(found, "\n"))
			}
		}
	}
}

func TestAxeFindsNothing(t *testing.T) {
	t.Parallel()
	c := newFleet(t, time.Minute, 0, 7*time.Minute)
	d := c.page()
	c.borrow(t, "billing")
	c.run(t, "snowfence workers quarantine 7 --yes")
	if *pictures != "" {
		go traffic(t, d)
		pause(t.Context(), 6*time.Minute)
		c.borrow(t, "billing")
	}
	b := newTab(t, 1280, 900, d.URL).follow(d, "?id=9007199254740993&years=69&workers=1024&rate=1000")
	b.press("#mint-f button")
	b.await(`document.querySelector("#minted code")`)
	if *pictures != "" {
		b.draw(d, c.workerOf(t, c.all[2]))
	}
	js[bool](b, `(document.querySelectorAll("details").forEach((more) => (more.open = true)), true)`)
	b.accessible(1280, 390)
	b.open(d.URL + "/ui/runbook")
	b.accessible(390)
}
