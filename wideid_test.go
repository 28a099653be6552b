package snowfence

import (
	"database/sql"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

const wideText = "01890a5d-ac96-874b-8000-0c0000000001"

func TestWideIDIsReadInEverySpelling(t *testing.T) {
	want, err := ParseWide(wideText)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{strings.ToUpper(wideText), strings.ReplaceAll(wideText, "-", ""), wideText[1:8] + strings.ReplaceAll(wideText[8:], "-", "")} {
		if got, err := ParseWide(text); err != nil || got != want {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "-", wideText + "0", wideText[:35], "{" + wideText[1:], strings.Replace(wideText, "-", "0", 1), "0g", "0x12", strings.Repeat("0", 33), strings.Repeat("-", 36)} {
		if got, err := ParseWide(text); !errors.Is(err, ErrInvalidID) || got != (WideID{}) {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
}

func TestWideIDGoesThroughJSONAndDatabases(t *testing.T) {
	id, err := ParseWide(wideText)
	if err != nil {
		t.Fatal(err)
	}
	written, err := json.Marshal(map[string]WideID{"id": id})
	if err != nil || string(written) != `{"id":"`+wideText+`"}` {
		t.Errorf("JSON is %s, %v", written, err)
	}
	var read map[string]WideID
	if err := json.Unmarshal(written, &read); err != nil || read["id"] != id {
		t.Errorf("read from JSON: %v, %v", read, err)
	}
	for _, text := range []string{"null", "7", `"x"`, `""`, "[]"} {
		got := struct{ W WideID }{id} // used before
		if err := json.Unmarshal([]byte(`{"W":`+text+`}`), &got); !errors.Is(err, ErrInvalidID) {
			t.Errorf("read from JSON %s: %v, %v", text, got, err)
		}
	}
	var none struct{ W *WideID }
	if err := json.Unmarshal([]byte(`{"W":null}`), &none); err != nil || none.W != nil {
		t.Errorf("null for a pointer: %v, %v", none.W, err)
	}
	if v, err := id.Value(); err != nil || v != wideText {
		t.Errorf("value is %v, %v", v, err)
	}
	for _, src := range []any{wideText, []byte(wideText), id[:]} {
		var got WideID
		if err := got.Scan(src); err != nil || got != id {
			t.Errorf("scanned %v: %s, %v", src, got, err)
		}
	}
	for _, src := range []any{nil, int64(1), 1.5, "x", []byte{1}} {
		var got WideID
		if err := got.Scan(src); !errors.Is(err, ErrInvalidID) {
			t.Errorf("scanned %v: %s, %v", src, got, err)
		}
	}
	var null sql.Null[WideID]
	if err := null.Scan(nil); err != nil || null.Valid {
		t.Errorf("NULL: %v, %v", null, err)
	}
}

func FuzzWideIDIsReadAsItIsWritten(f *testing.F) {
	for _, text := range []string{wideText, strings.ToUpper(wideText), "507f1f77bcf86cd799439011", "0", "x", strings.Repeat("f", 32)} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		id, err := ParseWide(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidID) {
				t.Fatalf("%q: %v", text, err)
			}
			return
		}
		digits := strings.ToLower(strings.ReplaceAll(text, "-", ""))
		if got := strings.ReplaceAll(id.String(), "-", ""); strings.TrimLeft(got, "0") != strings.TrimLeft(digits, "0") {
			t.Fatalf("%q is read as %s", text, id)
		}
		if again, err := ParseWide(id.String()); err != nil || again != id {
			t.Fatalf("%s is read as %s, %v", id, again, err)
		}
	})
}

// TestNoTextOfAWideIDIsTakenForItsBytes scans texts as MySQL's driver gives them.
func TestNoTextOfAWideIDIsTakenForItsBytes(t *testing.T) {
	for random := range 62 {
		layout := Layout{Unit: time.Millisecond, Epoch: time.Unix(0, 0), Wide: true}
		layout.Fields = []Field{{Kind: Time, Bits: 41}, {Kind: Sequence, Bits: 1}, {Kind: Random, Bits: random + 1}}
		if err := layout.Validate(); err != nil {
			t.Fatal(err)
		}
		id, err := layout.ComposeWide(Parts{Tick: 1<<41 - 1, Sequence: 1})
		if err != nil {
			t.Fatal(err)
		}
		var got WideID
		if text := layout.Text(id); len(text) == len(id) {
			t.Errorf("%s: text %s has as many bytes as an id", layout, text)
		} else if err := got.Scan([]byte(text)); err != nil || got != id {
			t.Errorf("%s: text %s is scanned as %x, %v, want %x", layout, text, got, err, id)
		}
	}
}
