package text_test

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"snowfence.example/snowfence/internal/text"
)

func TestNumbersAreWrittenWithCommas(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 12345: "12,345", 999_999: "999,999", 1_000_000: "1,000,000",
		-1: "-1", -999: "-999", -1000: "-1,000", math.MinInt64: "-9,223,372,036,854,775,808",
	} {
		if got := text.Grouped(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := text.Grouped(uint64(math.MaxUint64)); got != "18,446,744,073,709,551,615" {
		t.Error(got)
	}
}

func TestOneThingHasNoPlural(t *testing.T) {
	for n, want := range map[int]string{0: "0 ids", 1: "1 id", 2: "2 ids", 1500: "1,500 ids"} {
		if got := text.Count(n, "id"); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if text.Plural(1, "is", "are") != "is" || text.Plural(0, "is", "are") != "are" {
		t.Error("the word does not go with the number")
	}
}

func TestBytesAreWrittenInTheLargestUnit(t *testing.T) {
	for n, want := range map[uint64]string{
		0: "0 bytes", 1: "1 byte", 1023: "1,023 bytes", 1024: "1.0 KiB", 1536: "1.5 KiB", 1 << 20: "1.0 MiB", 3 << 29: "1.5 GiB", 1 << 40: "1.0 TiB", 1 << 60: "1048576.0 TiB",
	} {
		if got := text.Bytes(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
}

func TestBytesAreReadInTheirUnit(t *testing.T) {
	for in, want := range map[string]int64{"512": 512, "512MiB": 512 << 20, "2G": 2 << 30, "1.5GB": 1_500_000_000, "1 KiB": 1024, "3tb": 3e12, "7B": 7} {
		if got, err := text.ParseBytes(in); err != nil || got != want {
			t.Errorf("%q: %d, %v, want %d", in, got, err, want)
		}
	}
	for _, in := range []string{"", "MiB", "-1", "1XB", "1e99", "9999999999T", "1..5G"} {
		if got, err := text.ParseBytes(in); err == nil || !strings.Contains(err.Error(), "512MiB") {
			t.Errorf("%q: %d, %v", in, got, err)
		}
	}
}

func TestMessagesHaveNoPrefix(t *testing.T) {
	err := errors.Join(errors.New("snowfence: one"), errors.New("two snowfence: stays"), errors.New("snowfence: three"))
	if got := text.Message(err); got != "one\ntwo snowfence: stays\nthree" {
		t.Errorf("%q", got)
	}
}

func TestRangesAreSortedAndJoined(t *testing.T) {
	for in, want := range map[string]string{
		"7": "[7]", "9,3,2,4,9,7": "[2-4 7 9]", "0-3,8": "[0-3 8]", "8,0-3,4-5,2": "[0-5 8]", "1,1,1": "[1]", "5-9,6": "[5-9]", "3,1": "[1 3]",
	} {
		ranges, err := text.ParseRanges(in)
		if got := fmt.Sprint(ranges); err != nil || got != want {
			t.Errorf("%q: %s, %v, want %s", in, got, err, want)
		}
	}
	for in, part := range map[string]string{"": "", "1-": "1-", "-1": "-1", "0,3-1": "3-1", "1,,2": "", "1,x": "x", "+1": "+1", "0-9223372036854775807": "0-9223372036854775807"} {
		_, err := text.ParseRanges(in)
		var wrong *text.RangeError
		if !errors.As(err, &wrong) || wrong.Part != part || wrong.Limit == "" {
			t.Errorf("%q: %v", in, err)
		}
	}
}

func TestLongListsAreCutShort(t *testing.T) {
	ranges, err := text.ParseRanges("0-3,8,10")
	if err != nil {
		t.Fatal(err)
	}
	for most, want := range map[int]string{1: "0-3, and 2 more", 2: "0-3, 8, and 1 more", 3: "0-3, 8, 10", 9: "0-3, 8, 10"} {
		if got := text.List(ranges, most); got != want {
			t.Errorf("%d: %q, want %q", most, got, want)
		}
	}
	if got := text.List([]int{}, 3); got != "none" {
		t.Errorf("%q", got)
	}
}

func FuzzParseRanges(f *testing.F) {
	for _, seed := range []string{"0", "0-31,40", "3-1", "1-", "-1", "0-9223372036854775807", "4611686018427387903-4611686018427387903", "1,,2"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		ranges, err := text.ParseRanges(in)
		if (err == nil) != (len(ranges) > 0) {
			t.Fatalf("%q: %v, %v", in, ranges, err)
		}
		for i, r := range ranges {
			if r.First < 0 || r.Last < r.First || i > 0 && r.First <= ranges[i-1].Last+1 {
				t.Fatalf("%q: %v", in, ranges)
			}
		}
	})
}

func TestWordsToChooseFromAreJoinedByOr(t *testing.T) {
	type word string
	for want, words := range map[string][]word{"": nil, "a": {"a"}, "a or b": {"a", "b"}, "a, b or c": {"a", "b", "c"}} {
		if got := text.Or(text.Strings(words)); got != want {
			t.Errorf("%v: %q, want %q", words, got, want)
		}
	}
}
