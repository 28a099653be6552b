package idsource

import (
	"encoding/csv"
	"errors"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

// TestQuoteWithinAFieldOpensNothing would lose the lines up to the next quote
// otherwise, and the duplicates in them.
func TestQuoteWithinAFieldOpensNothing(t *testing.T) {
	for _, x := range []struct{ content, want string }{
		{"id,x\n1,5\" pipe\n2,a\n2,7\" pipe\n", "1@2 2@3 2@4"},
		{"id,x\n1,5\"\n2,\"\"\n3,\"\"\"\"\n4,\"a\n\"\n5,\n", "1@2 2@3 3@4 4@5 5@7"},
		{"x,id\na\"b,1\n\"a,b\" ,2\nc,\"3\" \n", "1@2 2@3 3@4"},
		{"\xef\xbb\xbf\"a\nb\",id\n1,2\n", "2@3"},
	} {
		for _, size := range []int{1, 100} {
			if items, _, err := readAll(t, strings.NewReader(x.content), Options{Column: "id"}, size); shown(items) != x.want || err != nil {
				t.Errorf("%q: %s, %v, want %s", x.content, shown(items), err, x.want)
			}
		}
	}
}

// TestRecordOfTSVIsOneLine has what programs write that never quote. The row within the quotes would be lost otherwise.
func TestRecordOfTSVIsOneLine(t *testing.T) {
	for content, place := range map[string]string{
		"id\tname\n1\t\"a\n1\tb\"\n2\tc\n": "line 2",
		"id\tname\n1\ta\n2\t\"c\n":         "line 3",
		"id\t\"name\n\"1\ta\n":             "line 1",
	} {
		for _, skip := range []bool{false, true} { // the lines behind it may be a part of it
			items, _, err := readAll(t, strings.NewReader(content), Options{Column: "id", Separator: '\t', SkipInvalid: skip}, 10)
			var invalid *InvalidError
			if !errors.As(err, &invalid) || invalid.Place != place || !strings.Contains(err.Error(), "one line") {
				t.Errorf("%q: %s, %v", content, shown(items), err)
			}
		}
	}
	items, _, err := readAll(t, strings.NewReader("id\tname\n\"1\"\t\"a\tb\"\n2\t5\" pipe\n"), Options{Column: "id", Separator: '\t'}, 10)
	if shown(items) != "1@2 2@3" || err != nil {
		t.Errorf("quotes within a line: %s, %v", shown(items), err)
	}
}

func TestTextBehindAClosingQuoteIsRefused(t *testing.T) {
	for _, content := range []string{
		"id,x\n1,\"a\\\"b\"\n2,\n2,\"c\\\"d\"\n",
		"id,x\n1,\"a\" \"b\"\n2,\n2,\"c\"d\n",
		"id,x\n\"1\"0,a\n2,\n\"2\"0,\n",
	} {
		items, _, err := readAll(t, strings.NewReader(content), Options{Column: "id"}, 10)
		var invalid *InvalidError
		if !errors.As(err, &invalid) || !errors.Is(err, snowfence.ErrInvalidID) || invalid.Place != "line 2" || len(items) > 0 {
			t.Errorf("%q: %s, %v", content, shown(items), err)
		}
		items, skipped, err := readAll(t, strings.NewReader(content), Options{Column: "id", SkipInvalid: true}, 10)
		if shown(items) != "2@3" || skipped != 2 || err != nil {
			t.Errorf("%q: %s, %d skipped, %v", content, shown(items), skipped, err)
		}
	}
	_, _, err := readAll(t, strings.NewReader("\"id\"s,x\n1,2\n"), Options{Column: "x"}, 10)
	if !errors.Is(err, snowfence.ErrInvalidID) {
		t.Errorf("in a header: %v", err)
	}
}

// FuzzCSVAsTheStandardHasIt reads what package encoding/csv takes as it does.
func FuzzCSVAsTheStandardHasIt(f *testing.F) {
	for _, s := range []string{"1,2\n", "\"1\",\"a\n\"\"b\"\n2,c\n", "1,\"\"\r\n2,\" \"\n\n3,\n", "1,\"\n2,\"\n", "5,\"\",\"\"\"\"\n6,x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, content string) {
		if strings.Contains(strings.ReplaceAll(content, "\r\n", ""), "\r") || strings.HasPrefix(content, "\xef\xbb\xbf") {
			return // each has its own way with these
		}
		r := csv.NewReader(strings.NewReader(content))
		r.FieldsPerRecord = -1
		records, err := r.ReadAll()
		if err != nil {
			return
		}
		var want []string
		for _, record := range records {
			if first := strings.TrimSpace(record[0]); first != "" || len(record) > 1 {
				want = append(want, first)
			}
		}
		in, err := openInput(t.Context(), "-", Options{Stdin: strings.NewReader(content), Gzip: GzipNever})
		if err != nil {
			t.Fatal(err)
		}
		ours, err := newRecords(in, Options{Column: "1"})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for {
			if ours.next() != nil {
				break
			}
			r := &ours.record
			if r.stray {
				t.Errorf("%q: text behind a closing quote in %q", content, r.text)
			}
			if !r.blank() && (r.columns() > 1 || len(r.field(0)) > 0) {
				got = append(got, string(r.field(0)))
			}
		}
		if err := in.Close(); err != nil {
			t.Error(err)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", content, got, want)
		}
	})
}
