package source

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

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
