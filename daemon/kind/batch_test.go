package kind_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// fill adds n ids of a form to the batch, numbered from first.
func fill(t testing.TB, b *kind.Batch, form kind.Form, first, n int) {
	t.Helper()
	var err error
	switch form {
	case kind.Number:
		var room []snowfence.ID
		room, err = b.GrowNumbers(n)
		for i := range room {
			room[i] = snowfence.ID(first + i)
		}
	case kind.Wide:
		var room []snowfence.WideID
		room, err = b.GrowWides(n)
		for i := range room {
			room[i] = snowfence.WideID{15: byte(first + i)}
		}
	case kind.Text:
		for i := range n {
			if err = b.AppendText(fmt.Appendf(nil, "t-%d", first+i)); err != nil {
				break
			}
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func texts(b *kind.Batch) []string {
	var all []string
	for text := range b.Texts() {
		all = append(all, string(text))
	}
	return all
}

var forms = []kind.Form{kind.Number, kind.Wide, kind.Text}

func TestEveryFormHasItsText(t *testing.T) {
	for form, want := range map[kind.Form][]string{
		kind.Number: {"7", "8"},
		kind.Wide:   {"00000000-0000-0000-0000-000000000007", "00000000-0000-0000-0000-000000000008"},
		kind.Text:   {"t-7", "t-8"},
	} {
		var b kind.Batch
		fill(t, &b, form, 7, 2)
		if got := texts(&b); !slices.Equal(got, want) || b.Form() != form || b.Len() != 2 {
			t.Errorf("%v: texts are %q, want %q; form is %v, length %d", form, got, want, b.Form(), b.Len())
		}
		fill(t, &b, form, 9, 300) // more than there is room for
		if got := texts(&b); len(got) != 302 || !slices.Equal(got[:2], want) {
			t.Errorf("%v: %d ids beginning with %q, want 302 beginning with %q", form, len(got), got[:2], want)
		}
		for _, i := range []int{-1, b.Len()} {
			if got := b.AppendID([]byte("x"), i); string(got) != "x" {
				t.Errorf("%v: id %d is %q, want nothing", form, i, got)
			}
		}
	}
}

func TestTruncateDropsFromTheEnd(t *testing.T) {
	for _, form := range forms {
		for _, n := range []int{-1, 0, 1, 2, 3, 4} {
			var b kind.Batch
			fill(t, &b, form, 0, 3)
			want := texts(&b)[:min(max(n, 0), 3)]
			b.Truncate(n)
			if got := texts(&b); !slices.Equal(got, want) {
				t.Errorf("%v: truncated to %d: %q, want %q", form, n, got, want)
			}
			fill(t, &b, form, 9, 1)
			if b.Len() != len(want)+1 {
				t.Errorf("%v: after one more: %d ids, want %d", form, b.Len(), len(want)+1)
			}
		}
	}
}

func TestFormsDoNotMix(t *testing.T) {
	add := map[kind.Form]func(*kind.Batch) error{
		kind.Number: func(b *kind.Batch) error { _, err := b.GrowNumbers(1); return err },
		kind.Wide:   func(b *kind.Batch) error { _, err := b.GrowWides(1); return err },
		kind.Text:   func(b *kind.Batch) error { return b.AppendText([]byte("x")) },
	}
	for _, first := range forms {
		for _, second := range forms {
			var b kind.Batch
			fill(t, &b, first, 0, 1)
			if err := add[second](&b); errors.Is(err, kind.ErrForm) != (first != second) {
				t.Errorf("%v after %v: error is %v", second, first, err)
			}
			b.Reset()
			if err := add[second](&b); err != nil || b.Form() != second {
				t.Errorf("%v after a reset of %v: form is %v, error %v", second, first, b.Form(), err)
			}
		}
	}
}

func TestTextNeedsNoEscapingAnywhere(t *testing.T) {
	for text, ok := range map[string]bool{
		"a": true, "ORDER-2026/11/20:0001~!": true, strings.Repeat("x", kind.MaxText): true,
		"": false, strings.Repeat("x", kind.MaxText+1): false, "a b": false, "a\nb": false, `a"b`: false, `a\b`: false, "é": false, "\x7f": false, "\x00": false,
	} {
		var b kind.Batch
		err := b.AppendText([]byte(text))
		if (err == nil) != ok || err != nil && (!errors.Is(err, kind.ErrText) || b.Len() != 0) {
			t.Errorf("%q: error is %v, and %d texts are added", text, err, b.Len())
		}
	}
}

func TestBatchKeepsACopyOfText(t *testing.T) {
	var b kind.Batch
	text := []byte("one")
	if err := b.AppendText(text); err != nil {
		t.Fatal(err)
	}
	copy(text, "two")
	if got := b.AppendID(nil, 0); !bytes.Equal(got, []byte("one")) {
		t.Errorf("text is %q, want one", got)
	}
}

func TestUsedBatchAllocatesNothing(t *testing.T) {
	text := []byte("a-text-id")
	var b kind.Batch
	var dst []byte
	for _, form := range forms {
		run := func() {
			b.Reset()
			switch form {
			case kind.Number:
				_, _ = b.GrowNumbers(1000)
			case kind.Wide:
				_, _ = b.GrowWides(1000)
			case kind.Text:
				for range 1000 {
					_ = b.AppendText(text)
				}
			}
			dst = dst[:0]
			for i := range b.Len() {
				dst = b.AppendID(dst, i)
			}
		}
		run()
		if n := testing.AllocsPerRun(10, run); n != 0 {
			t.Errorf("%v: %v allocations for 1000 ids, want none", form, n)
		}
	}
}

func BenchmarkAppendID(b *testing.B) {
	for _, form := range forms {
		b.Run(form.String(), func(b *testing.B) {
			var batch kind.Batch
			fill(b, &batch, form, 1<<40, 1000)
			dst := make([]byte, 0, 64)
			for i := 0; b.Loop(); i++ {
				dst = batch.AppendID(dst[:0], i%1000)
			}
		})
	}
}

func TestRangesAreRunsOfNumbersThatFollowEachOther(t *testing.T) {
	for _, test := range []struct {
		numbers []snowfence.ID
		want    string
	}{
		{nil, ""},
		{[]snowfence.ID{7}, "7+1 "},
		{[]snowfence.ID{7, 8, 9, 20, 22, 23}, "7+3 20+1 22+2 "},
		{[]snowfence.ID{math.MaxInt64 - 1, math.MaxInt64, 0}, "9223372036854775806+2 0+1 "},
	} {
		var b kind.Batch
		room, err := b.GrowNumbers(len(test.numbers))
		if err != nil {
			t.Fatal(err)
		}
		copy(room, test.numbers)
		got := ""
		for first, n := range b.Ranges() {
			got += fmt.Sprintf("%d+%d ", int64(first), n)
		}
		if got != test.want {
			t.Errorf("%v: %q, want %q", test.numbers, got, test.want)
		}
		for range b.Ranges() {
			break // a caller may stop early
		}
	}
}
