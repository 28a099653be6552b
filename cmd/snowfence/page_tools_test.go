//go:build servers

package main

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"

	"snowfence.example/snowfence/internal/testkit"
)

// toolbox is a daemon with a generator of each form of id.
func toolbox(t *testing.T) (d *testkit.Daemon, file string) {
	t.Helper()
	keys := filepath.Join(t.TempDir(), "keys")
	write(t, keys, "a "+strings.Repeat("0f1e", 16)+"\n")
	file = written(t, `store: mem://
generators:
  default:   {}
  tweets:    {preset: twitter, namespace: tweets}
  sony:      {preset: sonyflake-v2, namespace: sony}
  payments:  {kind: wide, layout: uuid8, namespace: payments}
  public:    {kind: opaque, settings: {of: default, purpose: order, form: sealed, prefix: order, key-file: `+keys+`}}
  uploads:   {kind: ulid}
  documents: {kind: objectid}
`)
	return readyDaemon(t, "--config", file, "--data", t.TempDir()), file
}

// fill writes a value into a field, as a person's keys do.
func (b *tab) fill(selector, value string) {
	b.t.Helper()
	js[bool](b, `(() => { const field = document.querySelector(%s)
		field.value = %s
		return field.dispatchEvent(new Event("input", { bubbles: true })) })()`, selector, value)
}

// reading is what /ui/decode and "snowfence decode" answer.
type reading struct {
	Detail, Time string
	Encodings    struct{ Hex, Base62 string }
	Fields       []struct {
		Name, Meaning string
		Shift, Bits   int
		Value         json.RawMessage // a number, or a text
	}
}

func TestDecodeOfThePageAnswersAsTheProgram(t *testing.T) {
	t.Parallel()
	d, file := toolbox(t)
	b := newTab(t, 1280, 900, d.URL).follow(d, "")
	mint := func(generator string) string {
		ids, err := testkit.MintTexts(t.Context(), testkit.Client(), d.URL, generator, 1)
		if err != nil {
			t.Fatal(err)
		}
		return ids[0]
	}
	number := mint("default")
	var forms reading
	call(t, "GET", d.URL+"/ui/decode?id="+number, &forms)
	ids := [][2]string{{number, ""}, {mint("tweets"), "tweets"}, {mint("sony"), "sony"}, {mint("payments"), "payments"}, {mint("documents"), ""}, {mint("uploads"), ""}, {mint("public"), "public"}, {"no id, is it?", ""}}
	ids = append(ids, [2]string{forms.Encodings.Hex, ""}, [2]string{forms.Encodings.Base62, ""})
	for _, id := range ids {
		var want, program reading
		answer := ask(t, "GET", d.URL+"/ui/decode?"+url.Values{"id": {id[0]}, "generator": {id[1]}}.Encode())
		if err := json.Unmarshal([]byte(answer.body), &want); err != nil {
			t.Fatal(err)
		}
		rows := [][]string{}
		for _, f := range want.Fields {
			lowest, bits := "", ""
			if f.Bits > 0 {
				lowest, bits = fmt.Sprint(f.Shift), fmt.Sprint(f.Bits)
			}
			rows = append(rows, []string{f.Name, lowest, bits, strings.Trim(string(f.Value), `"`), f.Meaning})
		}
		b.fill("#decode-f input", id[0])
		b.fill("#decode-f select", id[1])
		if answer.status != 200 {
			b.await(`document.querySelector("#decoded .alert")?.textContent === %s`, want.Detail)
			continue
		}
		b.await(`document.querySelector("#decoded table") && JSON.stringify([...document.querySelector("#decoded table").tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))) === JSON.stringify(%s)`, rows)
		arguments := []string{"decode", "-o", "json", "--config", file}
		if id[1] != "" {
			arguments = append(arguments, "-g", id[1])
		}
		out, err := exec.CommandContext(t.Context(), executable(t, ""), append(arguments, id[0])...).Output()
		if wrong := json.Unmarshal(out, &program); err != nil || wrong != nil {
			t.Fatalf("%s: %v: %s", id, err, out)
		}
		if said := b.text("#decoded dl"); !strings.Contains(said, program.Time) {
			t.Errorf("%s: the page shows %q, and the program %s", id, said, out)
		}
		for _, f := range program.Fields {
			value := strings.Trim(string(f.Value), `"`)
			if shown := fmt.Sprint(rows); !strings.Contains(shown, "["+f.Name+" ") || !strings.Contains(shown, value) {
				t.Errorf("%s: the program has %s %s, and the page %v", id, f.Name, f.Value, rows)
			}
		}
	}
}

func TestPlanOfThePageOffersWhatTheProgramOffers(t *testing.T) {
	t.Parallel()
	d, _ := toolbox(t)
	b := newTab(t, 1280, 900, d.URL).follow(d, "")
	for i, need := range [][3]string{
		{"69", "1024", "1000"}, {"10", "64", "4000000"}, {"300", "1024", "1"}, {"139", "1048576", "64"}, {"1", "1", "1000000"},
		{"50", "10", "3"}, {"200", "20", "28"}, {"5", "0", "12"}, {"100", "16", "20"}, {"250", "4", "8"}, // positions of sliders
	} {
		for j, field := range []string{"years", "workers", "rate"} {
			selector := fmt.Sprintf("#plan-f [name=%s]", field)
			if i >= 5 {
				selector = fmt.Sprintf("#plan-f [data-for=%s]", field)
			}
			b.fill(selector, need[j])
			need[j] = js[string](b, `document.querySelector(%s).value`, "#plan-f [name="+field+"]")
		}
		var program struct{ Options []struct{ Layout string } }
		out, _ := exec.CommandContext(t.Context(), executable(t, ""), "plan", "-o", "json", "--years", need[0], "--workers", need[1], "--worker-rate", need[2]).Output()
		if err := json.Unmarshal(out, &program); err != nil {
			t.Fatalf("plan %v: %v: %s", need, err, out)
		}
		layouts := []string{}
		for _, o := range program.Options {
			layouts = append(layouts, o.Layout)
		}
		b.await(`document.querySelector("#planned h3").textContent.startsWith(%[2]s) && JSON.stringify([...document.querySelectorAll("#planned .fit:not(.misfit) code")].map((code) => code.textContent)) === JSON.stringify(%[1]s)`,
			layouts, map[bool]string{true: "Fits", false: "Nothing"}[len(layouts) > 0])
	}
}

func TestMintedIDsArriveExactly(t *testing.T) {
	t.Parallel()
	d, _ := toolbox(t)
	b := newTab(t, 1280, 900, d.URL).follow(d, "")
	if _, err := chromedp.CallBrowser(b.ctx, browser.SetPermission, browser.SetPermissionParams{
		Permission: &browser.PermissionDescriptor{Name: "clipboard-read"}, Setting: "granted", BrowserContextID: chromedp.FromContext(b.ctx).BrowserContextID,
	}); err != nil {
		t.Fatal(err)
	}
	js[bool](b, `(() => { const plain = fetch
		window.fetch = async (...request) => { const answer = await plain(...request); if (request[1]?.method === "POST") window.answer = await answer.clone().text(); return answer }
		return true })()`)
	b.fill("#mint-f select", "tweets")
	b.fill("#mint-f input", "5")
	b.press("#mint-f button")
	b.await(`document.querySelectorAll("#minted li code").length === 5`)
	ids := js[[]string](b, `[...document.querySelectorAll("#minted code")].map((code) => code.textContent)`)
	if got := js[string](b, "window.answer"); strings.TrimSpace(got) != `{"ids":["`+strings.Join(ids, `","`)+`"]}` || len(ids[0]) != 19 {
		t.Errorf("the page shows %q of %s", ids, got)
	}
	if copies := js[[]string](b, `[...document.querySelectorAll("#minted [data-copy]")].map((button) => button.dataset.copy)`); fmt.Sprint(copies) != fmt.Sprint(ids) {
		t.Errorf("the buttons copy %q of %q", copies, ids)
	}
	b.press("#minted li:nth-child(2) .copy")
	b.await(`document.querySelector("#minted li:nth-child(2) .copy").textContent === "Copied"`)
	if got := js[string](b, "navigator.clipboard.readText()"); got != ids[1] {
		t.Errorf("the clipboard has %q, want %q", got, ids[1])
	}
	line := b.text("[data-tab=curl] code")
	if copied := js[string](b, `document.querySelector("[data-tab=curl] .copy").dataset.copy`); copied != line {
		t.Errorf("the button copies %q of %q", copied, line)
	}
	out, err := exec.CommandContext(t.Context(), "sh", "-c", line).Output()
	var answer struct{ IDs []string }
	if wrong := json.Unmarshal(out, &answer); err != nil || wrong != nil || len(answer.IDs) != 5 {
		t.Errorf("%s: %v: %s", line, err, out)
	}
}
