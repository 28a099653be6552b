package trace_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/sim"
	"snowfence.example/snowfence/internal/sim/trace"
)

var update = flag.Bool("update", false, "write the steps of the stories in testdata again")

// planned is the line of a story behind which its plan stands.
const planned = "\nThe plan of this run:\n"

// TestStoriesAreWhatHappens runs the plan of each story in testdata. The steps must equal the file's,
// and the model must accept them.
func TestStoriesAreWhatHappens(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) < 20 {
		t.Fatalf("there are %d stories, %v", len(files), err)
	}
	list, err := os.ReadFile(filepath.Join("testdata", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			if !strings.Contains(string(list), "("+filepath.Base(file)+")") {
				t.Error("README.md does not list the story")
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			claim, _, _ := strings.Cut(string(text), "\n\n")
			_, plan, ok := strings.Cut(string(text), planned)
			if !ok || !strings.HasSuffix(claim, ".") {
				t.Fatal("a story is a sentence, its steps and its plan")
			}
			told := claim + "\n\n" + tell(t, plan) + planned + plan
			switch {
			case *update:
				err = os.WriteFile(file, []byte(told), 0o600)
			case told != string(text):
				t.Errorf("it is now, see -update:\n%s", told)
			}
			if err != nil {
				t.Fatal(err)
			}
		})
	}
}

// tell runs a plan and returns its steps.
func tell(t *testing.T, text string) string {
	t.Helper()
	p, err := sim.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	p.Rough = true
	story, m := newTeller(int64(p.Begin/p.Layout.Unit)), trace.NewModel(p.Loss)
	r := sim.Run(p, sim.Config{Steps: func(s trace.Step) {
		if err == nil && p.Borrowers == 0 {
			err = m.Take(s)
		}
		story.take(s)
	}})
	if err != nil || len(r.Findings) > 0 || p.Check(r.Tally) != nil {
		t.Errorf("%v %v %v", err, r.Findings, p.Check(r.Tally))
	}
	return story.String()
}

// teller writes steps for people. Writes and versions have numbers, and ticks count from the start. Stamps of a process
// are one line, up to the next thing that the process does.
type teller struct {
	origin           int64
	writes, versions map[string]string
	steps            []trace.Step
	stamps           map[string]int    // by process: which of the steps its last stamps are
	remarks          map[string]string // by process: its last remark, if that was its last step
}

func newTeller(origin int64) *teller {
	return &teller{
		origin: origin, stamps: make(map[string]int), remarks: make(map[string]string),
		writes: map[string]string{"": "0"}, versions: map[string]string{"": "0"},
	}
}

// take keeps a step.
func (t *teller) take(s trace.Step) {
	at, stamped := t.stamps[s.Place]
	switch {
	case s.Kind == trace.Stamp && stamped:
		t.steps[at].At, t.steps[at].Until = s.At, s.Until
		return
	case s.Kind == trace.Remark && t.remarks[s.Place] == s.Note:
		return // as often as it reads
	case s.Kind == trace.Stamp:
		t.stamps[s.Place] = len(t.steps)
	default:
		delete(t.stamps, s.Place)
	}
	if s.Kind != trace.Stamp {
		t.remarks[s.Place] = s.Note
	}
	t.steps = append(t.steps, s)
}

// String returns all steps, in the order of their times.
func (t *teller) String() string {
	slices.SortStableFunc(t.steps, func(a, b trace.Step) int { return cmp.Compare(a.At, b.At) })
	var b strings.Builder
	process, fraction := regexp.MustCompile(`^(host-\d+) process (\d+)`), regexp.MustCompile(`\.\d+(ms|µs)`)
	shown := map[string]string{} // the version of each register
	for _, s := range t.steps {
		if s.Kind == trace.Failover && s.Version == shown[s.Register] {
			continue // it lost nothing
		}
		if s.Kind == trace.Effect || s.Kind == trace.Failover {
			shown[s.Register] = s.Version
		}
		s.Write, s.Guard, s.Version = number(t.writes, s.Write), number(t.versions, s.Guard), number(t.versions, s.Version)
		if s.Floor > 0 {
			s.Floor -= t.origin
		}
		s.Until -= t.origin
		line := strings.ReplaceAll(s.String(), " of store 0", "")
		line = fraction.ReplaceAllString(line, "$1")
		line = process.ReplaceAllStringFunc(line, func(name string) string {
			var n int
			host, _, _ := strings.Cut(name, " ")
			_, _ = fmt.Sscanf(name, host+" process %d", &n)
			if n == 1 {
				return host
			}
			return fmt.Sprintf("%s, process %d,", host, (n+1)/2) // the end of a process counts too
		})
		if s.Kind == trace.Remark && s.Place == "fault" {
			line = "(" + strings.TrimPrefix(line, "fault ") + ")"
		}
		_, _ = fmt.Fprintf(&b, "%6d ms  %s\n", s.At/time.Millisecond, line)
	}
	return b.String()
}

// number returns the number of a mark, the next one for a new mark.
func number(numbers map[string]string, mark string) string {
	if numbers[mark] == "" {
		numbers[mark] = fmt.Sprint(len(numbers))
	}
	return numbers[mark]
}
