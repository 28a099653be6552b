package sim

import (
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/sim/trace"
)

// modelled returns the plan of a seed without what the model leaves out: operators, borrowers, clones, stores that
// forget more than they declare, and two machines with one folder for their journals.
func modelled(seed uint64) Plan {
	p := Draw(seed)
	p.Rough, p.Borrowers, p.Shared = true, 0, false
	p.Faults = slices.DeleteFunc(p.Faults, func(f Fault) bool {
		switch f.Kind {
		case Quarantine, Vacate, Raise, Clone, Fork, Rollback, Refound, Lossy:
			return true
		}
		return f.Node >= p.Nodes
	})
	return p
}

// judge runs a plan and returns the model's first refusal. It counts the steps that the model takes.
func judge(p Plan, b bugs, counts map[trace.Kind]int) (findings []Finding, err error) {
	m := trace.NewModel(p.Loss)
	r := Run(p, Config{bugs: b, Steps: func(s trace.Step) {
		if err == nil {
			err = m.Take(s)
			counts[s.Kind]++
		}
	}})
	return r.Findings, err
}

func TestModelAcceptsTheTracesOfDrawnPlans(t *testing.T) {
	t.Parallel()
	var durable, lossy, journals int
	counts := make(map[trace.Kind]int)
	for seed := range uint64(200) {
		p := modelled(seed)
		switch {
		case p.Journals:
			journals++
		case p.Loss > 0:
			lossy++
		default:
			durable++
		}
		findings, err := judge(p, bugs{}, counts)
		if err != nil || len(findings) > 0 {
			t.Errorf("seed %d: %v %v", seed, err, findings)
		}
	}
	for kind := trace.Remark; kind <= trace.Resume; kind++ {
		if counts[kind] < 50 {
			t.Errorf("there are only %d steps of kind %d", counts[kind], kind)
		}
	}
	t.Logf("%d durable plans, %d lossy ones, %d with journals: %v", durable, lossy, journals, counts)
}

func TestModelRefusesEachPlantedBug(t *testing.T) {
	t.Parallel()
	guards := map[string]string{
		"the store compares the term only and writes blindly": "Wire: !stands[w]",
		"the floor is below the guarded until":                "claims: nxt[i] = t;",
		"the new bound is used before its acknowledgement":    "grant: until[b] > use[i]",
		"tick <= until": "grant: until[b] > use[i]",
		"same owner name, so resume after a restart":               "stamps: CAN_STAMP",
		"a blind release lowers until":                             "releases: send(RELEASE, ver[i], u)",
		"lowering while still issuing":                             "stamps: CAN_STAMP",
		"lowering below the term's floor":                          "releases: u = RELEASED;",
		"the proposed bound is adopted after an unknown outcome":   "grant: until[b] > use[i]",
		"a version is reused after a rollback":                     "Failover: STRIKE(w);",
		"on a lossy store, a bound is used before it is confirmed": "grant: until[b] > use[i]",

		"the bound is moved after it was used":                                   "journal: begins at its used",
		"the page is consumed after ids were issued":                             "stamps: CAN_STAMP",
		"a term is resumed below what was used":                                  "journal: begins at its used",
		"the release is sent before the journal is discarded":                    "journal: The page is discarded before",
		"a copied page is taken":                                                 "journal: begins at its used",
		"a failed fsync is ignored":                                              "journal: begins at its used",
		"the bound is passed though a failed page could not be removed":          "journal: begins at its used",
		"a bound that is not confirmed counts as old once it is resumed":         "grant: until[b] > use[i]",
		"a resumed term is released at the register's floor":                     "releases: u = RELEASED;",
		"the folder is not synced when the page is discarded":                    "journal: begins at its used",
		"a failed fsync is tried again and then counts as good":                  "journal: begins at its used",
		"a term is resumed on a store that loses more than it was confirmed for": "", // no modelled store begins to lose
		"a page is kept though somebody else took its files":                     "", // no two modelled machines have one folder
	}
	for _, m := range slices.Concat(mutants(), journalMutants()) {
		guard, known := guards[m.name]
		if known && guard == "" {
			continue
		}
		t.Run(m.name, func(t *testing.T) {
			for seed := range uint64(100) {
				p := modelled(seed)
				p.Journals = p.Journals || m.journal
				if m.shape != nil {
					m.shape(&p)
				}
				_, err := judge(p, m.bugs(), make(map[trace.Kind]int))
				if err == nil {
					continue
				}
				if !strings.Contains(err.Error(), "refused by "+guard) || !known {
					t.Errorf("seed %d: %v", seed, err)
				}
				t.Logf("seed %d: %v", seed, err)
				if _, err := judge(p, bugs{}, make(map[trace.Kind]int)); err != nil {
					t.Errorf("seed %d, without the bug: %v", seed, err)
				}
				return
			}
			t.Error("the model accepts 100 traces")
		})
	}
}
