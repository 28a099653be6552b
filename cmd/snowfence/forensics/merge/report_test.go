package merge_test

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/idsort"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/cmd/snowfence/forensics/source"
)

// checked merges sides A, B, …: each has lines of ids, and issuers.
func checked(t *testing.T, ids []string, issuers ...*merge.Issuer) (*merge.Report, error) {
	t.Helper()
	c := merge.Config{Issuers: issuers, Shown: 10, Sort: idsort.Config{Temp: t.TempDir(), Sizes: idsort.Sizes{Chunk: 300, Page: 100, Workers: 1, Room: 1 << 20, Piece: 600}}}
	for n, lines := range ids {
		c.Sides = append(c.Sides, string(rune('A'+n)))
		if lines == "" {
			continue
		}
		c.Inputs = append(c.Inputs, merge.Input{Side: n, Input: idsort.Input{Open: func(ctx context.Context) (source.Source, error) {
			name, _, missing := strings.Cut(lines, " is missing")
			if !missing {
				name = "-"
			}
			o := source.Options{Encoding: "decimal", Stdin: strings.NewReader(strings.ReplaceAll(lines, " ", "\n"))}
			return source.Open(ctx, name, o)
		}}})
	}
	return merge.Check(t.Context(), c)
}

func TestVerdictIsTheWorstOfAllFindings(t *testing.T) {
	twitter := func(side, workers string) *merge.Issuer { return named(t, side, "layout:twitter#"+workers) }
	const none, possible = "none: no id clashes, of the ids and issuers that the sides name", "possible: ids can clash"
	old := func(side string) *merge.Issuer {
		i := named(t, side, "layout:default#3")
		i.Stretches[0].Open = ticks(0, -1)
		return i
	}
	apart := func(side string) *merge.Issuer { return named(t, side, "layout:default#7") }
	for _, x := range []struct {
		name    string
		ids     []string
		issuers []*merge.Issuer
		want    string
	}{
		{"ids that differ", []string{"1 2", "3 4"}, nil, none},
		{"ids of one side alone", []string{"1 2", ""}, nil, none},
		{"an id on two sides", []string{"1 2", "2 3"}, nil, "clash: 1 id is on more than one side"},
		{"an id on two of three sides", []string{"1 2 9", "3", "9 2"}, nil, "clash: 2 ids are on more than one side"},
		{"an id twice on one side", []string{"1 1", "2"}, nil, none},
		{"issuers that are apart", []string{"", ""}, []*merge.Issuer{twitter("A", "1"), twitter("B", "2")}, "none: no id can ever be issued twice"},
		{"issuers that are apart, and their ids", []string{"1", "2"}, []*merge.Issuer{twitter("A", "1"), twitter("B", "2")}, none},
		{"issuers that overlap", []string{"", ""}, []*merge.Issuer{twitter("A", "1"), twitter("B", "1")}, possible},
		{"issuers that overlap, and ids that clash", []string{"1", "1"}, []*merge.Issuer{twitter("A", "1"), twitter("B", "1")}, "clash: 1 id is on more than one side"},
		{"issuers of one side that overlap", []string{"", ""}, []*merge.Issuer{twitter("A", "1"), twitter("A", "1"), twitter("B", "2")}, possible},
		{"both", []string{"", ""}, []*merge.Issuer{twitter("A", "1"), twitter("A", "1"), twitter("B", "1")}, possible},
		{"a past that was not compared", []string{"", ""}, []*merge.Issuer{old("A"), old("B")}, possible},
		{"a past that was compared", []string{"1", "2"}, []*merge.Issuer{old("A"), old("B")}, none},
		{"a past within a side that was compared", []string{"1", "2"}, []*merge.Issuer{old("A"), old("A"), apart("B")}, none},
		{"a past within a side that has an id twice", []string{"1 1", "2"}, []*merge.Issuer{old("A"), old("A"), apart("B")}, possible},
		{"ids of a side whose issuer is not named", []string{"1", "2"}, []*merge.Issuer{twitter("B", "2")}, "unknown: the issuer of the ids of side A is not named, and others may issue them"},
	} {
		r, err := checked(t, x.ids, x.issuers...)
		if err != nil {
			t.Fatalf("%s: %v", x.name, err)
		}
		if verdict, _, _ := strings.Cut(x.want, ":"); r.Summary != x.want || string(r.Verdict) != verdict {
			t.Errorf("%s: %s, %q, want %q", x.name, r.Verdict, r.Summary, x.want)
		}
	}
}

// TestSideWithoutIDsOrWithRoundedOnesIsUnknown holds that a side without a comparison is called unknown.
func TestSideWithoutIDsOrWithRoundedOnesIsUnknown(t *testing.T) {
	rounded := strings.Repeat("117250214228971000 117250214228972000 ", 8)
	for _, x := range []struct{ a, b, want string }{
		{"1", "#none", "unknown: no ids were read of side B"},
		{"1", rounded, "unknown: ids of side B look rounded"},
	} {
		if r, err := checked(t, []string{x.a, x.b}); err != nil || r.Summary != x.want {
			t.Errorf("%s against %s: %q, %v, want %q", x.a, x.b, r.Summary, err, x.want)
		}
	}
}

func TestFaultOfASourceNamesItsSide(t *testing.T) {
	var wrong *merge.SideError
	_, err := checked(t, []string{"1 2", "/ids is missing"})
	if !errors.As(err, &wrong) || wrong.Side != "B" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%v", err)
	}
	if _, err = checked(t, []string{"1 x", "2"}); !errors.As(err, &wrong) || wrong.Side != "A" || !errors.Is(err, snowfence.ErrInvalidID) {
		t.Errorf("%v", err)
	}
}

// TestReportsAreJSONWhateverTheyHold: ids with the 64th bit, years beyond 9999, nothing
// at all.
func TestReportsAreJSONWhateverTheyHold(t *testing.T) {
	far := layout(t, "s41-seq12")
	for _, x := range []struct {
		ids     []string
		issuers []*merge.Issuer
		want    string
	}{
		{[]string{"18446744073709551615", "18446744073709551615"}, nil, `"id":"18446744073709551615"`},
		{[]string{"", ""}, nil, `"forecasts":[{"sides":["",""],"issuers":["",""],"outcome":"","possible_from":"12026-11-21`},
		{[]string{"4503599627370496000"}, []*merge.Issuer{merge.ForeignIssuer("A", merge.Foreign{Text: "far", Layout: far, Workers: nil}, now)}, `"datacenters":[],"unreadable":[]`},
	} {
		r, err := checked(t, x.ids, x.issuers...)
		if err != nil {
			t.Fatal(err)
		}
		r.Forecasts = append(r.Forecasts, merge.Forecast{FromNow: merge.Time{Time: now.AddDate(10_000, 0, 0)}})
		if text, err := json.Marshal(r); err != nil || !strings.Contains(string(text), x.want) {
			t.Errorf("%v: %v: %q is not in %s", x.ids, err, x.want, text)
		}
	}
}
