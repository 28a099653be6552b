package sim

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// scenarioFiles returns the names of the scenarios in testdata, without folder
// and ending.
func scenarioFiles(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no scenarios: %v", err)
	}
	for i, file := range files {
		files[i] = strings.TrimSuffix(filepath.Base(file), ".txt")
	}
	return files
}

// scenario reads one scenario.
func scenario(t *testing.T, name string) Plan {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".txt"))
	if err != nil {
		t.Fatal(err)
	}
	p, err := Parse(string(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return p
}

// TestScenariosProveTheirClaims runs every scenario of testdata: it opens with its claim, all rules hold,
// and all its expectations are met.
func TestScenariosProveTheirClaims(t *testing.T) {
	t.Parallel()
	for _, name := range scenarioFiles(t) {
		t.Run(name, func(t *testing.T) {
			p := scenario(t, name)
			if p.Claim == "" || len(p.Expect) < 3 {
				t.Error("it does not open with a claim, or expects too little to fail")
			}
			r := Run(p, Config{})
			for _, f := range r.Findings {
				t.Error(f)
			}
			if err := p.Check(r.Tally); err != nil {
				t.Errorf("%v\n%s", err, r.Tally)
			}
		})
	}
}

// aboutMutant is a scenario that explains a mutant, and the rule that it breaks
// there. Where that is "expect", the rules hold, and an expectation is not met.
type aboutMutant struct {
	mutant   string // its name, or the beginning of it
	scenario string
	rule     string
}

func aboutMutants() []aboutMutant {
	return []aboutMutant{
		{"the store compares the term only", "stale-guard-claims-nothing", "unique"},
		{"the store compares the term only", "late-copy-of-a-swap-changes-nothing", "monotone"},
		{"the store compares the term only", "cloned-process-repeats-ids", "unique"},
		{"the store compares the term only", "quarantine-costs-a-pool-one-worker-id", "expect"},
		{"the floor is below the guarded until", "claim-begins-above-what-was-stamped", "unique"},
		{"the new bound is used before its acknowledgement", "bound-is-used-once-it-is-acknowledged", "bounded"},
		{"the new bound is used before its acknowledgement", "process-stopped-with-requests-under-way", "unique"},
		{"tick <= until", "until-is-exclusive", "bounded"},
		{"same owner name", "same-name-does-not-resume", "unique"},
		{"a blind release lowers until", "release-leaves-its-successor-alone", "monotone"},
		{"lowering while still issuing", "nothing-is-issued-after-the-seal", "bounded"},
		{"lowering while still issuing", "process-asked-to-end-while-its-extension-is-open", "bounded"},
		{"lowering below the term's floor", "release-leaves-until-above-what-was-stamped", "monotone"},
		{"the proposed bound is adopted", "unanswered-extension-gives-no-tick", "bounded"},
		{"a version is reused after a rollback", "version-is-used-once", "unique"},
		{"on a lossy store, a bound is used", "lossy-store-bound-is-used-once-confirmed", "unique"},
		{"on a lossy store, a bound is used", "failover-within-the-loss-costs-no-id", "unique"},
		{"on a lossy store, a bound is used", "lossy-store-bound-of-a-lease-is-used-once-confirmed", "bounded"},
		{"on a lossy store, a bound is used", "lossy-store-issues-nothing-before-the-loss", "expect"},

		{"the bound is moved after it was used", "journal-on-a-disk-that-fails", "unique"},
		{"the page is consumed after ids were issued", "journal-goes-on-above-what-was-stamped", "unique"},
		{"a term is resumed below what was used", "journal-goes-on-above-what-was-stamped", "unique"},
		{"the release is sent before the journal is discarded", "journal-is-discarded-before-the-release", "bounded"},
		{"a copied page is taken", "copy-of-an-earlier-page-is-not-taken", "unique"},
		{"a failed fsync is ignored", "journal-on-a-disk-that-fails", "unique"},
		{"the bound is passed though", "journal-on-a-disk-that-fails", "unique"},
		{"a term is resumed on a store that loses more", "page-is-not-resumed-on-a-store-that-loses-more", "bounded"},
		{"a bound that is not confirmed counts as old", "resumed-bound-is-used-at-its-age", "bounded"},
		{"a resumed term is released", "resumed-term-is-released-above-what-was-used", "monotone"},
		{"the folder is not synced", "discarded-page-does-not-come-back", "bounded"},
		{"a page is kept though", "two-processes-in-one-journals-folder-repeat-nothing", "fenced"},
		{"a failed fsync is tried again", "failed-fsync-is-final", "unique"},

		{"any layout is accepted", "first-to-found-the-namespace-decides-its-layout", "layout"},
		{"the namespace's record is not compared", "claim-in-a-namespace-that-was-exchanged-issues-nothing", "layout"},

		{"the worker id is taken when its ticks are over", "order-is-kept-where-there-is-one-worker-id", "strict"},
		{"a generator issues up to its bound", "order-is-kept-where-there-is-one-worker-id", "strict"},
	}
}

// chances is how many seeds a scenario has to find the mutant that it is about,
// its own first. One is enough for nearly all of them.
const chances = 20

// TestScenariosFindTheMutantTheyAreAbout shows that the claims can fail: each mutant breaks the claims
// about it.
func TestScenariosFindTheMutantTheyAreAbout(t *testing.T) {
	t.Parallel()
	tests, all := aboutMutants(), slices.Concat(mutants(), journalMutants(), layoutMutants(), strictMutants())
	for _, m := range all {
		if !slices.ContainsFunc(tests, func(a aboutMutant) bool { return strings.HasPrefix(m.name, a.mutant) }) {
			t.Errorf("no scenario is about mutant %d, %s", m.number, m.name)
		}
	}
	for _, test := range tests {
		t.Run(test.mutant+"/"+test.scenario, func(t *testing.T) {
			at := slices.IndexFunc(all, func(m mutant) bool { return strings.HasPrefix(m.name, test.mutant) })
			if at < 0 {
				t.Fatal("there is no such mutant")
			}
			p := scenario(t, test.scenario)
			for range chances {
				if found := brokenBy(p, all[at], test.rule); found != "" {
					t.Logf("seed %d: %s", p.Seed, found)
					return
				}
				p.Seed++
			}
			t.Errorf("%d seeds did not break the rule %q", chances, test.rule)
		})
	}
}

// brokenBy runs a scenario with a mutant, and returns the finding or the missed expectation that breaks
// the rule; "" if the rule holds. The scenario must pass without the mutant.
func brokenBy(p Plan, m mutant, rule string) string {
	if r := Run(p, Config{}); len(r.Findings) > 0 || p.Check(r.Tally) != nil {
		return ""
	}
	r := Run(p, Config{bugs: m.bugs(), Collect: true})
	if err := p.Check(r.Tally); err != nil && rule == "expect" {
		return err.Error()
	}
	for _, f := range r.Findings {
		if f.Rule == rule {
			return f.String()
		}
	}
	return ""
}
