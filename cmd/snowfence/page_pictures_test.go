//go:build servers

package main

import (
	"bytes"
	"flag"
	"image"
	"image/color"
	"image/draw"
	"image/png"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"snowfence.example/snowfence/internal/testkit"
)

// pictures is the folder of the pictures of docs, which "make pictures" writes.
var pictures = flag.String("pictures", "", "folder that the pictures of the page are written to, after some minutes of traffic")

// traffic mints until the test ends, more and less, so that the charts have something to show. Now and then there are too
// large batches, so some are refused.
func traffic(t *testing.T, d *testkit.Daemon) {
	client := testkit.Client()
	for i := 0.0; t.Context().Err() == nil; i++ {
		n := 600 + 250*math.Sin(i/300) + 120*math.Sin(i/40)
		_, _ = testkit.MintTexts(t.Context(), client, d.URL, "default", int(n))
		_, _ = testkit.MintTexts(t.Context(), client, d.URL, "orders", 1+int(n/20))
		if math.Mod(i, 1200) > 1195 {
			for range 4 {
				go func() { _, _ = testkit.MintTexts(t.Context(), client, d.URL, "default", 10_000) }()
			}
		}
		pause(t.Context(), 50*time.Millisecond)
	}
}

// draw writes all pictures of a page with a lively state.
func (b *tab) draw(d *testkit.Daemon, lends int64) {
	b.t.Helper()
	order(b, page.BringToFront, cdp.Empty{}) // the browser draws no tab behind
	b.choose(lends)
	b.fill("#decode-f input", b.text("#minted code"))
	b.await(`document.getElementById("decoded").textContent.includes(document.querySelector("#minted code").textContent)`)
	b.await(`document.querySelectorAll("#clocks-c circle").length >= 5`) // a clock is known from two looks
	js[bool](b, `(document.activeElement.blur(), true)`)
	b.look(looks()["light"])
	for _, panel := range []string{"workers", "windows", "clocks", "counters", "events", "decode", "plan", "mint", "overview"} {
		b.picture(panel, panel, 1280)
	}
	b.look(looks()["dark"])
	b.picture("overview-dark", "overview", 1280)
	b.look(looks()["light"])
	b.do(chromedp.EmulateViewport(390, 844))
	b.follow(d, "")
	b.picture("phone", "", 390)
}

// picture writes a panel: the overview with the head of the page, and no panel for a phone's first screen.
func (b *tab) picture(name, panel string, width float64) {
	b.t.Helper()
	place := js[[]float64](b, `(async () => {
		scrollTo(0, 0)
		await new Promise((done) => setTimeout(done, 400))
		const r = document.getElementById(%[1]s)?.getBoundingClientRect() ?? { top: 0, height: 844 }
		const top = %[1]s === "overview" ? 0 : Math.max(0, r.top - 12)
		return [top, Math.min(r.top + r.height + 12 - top, 1600)] })()`, panel)
	beyond := true
	shot := order(b, page.CaptureScreenshot, page.CaptureScreenshotParams{CaptureBeyondViewport: &beyond, Clip: &page.Viewport{Y: place[0], Width: width, Height: place[1], Scale: 1}})
	whole, err := png.Decode(bytes.NewReader(shot.Data))
	if err != nil {
		b.t.Fatal(err)
	}
	var file bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&file, fewer(whole)); err != nil || file.Len() > 150_000 {
		b.t.Errorf("%s.png has %d bytes (%v)", name, file.Len(), err)
	}
	if err := os.WriteFile(filepath.Join(*pictures, name+".png"), file.Bytes(), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

// fewer is a picture in the colours that it has most.
func fewer(whole image.Image) image.Image {
	counts, r := map[color.Color]int{}, whole.Bounds()
	for y := r.Min.Y; y < r.Max.Y; y++ {
		for x := r.Min.X; x < r.Max.X; x++ {
			counts[whole.At(x, y)]++
		}
	}
	colours := slices.SortedFunc(maps.Keys(counts), func(a, b color.Color) int { return counts[b] - counts[a] })
	few := image.NewPaletted(r, colours[:min(len(colours), 256)])
	draw.Draw(few, r, whole, r.Min, draw.Src)
	return few
}
