package source

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"snowfence.example/snowfence"
)

// TestWhatIsNotUnderstoodWholeIsRefused is about files that programs misread: the ids in them would be lost, or
// other numbers be read, and the answer be that all are different.
func TestWhatIsNotUnderstoodWholeIsRefused(t *testing.T) {
	for _, x := range []struct {
		content string
		options Options
		message string // part of it
	}{
		// Rows that are not as long as the first: a separator in a name moves the columns.
		{"name,qty,id\nSmith, John,7,117250214228971539\n", Options{Column: "id"}, "line 2: invalid id \"Smith, John,7,117250214228971539\": CSV: has 4 fields, and line 1 has 3"},
		{"id,name\n7,a\n8\n", Options{Column: "id"}, "line 3: invalid id \"8\": CSV: has 1 field, and line 1 has 2"},
		{"7,a\n8,a,b\n", Options{Column: "1"}, "line 2: invalid id \"8,a,b\": CSV: has 3 fields, and line 1 has 2"},
		{"id\tname\n\t\n", Options{Column: "id"}, "line 2"},
		// Line ends.
		{"7\r8\r8\r", Options{}, "tr '\\r' '\\n'"},
		{"# ids\r7\r7\r\n8\n", Options{}, "line 1"},
		{"7\u00858\n", Options{}, "must end in LF"},
		{"# x\u20287\u20287\n8\n", Options{}, "line 1"},
		{"id,x\r7,a\r7,b\r\n8,c\n", Options{Column: "id"}, "line 1"},
		{"id,x\n7,a\r8\n", Options{Column: "id"}, "has a line end within"},
		{"id,x\n7,\"a\"\r\"8\n", Options{Column: "id"}, "line 2"},
		{"id,x\n7,a\u20288\n", Options{Column: "id"}, "has a line end within"},
		// Numbers as a spreadsheet shows them, and words.
		{"1.17E+17\n", Options{}, "as a spreadsheet shows it"},
		{"1E17\n1E17\n", Options{}, "as a spreadsheet shows it"},
		{"117,250,214,228,971,539\n", Options{}, "as a spreadsheet shows it"},
		{"'117250214228971539\n", Options{}, "as a spreadsheet shows it"},
		{"117250214228971539.0\n", Options{}, "as a spreadsheet shows it"},
		{"id;x\n1,17E+17;y\n", Options{Column: "id"}, "as a spreadsheet shows it"},
		{"id\n\"117.250.214\"\n", Options{Column: "id"}, "as a spreadsheet shows it"},
		{"bad\nface\n", Options{}, "may be hex, but has less than 16 digits: write 0xbad"},
		{"id\ncafe\n", Options{Column: "id"}, "may be hex"},
		{"\xff\xfe7\x00\n\x007\x00\n\x00", Options{}, "it looks like no text"}, // UTF-16
		{"\xff\xfe7\x00\n\x00", Options{Column: "1"}, "line 1"},
		{"\x04\x22\x4d\x18xxxx", Options{}, "it looks like no text"}, // lz4
		{"\x28\xb5\x2f\xfdxxxx", Options{}, "zstd: "},
	} {
		items, err := readAll(t, strings.NewReader(x.content), x.options, 100)
		if err == nil || !strings.Contains(err.Error(), x.message) {
			t.Errorf("%q: %s, %v, want %q", x.content, shown(items), err, x.message)
		}
		if !errors.Is(err, snowfence.ErrInvalidID) && !errors.As(err, new(UsageError)) && !strings.Contains(x.message, ": ") {
			t.Errorf("%q: %v is no error of ids", x.content, err)
		}
	}
}

func TestPackedFilesAreReadToTheirEnd(t *testing.T) {
	const ids = "117250214228971539\n117250214228971540\n"
	content := strings.Repeat(ids, 5000)
	zipped := func(content string) []byte {
		w, err := zstd.NewWriter(nil)
		if err != nil {
			t.Fatal(err)
		}
		return w.EncodeAll([]byte(content), nil)
	}
	for name, whole := range map[string][]byte{"gzip": compressed(t, content), "zstd": zipped(content)} {
		for _, size := range []int{len(whole), 2 * len(whole)} { // two streams in one file, too
			items, err := readAll(t, bytes.NewReader(append(whole, whole...)[:size]), Options{}, 1000)
			if len(items) != 10_000*size/len(whole) || err != nil {
				t.Errorf("%s: %d ids, %v", name, len(items), err)
			}
		}
		for _, tail := range []string{"x", "xx", "seven\r\n"} {
			if _, err := readAll(t, strings.NewReader(string(whole)+tail), Options{}, 1000); err == nil || !strings.Contains(err.Error(), "or other bytes follow its end") {
				t.Errorf("%s and %q: %v", name, tail, err)
			}
		}
		for _, broken := range [][]byte{whole[:len(whole)-3], whole[:len(whole)/2], append(bytes.Clone(whole), "7\n7 and more than a header\n"...), append(bytes.Clone(whole), 0, 0)} {
			if _, err := readAll(t, bytes.NewReader(broken), Options{}, 1000); err == nil || !strings.Contains(err.Error(), name+": ") {
				t.Errorf("%s, %d of %d bytes: %v", name, len(broken), len(whole), err)
			}
		}
	}
}
