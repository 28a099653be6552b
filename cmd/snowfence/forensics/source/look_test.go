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

// TestLookTellsWhatOpenWould looks at sources that can't be opened.
func TestLookTellsWhatOpenWould(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "ids")
	if err := os.WriteFile(path, []byte("7\n8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		name    string
		options Options
		size    int64
		want    string
	}{
		{path, Options{}, 4, ""},
		{"-", Options{}, 0, ""},
		{os.DevNull, Options{}, 0, ""},
		{"postgres://me:secret@h/d", Options{Query: "SELECT 1"}, 0, ""},
		{path + "2", Options{}, 0, "no such file"},
		{dir, Options{}, 0, "is a directory"},
		{"redis://h/0", Options{}, 0, "ids are read from"},
		{"postgres://me:secret@h/d", Options{}, 0, "needs --table and --column, or --query"},
		{"mysql://me:${NOT_SET}@h/d", Options{Query: "SELECT 1", Expand: expand()}, 0, "variable NOT_SET is not set or empty"},
	} {
		size, err := Look(x.name, x.options)
		if size != x.size || (err == nil) != (x.want == "") || err != nil && (!strings.Contains(err.Error(), x.want) || strings.Contains(err.Error(), "secret")) {
			t.Errorf("%s: %d, %v, want %d, %s", x.name, size, err, x.size, x.want)
		}
		if x.want == "" {
			continue
		}
		s, opened := Open(t.Context(), x.name, x.options)
		if opened == nil {
			t.Errorf("%s: is opened", x.name)
			_ = s.Close()
		}
	}
}

// TestSmallFileTakesLittleRoom holds much more than its size says, with lines and
// records that are longer than what is read at a time.
func TestSmallFileTakesLittleRoom(t *testing.T) {
	long := strings.Repeat(" ", maxLine-100)
	content := "1\n" + long + "2\n" + strings.Repeat("3\n", 100_000) + "\"" + strings.Repeat("x\n", maxLine/4) + "\",4\n" + long + "5"
	path := filepath.Join(t.TempDir(), "ids.gz")
	if err := os.WriteFile(path, compressed(t, content), 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), path, Options{Column: "1", SkipInvalid: true})
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := s.(*reader).scanner.(*table); !ok || c.Size() > 16*leastBuffer {
		t.Errorf("a small file begins with a buffer of %d bytes", c.Size())
	}
	items, err := drain(t, s, 1000)
	sum := uint64(0)
	for _, i := range items {
		sum += uint64(i.ID)
	}
	if skipped, _ := s.Skipped(); err != nil || sum != 1+2+300_000+5 || skipped != 1 || s.Done() == 0 {
		t.Errorf("%v: sum %d, %d skipped", err, sum, skipped)
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
