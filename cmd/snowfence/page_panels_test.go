//go:build servers

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/testkit"
)

// This file has the panels that follow five daemons on one etcd.

// pageEtcd is the server of all fleets, which have a namespace each.
var pageEtcd = sync.OnceValue(func() *testkit.Server { return testkit.Etcd(&lifetime) })

// fleets counts them, so that each has a namespace of its own when a test runs again.
var fleets atomic.Int64

// fleet is five daemons on one store. The first one is the page's.
type fleet struct {
	file string // their configuration
	all  []*subject

	borrowers int
}

// newFleet starts daemons that take leases for a window, and whose clocks are off by offsets: by nothing where there is none.
func newFleet(t *testing.T, window time.Duration, offsets ...time.Duration) *fleet {
	t.Helper()
	namespace, policy := fmt.Sprint("fleet-", fleets.Add(1)), ""
	if *pictures != "" {
		namespace, policy = "shop", ", policy: {max-wait: 2ms, max-burst: 1ns}" // so that a large batch is refused
	}
	file := written(t, fmt.Sprintf("store: etcd://%s\nnamespace: %s\ngenerators:\n  default: {window: %s%s}\n  orders: {kind: segment}\n", pageEtcd().Addr(), namespace, window, policy))
	c := &fleet{file: file}
	for i := range 5 {
		s := newSubject(t, i, "--config", file, "--data", t.TempDir())
		if i < len(offsets) {
			s.setClock(offsets[i])
		}
		s.start()
		c.all = append(c.all, s)
	}
	for _, s := range c.all {
		s.current().WaitReady()
	}
	return c
}

func (c *fleet) page() *testkit.Daemon { return c.all[0].current() }

// pageState is what these tests read of /ui/state.
type pageState struct {
	Daemon     struct{ PID int }
	Generators []struct {
		Name, IDs, Last string
		Worker          *int64
		Counter         *struct{ Next, Left string }
	}
	Namespaces []struct {
		Counts  map[string]int64
		Lent    int64
		Holders []holder
		Changes []struct{ What, To string }
	}
	Refusals []struct{ Generator, Problem, Count string }
	Events   []struct{ Text string }
}

type holder struct {
	Worker     int64
	State      string
	Ours, Lent bool
	Silent     bool
	Host       string
	PID        int
	Term       int64
	Offset     *float64 `json:"offset_ms"`
}

func (h holder) words() string {
	switch {
	case h.Silent:
		return "silent"
	case h.Ours:
		return "ours"
	case h.Lent:
		return "lent"
	}
	return h.State
}

// state waits until the page's daemon knows all holders and borrowers.
func (c *fleet) state(t *testing.T) (s pageState) {
	t.Helper()
	testkit.Eventually(t, func(context.Context) error {
		s = pageState{}
		if call(t, "GET", c.page().URL+"/ui/state", &s); len(s.Namespaces) != 1 || len(s.Namespaces[0].Holders) < len(c.all)+c.borrowers {
			return fmt.Errorf("%+v, want %d holders", s.Namespaces, len(c.all)+c.borrowers)
		}
		return nil
	})
	return s
}

// workerOf is the worker id that a daemon holds.
func (c *fleet) workerOf(t *testing.T, s *subject) int64 {
	t.Helper()
	for _, h := range c.state(t).Namespaces[0].Holders {
		if h.PID == s.current().PID() {
			return h.Worker
		}
	}
	t.Fatalf("no register has process %d", s.current().PID())
	return 0
}

// borrow makes the page's daemon lend a worker id.
func (c *fleet) borrow(t *testing.T, program string) {
	t.Helper()
	c.borrowers = 1
	document := fmt.Sprintf(`{"now":%d,"host":"till-7","pid":4711,"program":%q}`, time.Now().UnixMilli(), program)
	output(t, exec.CommandContext(t.Context(), "curl", "-fsS", "-H", "Content-Type: application/json", "-d", document, c.page().URL+"/v1/generators/default/leases"))
}

// choose goes to the cell of a worker id by the heat map's keys, and opens its register.
func (b *tab) choose(worker int64) {
	b.t.Helper()
	js[bool](b, `(() => {
		const press = (key) => document.getElementById("map").dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }))
		press("Home")
		for (let i = 0; i < Math.floor(%[1]s / 32); i++) press("ArrowDown")
		for (let i = 0; i < %[1]s %% 32; i++) press("ArrowRight")
		press("Enter")
		return true })()`, worker)
	b.await(`document.querySelector("#register h3").textContent === "Worker id " + %s`, worker)
}

// turns waits until the open register shows something else, and logs how long that took since an event.
func (b *tab) turns(since time.Time, event, was string) (is string) {
	b.t.Helper()
	b.await(`document.querySelector("#register p.line").textContent !== %s`, was)
	is = b.text("#register p.line")
	b.t.Logf("%s: %q became %q after %s", event, was, is, time.Since(since).Round(time.Millisecond))
	return is
}

// run runs a line of the shell as an operator of the fleet does.
func (c *fleet) run(t *testing.T, line string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh", "-c", line)
	command.Env = append(os.Environ(), "PATH="+filepath.Dir(executable(t, ""))+":"+os.Getenv("PATH"), "SNOWFENCE_CONFIG="+c.file)
	output(t, command)
}

// grouped writes a number as the page does.
func grouped(n any) string {
	digits := fmt.Sprint(n)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// shown is a page's part of a state, with or without a script.
type shown struct {
	Cards                     [][]string
	Counts, Holders, Counters [][]string
	Changes, Refusals         [][]string
	Events                    []string
}

// shows compares a page with the daemon's state, until both are of one moment.
func (b *tab) shows(c *fleet) (s pageState) {
	b.t.Helper()
	testkit.Eventually(b.t, func(context.Context) error {
		s = c.state(b.t)
		want := shown{}
		for _, g := range s.Generators {
			worker := "–"
			if g.Worker != nil {
				worker = fmt.Sprint(*g.Worker)
			}
			want.Cards = append(want.Cards, []string{g.Name, grouped(g.IDs), g.Last, worker})
			if g.Counter != nil {
				want.Counters = append(want.Counters, []string{g.Name, grouped(g.Counter.Next), grouped(g.Counter.Left)})
			}
		}
		n := s.Namespaces[0]
		want.Counts = [][]string{{fmt.Sprint(n.Counts["held"]), fmt.Sprint(n.Lent), fmt.Sprint(n.Counts["quarantined"]), grouped(n.Counts["free"])}}
		for _, h := range n.Holders {
			want.Holders = append(want.Holders, []string{fmt.Sprint(h.Worker), h.words(), h.Host, fmt.Sprint(h.PID), fmt.Sprint(h.Term)})
		}
		for _, c := range n.Changes {
			want.Changes = append(want.Changes, []string{c.What, c.To})
		}
		for _, r := range s.Refusals {
			want.Refusals = append(want.Refusals, []string{cmp.Or(r.Generator, "–"), r.Problem, grouped(r.Count)})
		}
		for _, e := range s.Events {
			want.Events = append(want.Events, e.Text)
		}
		got := js[shown](b, `(() => {
			const rows = (id, ...columns) => [...document.getElementById(id).tBodies[0].rows].map((row) => columns.map((i) => row.cells[i].textContent))
			const f = (card, name) => card.querySelector("[data-f=" + name + "]").textContent
			return {
				cards: [...document.querySelectorAll(".card")].map((c) => [c.dataset.name, f(c, "ids"), f(c, "last"), f(c, "worker")]),
				counts: rows("counts-t", 3, 4, 8, 12), holders: rows("holders-t", 1, 2, 3, 4, 6), counters: rows("counters-t", 0, 2, 4),
				changes: rows("changes-t", 3, 5), refusals: rows("refusals-t", 0, 1, 2),
				events: [...document.querySelectorAll("#events-l li strong")].map((text) => text.textContent),
			} })()`)
		if g, w := fmt.Sprintf("%+v", got), fmt.Sprintf("%+v", want); g != w {
			return fmt.Errorf("the page shows %s, and the state is %s", g, w)
		}
		return nil
	})
	return s
}

func TestPageShowsTheStateWithAndWithoutAScript(t *testing.T) {
	t.Parallel()
	c := newFleet(t, time.Minute)
	d := c.page()
	c.borrow(t, "billing")
	for generator, n := range map[string]int{"default": 1234, "orders": 21} {
		if _, err := testkit.MintTexts(t.Context(), testkit.Client(), d.URL, generator, n); err != nil {
			t.Fatal(err)
		}
	}
	b := newTab(t, 1280, 900, d.URL).follow(d, "")
	js[bool](b, `document.querySelectorAll("details").forEach((twin) => (twin.open = true)) ?? true`)
	s := b.shows(c)
	b.await(`document.getElementById("legend").innerText.replace(/\s+/g, " ") === %s`, "1 ours 4 held by others 1 lent 0 silent 0 resting 0 quarantined 1,018 free")
	drawn := `[...document.querySelectorAll("#%s svg text[x='28']")].map((text) => text.textContent).join(" ")`
	var workers []string
	for _, h := range s.Namespaces[0].Holders {
		workers = append(workers, fmt.Sprint(h.Worker))
		b.choose(h.Worker)
		cell, register := js[string](b, `document.getElementById("map").getAttribute("aria-valuetext")`), b.text("#register")
		if !strings.Contains(cell, fmt.Sprintf("Worker id %d: ", h.Worker)) || !strings.HasSuffix(cell, ", "+h.Host) || !strings.Contains(register, fmt.Sprintf("%s, process %d", h.Host, h.PID)) {
			t.Errorf("of %+v the cell shows %q, and its register %q", h, cell, register)
		}
	}
	for _, panel := range []string{"windows-c", "clocks-c"} {
		if got, want := js[string](b, strings.Replace(drawn, "%s", panel, 1)), strings.Join(workers, " "); got != want {
			t.Errorf("%s has a row for %s, want %s", panel, got, want)
		}
	}
	for _, state := range []string{"ours", "held", "lent"} { // the canvas has the colour of each
		b.await(`(async () => {
			const { colour } = await import("/ui/draw.mjs")
			const map = document.getElementById("map"), wanted = colour("s-" + %s).match(/\d+/g).slice(0, 3).join()
			const copy = new OffscreenCanvas(map.width, map.height).getContext("2d", { willReadFrequently: true })
			copy.drawImage(map, 0, 0)
			const pixels = copy.getImageData(0, 0, map.width, map.height).data
			for (let i = 0; i < pixels.length; i += 4) if (pixels.slice(i, i + 3).join() === wanted) return true
			return false })()`, state)
	}

	plain := newTab(t, 1280, 900, d.URL)
	plain.scriptless()
	plain.open(d.URL + "/")
	plain.shows(c)
}

func TestPageShowsDaemonsThatEnd(t *testing.T) {
	t.Parallel()
	c := newFleet(t, 18*time.Second) // silent for a third of it, which is three refreshes
	b := newTab(t, 1280, 900, c.page().URL).follow(c.page(), "")
	ends, dies := c.workerOf(t, c.all[1]), c.workerOf(t, c.all[2])
	b.choose(ends)
	b.await(`document.querySelector("#register p.line").textContent === "held"`)
	began := time.Now()
	c.all[1].current().Signal(syscall.SIGTERM)
	if is := b.turns(began, "SIGTERM", "held"); is != "resting" && is != "free" {
		t.Errorf("the worker id of a daemon that ended is %s", is)
	}
	b.choose(dies)
	began = time.Now()
	c.all[2].current().Kill()
	if is := b.turns(began, "SIGKILL", "held"); is != "held, and silent" {
		t.Errorf("the worker id of a daemon that was killed is %s", is)
	}
	if is := b.turns(began, "SIGKILL", "held, and silent"); is != "free: its holder ended, and did not give it back" {
		t.Errorf("the worker id of a daemon that was killed is %s", is)
	}
}

func TestCommandThatThePageShowsEndsATerm(t *testing.T) {
	t.Parallel()
	c := newFleet(t, 6*time.Second)
	b := newTab(t, 1280, 900, c.page().URL).follow(c.page(), "")
	worker := c.workerOf(t, c.all[3])
	b.choose(worker)
	command := js[string](b, `[...document.querySelectorAll("#register code")].map((code) => code.textContent).find((text) => text.includes("quarantine"))`)
	if want := fmt.Sprintf("snowfence workers quarantine %d --config %s --namespace ", worker, c.file); !strings.HasPrefix(command, want) {
		t.Fatalf("the page shows %q, want %q", command, want)
	}
	c.run(t, command)
	began := time.Now()
	testkit.Eventually(t, func(context.Context) error {
		var s pageState
		if call(t, "GET", c.all[3].current().URL+"/ui/state", &s); s.Generators[0].Worker != nil && *s.Generators[0].Worker == worker {
			return fmt.Errorf("the holder of worker id %d has it still", worker)
		}
		return nil
	})
	t.Logf("its holder left after %s, with a window of 6s", time.Since(began).Round(time.Millisecond))
	b.turns(began, "quarantine", "held")
	b.choose(worker)
	b.await(`document.getElementById("map").getAttribute("aria-valuetext").includes(": quarantined")`)
	if counts := b.text("#legend"); !strings.Contains(strings.Join(strings.Fields(counts), " "), "1 quarantined") {
		t.Errorf("the legend shows %q", counts)
	}
}

func TestClockThatIsOffStandsOut(t *testing.T) {
	t.Parallel()
	offsets := []time.Duration{0, 7 * time.Minute, -9 * time.Second}
	c := newFleet(t, 20*time.Second, offsets...)
	b := newTab(t, 1280, 900, c.page().URL).follow(c.page(), "")
	js[bool](b, `document.querySelector("[data-twin=clocks]").open = true`)
	b.await(`document.querySelectorAll("#clocks-c circle").length === 5`) // each clock was seen
	for i, offset := range offsets {
		row := fmt.Sprint(c.workerOf(t, c.all[i]))
		testkit.Eventually(t, func(context.Context) error {
			rows := js[[][]string](b, `[...document.getElementById("clocks-t").tBodies[0].rows].map((row) => [...row.cells].map((cell) => cell.textContent))`)
			at := slices.IndexFunc(rows, func(cells []string) bool { return cells[1] == row })
			if at < 0 {
				return fmt.Errorf("worker id %s is not in %q", row, rows)
			}
			ahead, err := strconv.ParseFloat(rows[at][3], 64)
			if off := time.Duration(ahead*float64(time.Millisecond)) - offset; err != nil || off.Abs() > time.Second {
				return fmt.Errorf("a clock that is ahead by %s is shown as %q ms (%w)", offset, rows[at][3], err)
			}
			return nil
		})
	}
	// The two that are off are the outermost of the drawing, to the right and to the left.
	drawn := js[[]float64](b, `[...document.querySelectorAll("#clocks-c circle")].map((circle) => circle.cx.baseVal.value).sort((x, y) => x - y)`)
	if drawn[1]-drawn[0] < 50 || drawn[4]-drawn[3] < 50 {
		t.Errorf("the clocks are drawn at %v: none stands out", drawn)
	}
	if said := b.text("#problems"); !strings.Contains(said, " ahead. ") {
		t.Errorf("the problems are %q", said)
	}
}

func TestPageOfADaemonThatDoesNotAnswerIsStale(t *testing.T) {
	t.Parallel()
	d := readyDaemon(t, "--store", "mem://", "--data", t.TempDir())
	b := newTab(t, 1280, 900, d.URL).follow(d, "")
	began := js[float64](b, "performance.now()")
	freeze(t, d)
	took := js[float64](b, `new Promise((done) => {
		const look = () => document.documentElement.matches(".stale") && done(performance.now())
		new MutationObserver(look).observe(document.documentElement, { attributes: true })
		look() })`) - began
	t.Logf("the page is stale %.0f ms after the daemon was stopped", took)
	b.await(`!document.getElementById("stale").hidden && document.getElementById("status").textContent === "This daemon does not answer"`)
	d.Signal(syscall.SIGCONT)
	b.await(`document.getElementById("stale").hidden && document.getElementById("status").textContent === "All ids are safe"`)
}
