package source

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"snowfence.example/snowfence/daemon/config"
)

// TestLookTellsWhatOpenWould looks at sources that can't be opened, and opens them. A possible
// password stays hidden.
func TestLookTellsWhatOpenWould(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	odd := in("ids#colum=1")
	if err := os.WriteFile(odd, []byte("7\n8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	query := Options{Query: "SELECT 1", Stdin: strings.NewReader(""), Expand: expand()}
	for _, x := range []struct {
		name    string
		options Options
		want    string
	}{
		{odd, query, ""},
		{"-", query, ""},
		{os.DevNull, query, ""},
		{in("ids2"), query, "no such file"},
		{dir, query, "is a directory"},
		{"redis://h/0", query, "ids are read from"},
		{"postgres://me:hush@h/d", Options{}, "needs a statement"},
		{"mysql://me:${NOT_SET}@h/d", query, "variable NOT_SET is not set or empty"},
		{in("b#1"), query, "b#1: no such file"},
		{in("b\x1b[2J"), query, `b\x1b[2J": no such file`},
		{"postgres://me:hush#sesame=open@h/d", Options{}, "needs a statement"},
	} {
		err := Look(x.name, x.options)
		if x.want == "" && err != nil {
			t.Errorf("%s: %v", x.name, err)
		}
		if x.want == "" {
			continue
		}
		_, opened := Open(t.Context(), x.name, x.options)
		for _, err := range []error{err, opened} {
			if err == nil || !strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "hush") || strings.Contains(err.Error(), "sesame") || strings.Contains(err.Error(), "\x1b") {
				t.Errorf("%q: %v, want %s", x.name, err, x.want)
			}
		}
	}
}

// TestRecordMayBeLongerThanTheBuffer has a packed file with lines and records that are longer than what is
// read at a time.
func TestRecordMayBeLongerThanTheBuffer(t *testing.T) {
	long := strings.Repeat(" ", maxLine-100)
	content := "1\n" + long + "2\n" + strings.Repeat("3\n", 100_000) + "\"4" + strings.Repeat("\n", maxLine/2) + "\"\n" + long + "5"
	path := filepath.Join(t.TempDir(), "ids.gz")
	if err := os.WriteFile(path, compressed(t, content), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{Column: "1"})
	if err != nil {
		t.Fatal(err)
	}
	items, err := drain(t, s, 1000)
	sum := uint64(0)
	for _, i := range items {
		sum += uint64(i.ID)
	}
	if err != nil || sum != 1+2+300_000+4+5 {
		t.Errorf("%v: sum %d", err, sum)
	}
}

// expand fills in variables as the program does.
func expand(environ ...string) func(string) (string, error) {
	return func(url string) (string, error) { return config.Expand(url, environ) }
}

func compressed(t testing.TB, content string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	_, err := z.Write([]byte(content))
	if err := cmp.Or(err, z.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestClosedTableKeepsNoBuffer(t *testing.T) {
	path := filepath.Join(t.TempDir(), "ids.csv")
	if err := os.WriteFile(path, []byte("1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{Column: "1"})
	if err != nil {
		t.Fatal(err)
	}
	if items, err := drain(t, s, 1); err != nil || len(items) != 1 {
		t.Errorf("%v, %v", items, err)
	}
	if c := s.(*reader).scanner.(*table); c.csv != nil || c.Reader != nil {
		t.Error("its buffers are kept after its end")
	}
}
