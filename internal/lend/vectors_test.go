package lend_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lend"
	"snowfence.example/snowfence/store"
)

// update makes the test write the file.
var update = flag.Bool("update", false, "write testdata/lending.json")

// vectors is the file of cases for borrowers in other languages.
type vectors struct {
	About []string     `json:"about"`
	Cases []vectorCase `json:"cases"`
}

type vectorCase struct {
	Name  string `json:"name"`
	Steps []step `json:"steps"`
}

// step is a call or an answer of a borrower, with the result. The "about" of the file has the verbs.
type step struct {
	Do      string          `json:"do"`
	Sent    int             `json:"sent_ms,omitempty"`
	Came    int             `json:"came_ms,omitempty"`
	Mark    string          `json:"mark,omitempty"`
	Outcome string          `json:"outcome,omitempty"`
	Answer  map[string]any  `json:"answer,omitempty"`
	Wall    int64           `json:"wall_ms,omitempty"`
	Times   int             `json:"times,omitempty"`
	Random  string          `json:"random,omitempty"`
	ID      json.RawMessage `json:"id,omitempty"`
	At      int64           `json:"at_ms,omitempty"`
	Tick    string          `json:"tick,omitempty"`
}

// about is how the file is read.
func about() []string {
	return []string{
		"Each case is a borrower, and its steps are done in order. docs/lending.md has the rules.",
		"sent_ms, came_ms and at_ms are of the borrower's monotonic clock, wall_ms of its wall clock.",
		"claim: the answer to a claim. outcome: taken, or refused (the borrower stops).",
		"extend: the first try of an extension is sent. again: the same extension is sent once more.",
		"answer: an answer comes. outcome: taken, ignored (nothing changes), or refused (the lease is used no more).",
		"stamp: as many ids as times gives are made (1 without it), and id is the last. null: none may be made.",
		"random: the number in the random bits of the id.",
		"due: when the next extension is to be sent.",
		"next: the tick that a release would name as next.",
		"gone: the problem lease-gone or lease-moved comes. The lease makes no more ids, and answers to it are ignored.",
		"release: the borrower gives the worker id back, and names tick as next. The lease makes no more ids.",
	}
}

// script plays a case with the reference borrower, and writes the steps down.
type script struct {
	*testing.T
	first lend.Answer // the claim's
	held  *lend.Held
	mark  string // of the last extension
	steps []step

	highest time.Time // reading of the wall clock
	over    bool      // the lease makes no more ids
}

// change makes an answer differ.
type change func(*lend.Answer)

func lossy(loss time.Duration) change { return func(a *lend.Answer) { a.Loss = loss } }

// answer returns the first answer with its changes. Its bound is so many milliseconds after noon.
func (s *script) answer(until int, changes ...change) lend.Answer {
	a := s.first
	a.Lease.Until = a.Layout.TickAt(noon.Add(at(until)))
	a.Lease.Version = store.Version(strconv.Itoa(until))
	for _, c := range changes {
		c(&a)
	}
	return a
}

func (s *script) write(one step) { s.steps = append(s.steps, one) }

// claim begins the case at noon, with a bound of a minute.
func (s *script) claim(layout string, worker int64, changes ...change) {
	s.Helper()
	l, err := snowfence.ParseLayout(layout)
	if err != nil {
		s.Fatal(err)
	}
	s.first = lend.Answer{
		Lease:  lend.Lease{Worker: worker, Term: 1},
		Layout: l, Window: time.Minute, Floor: l.TickAt(noon), MaxBehind: 5 * time.Second,
	}
	s.first = s.answer(60000, changes...)
	s.held = lend.Hold(s.first, at(100000), at(100020))
	s.write(step{Do: "claim", Sent: 100000, Came: 100020, Outcome: "taken", Answer: fields(s.first)})
}

func (s *script) extend(sent int) {
	s.mark = strconv.FormatUint(0xc0ffee0000000000+uint64(len(s.steps)), 16)
	s.held.Ask(at(sent))
	s.write(step{Do: "extend", Sent: sent, Mark: s.mark})
}

// again is a second try: it changes nothing.
func (s *script) again(sent int) { s.write(step{Do: "again", Sent: sent, Mark: s.mark}) }

// answered is an answer with a mark. It is taken if the mark is that of the extension under way.
func (s *script) answered(came int, mark string, a lend.Answer) {
	outcome := "ignored"
	if s.held.Asking() && mark == s.mark && !s.over {
		outcome = "taken"
		if s.held.Extended(a, at(came)) != nil {
			outcome = "refused"
		}
	}
	a.Mark = mark
	s.write(step{Do: "answer", Came: came, Outcome: outcome, Answer: fields(a)})
}

// ids are so many, stamped at a time in milliseconds after noon. The last must be the text, which is empty for none.
func (s *script) ids(wall, times int, want string) {
	s.Helper()
	now, got, l := noon.Add(at(wall)), "", s.first.Layout
	one := step{Do: "stamp", Wall: now.UnixMilli(), ID: json.RawMessage("null")}
	if times > 1 {
		one.Times = times
	}
	parts := snowfence.Parts{Datacenter: s.first.Datacenter(), Worker: s.first.Lease.Worker & (1<<l.Bits(snowfence.Worker) - 1)}
	if bits := l.Bits(snowfence.Random); bits > 0 {
		parts.Random = (int64(len(s.steps))*0x9e3779b97f4a7c1 + 1) & (1<<bits - 1)
		one.Random = strconv.FormatInt(parts.Random, 10)
	}
	if s.highest = later(s.highest, now); s.highest.Sub(now) > s.first.MaxBehind {
		s.over = true
	}
	for range times {
		got = ""
		var ok bool
		if s.over {
			break
		}
		if parts.Tick, parts.Sequence, ok = s.held.Stamp(now); ok {
			got = text(s.T, l, parts)
			one.ID, _ = json.Marshal(got)
		}
	}
	if got != want {
		s.Errorf("%s, step %d: id %q, want %q", s.Name(), len(s.steps), got, want)
	}
	s.write(one)
}

func (s *script) id(wall int, want string) { s.Helper(); s.ids(wall, 1, want) }

func text(t *testing.T, l snowfence.Layout, p snowfence.Parts) string {
	t.Helper()
	if l.Wide {
		id, err := l.ComposeWide(p)
		if err != nil {
			t.Fatal(err)
		}
		return l.Text(id)
	}
	id, err := l.Compose(p)
	if err != nil {
		t.Fatal(err)
	}
	return id.String()
}

func (s *script) due(want int) {
	s.Helper()
	if s.held.Due() != at(want) {
		s.Errorf("step %d: due at %s, want %d ms", len(s.steps), s.held.Due(), want)
	}
	s.write(step{Do: "due", At: s.held.Due().Milliseconds()})
}

// next is so many ticks after the floor.
func (s *script) next(ticks snowfence.Tick) {
	s.Helper()
	if s.held.Next() != s.first.Floor+ticks {
		s.Errorf("step %d: next is %d, want %d after %d", len(s.steps), s.held.Next(), ticks, s.first.Floor)
	}
	s.write(step{Do: "next", Tick: strconv.FormatInt(int64(s.held.Next()), 10)})
}

// gone is the end of the lease.
func (s *script) gone() {
	s.over = true
	s.write(step{Do: "gone"})
}

// release gives the worker id back, and names so many ticks after the floor.
func (s *script) release(ticks snowfence.Tick) {
	s.Helper()
	s.next(ticks)
	s.over, s.steps[len(s.steps)-1].Do = true, "release"
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// fields are an answer as HTTP carries it. A test of the daemon's package front compares them with its own.
func fields(a lend.Answer) map[string]any {
	tick := func(t snowfence.Tick) string { return strconv.FormatInt(int64(t), 10) }
	all := map[string]any{
		"lease": a.Lease.String(), "worker": a.Lease.Worker, "datacenter": a.Datacenter(),
		"layout": a.Layout.String(), "unit_us": a.Layout.Unit.Microseconds(), "epoch_ms": a.Layout.Epoch.UnixMilli(),
		"form": "decimal", "base": a.Base(), "check": a.Check(),
		"floor": tick(a.Floor), "until": tick(a.Lease.Until), "horizon": tick(a.Layout.HorizonTick()),
		"window_ms": a.Window.Milliseconds(), "extend_after_ms": (a.Window / 3).Milliseconds(),
		"loss_ms": a.Loss.Milliseconds(), "max_behind_ms": a.MaxBehind.Milliseconds(),
	}
	if a.Mark != "" {
		all["mark"] = a.Mark
	}
	for _, f := range a.Layout.Fields {
		if f.Kind != snowfence.Version && f.Kind != snowfence.Variant {
			all[f.Kind.String()+"_shift"], all[f.Kind.String()+"_bits"] = a.Layout.Shift(f.Kind), f.Bits
		}
	}
	switch {
	case a.Layout.UUID():
		all["form"] = "uuid"
	case a.Layout.Wide:
		all["form"] = "hex" + strconv.Itoa(len(a.Layout.Text(snowfence.WideID{})))
	}
	return all
}

func TestVectorsForPortersAreThoseOfTheReferenceBorrower(t *testing.T) {
	got := vectors{About: about()}
	for _, c := range vectorCases() {
		t.Run(c.name, func(t *testing.T) {
			s := &script{T: t}
			c.play(s)
			got.Cases = append(got.Cases, vectorCase{c.name, s.steps})
		})
	}
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetIndent("", " ")
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(got); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("..", "..", "testdata", "lending.json")
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	stored, err := os.ReadFile(path)
	if err != nil || !bytes.Equal(stored, b.Bytes()) {
		t.Errorf("%s is another: go test ./internal/lend -run Vectors -update (%v)", path, err)
	}
}
