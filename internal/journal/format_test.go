package journal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/disk"
)

func testEntry() entry {
	return entry{
		Number: 7, Place: Place{Boot: "b"},
		Other: disk.Stamp{Device: 3, Inode: 12, Changed: time.Date(2026, 3, 1, 0, 0, 0, 123456789, time.UTC)},
		Page:  `{"format":1}`,
	}
}

func TestEntryIsReadAsItWasWritten(t *testing.T) {
	want := testEntry()
	b, err := want.encode()
	if err != nil {
		t.Fatal(err)
	}
	for _, rest := range []string{"", "the rest of a longer one"} {
		if got, err := decode(append(bytes.Clone(b), rest...)); err != nil || got != want {
			t.Errorf("read as %+v, %v", got, err)
		}
	}
	want.Page = strings.Repeat("x", maxFile)
	if _, err := want.encode(); err == nil {
		t.Error("a page is written that can't be read")
	}
}

func TestFileThatThisProgramDidNotWriteIsRefused(t *testing.T) {
	good, err := testEntry().encode()
	if err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := bytes.Clone(good)
		bad[i] ^= 4
		if e, err := decode(bad); err == nil {
			t.Fatalf("with another byte %d it is read as %+v", i, e)
		}
		if e, err := decode(good[:i]); err == nil {
			t.Fatalf("cut short at %d it is read as %+v", i, e)
		}
	}
	for name, change := range map[string]func([]byte){
		"newer program": func(b []byte) { b[7] = 2 },
		"not a journal": func(b []byte) { b[0] = 'X' },
		"torn":          func(b []byte) { b[20] ^= 1 },
	} {
		bad := bytes.Clone(good)
		change(bad)
		if _, err := decode(bad); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

func FuzzFileIsAnEntryOrAnError(f *testing.F) {
	good, err := testEntry().encode()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(append(bytes.Clone(good), 1, 2, 3))
	f.Fuzz(func(t *testing.T, b []byte) {
		e, err := decode(b)
		if err != nil {
			return
		}
		again, err := e.encode()
		if err != nil {
			return // a page that is longer once it is quoted anew
		}
		if f, err := decode(again); err != nil || f.Number != e.Number || f.Page != e.Page || !untouched(f.Other, e.Other) {
			t.Fatalf("%+v is read as %+v, %v", e, f, err)
		}
	})
}
