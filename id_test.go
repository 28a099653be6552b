package snowfence

import (
	"bytes"
	"database/sql"
	"database/sql/driver"
	"encoding"
	"encoding/gob"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
)

var (
	_ encoding.TextAppender      = ID(0)
	_ encoding.TextMarshaler     = ID(0)
	_ encoding.TextUnmarshaler   = (*ID)(nil)
	_ encoding.BinaryAppender    = ID(0)
	_ encoding.BinaryMarshaler   = ID(0)
	_ encoding.BinaryUnmarshaler = (*ID)(nil)
	_ json.Marshaler             = ID(0)
	_ json.Unmarshaler           = (*ID)(nil)
	_ json.Marshaler             = NullID{}
	_ json.Unmarshaler           = (*NullID)(nil)
	_ driver.Valuer              = ID(0)
	_ driver.Valuer              = NullID{}
	_ sql.Scanner                = (*ID)(nil)
	_ sql.Scanner                = (*NullID)(nil)
	_ slog.LogValuer             = ID(0)
	_ fmt.Stringer               = ID(0)
)

// sampleIDs are the ids at which the forms could go wrong: both ends, powers of
// the bases, and what a float64 can't hold.
func sampleIDs() []ID {
	ids := []ID{0, 1, 9, 10, 31, 32, 61, 62, 1 << 31, 1<<32 - 1, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1541815603606036480, MaxID - 1, MaxID}
	for n := ID(1); n < MaxID/62; n *= 62 {
		ids = append(ids, n-1, n, n+1)
	}
	return ids
}

// negativeIDs have the 64th bit set.
func negativeIDs() []ID { return []ID{-1, -2, math.MinInt64, math.MinInt64 + 1} }

// checkRefusal checks that err is an *IDError that names the text, the position
// and the reason.
func checkRefusal(t *testing.T, err error, text string, position int, reason string) {
	t.Helper()
	var refused *IDError
	if !errors.As(err, &refused) || !errors.Is(err, ErrInvalidID) {
		t.Fatalf("error is %v, want an *IDError that wraps ErrInvalidID", err)
	}
	if refused.Text != text || refused.Position != position || !strings.Contains(refused.Reason, reason) {
		t.Errorf("error is %+v, want text %q, position %d, a reason with %q", *refused, text, position, reason)
	}
	if !strings.Contains(err.Error(), reason) {
		t.Errorf("message %q lacks %q", err, reason)
	}
}

func TestIDHasOneSpellingOnly(t *testing.T) {
	for _, id := range sampleIDs() {
		if got, err := Parse(id.String()); err != nil || got != id {
			t.Errorf("Parse(%q) = %d, %v", id.String(), int64(got), err)
		}
	}
	for _, test := range []struct {
		text     string
		position int
		reason   string
	}{
		{"", -1, "is empty"},
		{"-1", 0, `'-' is no decimal digit`},
		{"1 ", 1, `' ' is no decimal digit`},
		{"01", 0, "leading zero"},
		{"0x10", 1, `'x' is no decimal digit`},
		{"1.0", 1, `'.' is no decimal digit`},
		{"١", 0, "is no decimal digit"},
		{"9223372036854775808", -1, "is above 9223372036854775807"},
		{"92233720368547758070", -1, "is above 9223372036854775807"},
	} {
		_, err := Parse(test.text)
		checkRefusal(t, err, test.text, test.position, test.reason)
	}
}

func TestErrorsCarryOnlyTheHeadOfALongText(t *testing.T) {
	_, err := Parse(strings.Repeat("7", 1<<20))
	checkRefusal(t, err, strings.Repeat("7", maxErrorText), -1, "is above")
}

func TestSixtyFourthBitIsReadOnlyWhereItIsAskedFor(t *testing.T) {
	for text, want := range map[string]ID{
		"0":                    0,
		"9223372036854775807":  MaxID,
		"9223372036854775808":  math.MinInt64,
		"18446744073709551615": -1,
	} {
		got, err := ParseUnsigned(text)
		if err != nil || got != want {
			t.Errorf("ParseUnsigned(%q) = %d, %v, want %d", text, int64(got), err, int64(want))
		}
		if got.String() != text {
			t.Errorf("String of %d is %q, want %q", int64(got), got, text)
		}
	}
	_, err := ParseUnsigned("18446744073709551616")
	checkRefusal(t, err, "18446744073709551616", -1, "is above 18446744073709551615")
	_, err = ParseUnsigned("01")
	checkRefusal(t, err, "01", 0, "leading zero")

	for _, id := range negativeIDs() {
		_, err := json.Marshal(id)
		checkRefusal(t, err, id.String(), -1, "63 bits")
		_, err = id.MarshalText()
		checkRefusal(t, err, id.String(), -1, "63 bits")
		var back ID
		checkRefusal(t, json.Unmarshal([]byte(`"`+id.String()+`"`), &back), id.String(), -1, "is above")
	}
}

func TestIDIsAStringInJSON(t *testing.T) {
	for _, id := range sampleIDs() {
		data, err := json.Marshal(map[ID]ID{id: id})
		if err != nil {
			t.Fatal(err)
		}
		if want := fmt.Sprintf(`{"%d":"%d"}`, int64(id), int64(id)); string(data) != want {
			t.Errorf("JSON of %d is %s, want %s", int64(id), data, want)
		}
		var back map[ID]ID
		if err := json.Unmarshal(data, &back); err != nil || back[id] != id {
			t.Errorf("%s is read as %v, %v", data, back, err)
		}
	}
}

func TestIDIsReadFromJSONExactly(t *testing.T) {
	for text, want := range map[string]ID{
		`9007199254740993`:    1<<53 + 1,
		`"9007199254740993"`:  1<<53 + 1,
		`9223372036854775807`: MaxID,
		`"0"`:                 0,
		" 7\n":                7,
	} {
		var got ID
		if err := json.Unmarshal([]byte(text), &got); err != nil || got != want {
			t.Errorf("%s is read as %d, %v, want %d", text, int64(got), err, int64(want))
		}
	}
	for _, test := range []struct {
		json, text string
		position   int
		reason     string
	}{
		{`null`, "null", -1, "NullID"},
		{`1.0`, "1.0", 1, "'.' is no"},
		{`1e3`, "1e3", 1, "'e' is no"},
		{`"-1"`, "-1", 0, "'-' is no"},
		{`""`, "", -1, "is empty"},
		{`" 1"`, " 1", 0, "' ' is no"},
		{`"\u0031"`, `\u0031`, 0, `'\\' is no`},
		{`true`, "true", 0, "'t' is no"},
		{`["1"]`, `["1"]`, 0, "'[' is no"},
		{`9223372036854775808`, "9223372036854775808", -1, "is above 9223372036854775807"},
	} {
		got := ID(42)
		checkRefusal(t, json.Unmarshal([]byte(test.json), &got), test.text, test.position, test.reason)
		if got != 42 {
			t.Errorf("a refused %s changed the id to %d", test.json, int64(got))
		}
	}
	for _, torn := range []string{"", `"`, `"1`, `1"`} {
		if err := new(ID).UnmarshalJSON([]byte(torn)); !errors.Is(err, ErrInvalidID) {
			t.Errorf("%q: error is %v", torn, err)
		}
	}
}

func TestBinaryIsTheBitsHighestByteFirst(t *testing.T) {
	data, err := ID(0x0102030405060708).MarshalBinary()
	if want := []byte{1, 2, 3, 4, 5, 6, 7, 8}; err != nil || !bytes.Equal(data, want) {
		t.Errorf("binary is %v, %v, want %v", data, err, want)
	}
	for _, id := range append(sampleIDs(), negativeIDs()...) {
		data, err := id.AppendBinary([]byte("key:"))
		if err != nil {
			t.Fatal(err)
		}
		var back ID
		if err := back.UnmarshalBinary(data[len("key:"):]); err != nil || back != id {
			t.Errorf("%d comes back as %d, %v", int64(id), int64(back), err)
		}
	}
	checkRefusal(t, new(ID).UnmarshalBinary([]byte("1234567")), "1234567", -1, "has 7 bytes, not 8")
	checkRefusal(t, new(ID).UnmarshalBinary([]byte("123456789")), "123456789", -1, "has 9 bytes, not 8")

	var stream bytes.Buffer
	if err := gob.NewEncoder(&stream).Encode(ID(-5)); err != nil {
		t.Fatal(err)
	}
	var back ID
	if err := gob.NewDecoder(&stream).Decode(&back); err != nil || back != -5 {
		t.Errorf("gob gives %d, %v", int64(back), err)
	}
}

func TestDatabaseKeepsAllBits(t *testing.T) {
	for _, id := range append(sampleIDs(), negativeIDs()...) {
		value, err := id.Value()
		if err != nil || !driver.IsValue(value) || value != int64(id) {
			t.Fatalf("value of %d is %v, %v", int64(id), value, err)
		}
		var back ID
		if err := back.Scan(value); err != nil || back != id {
			t.Errorf("%d comes back as %d, %v", int64(id), int64(back), err)
		}
	}
	for _, test := range []struct {
		src  any
		want ID
	}{
		{"1541815603606036480", 1541815603606036480},
		{[]byte("1541815603606036480"), 1541815603606036480},
		{uint64(math.MaxUint64), -1},
	} {
		var got ID
		if err := got.Scan(test.src); err != nil || got != test.want {
			t.Errorf("%v is scanned as %d, %v", test.src, int64(got), err)
		}
	}
	for _, test := range []struct {
		src      any
		text     string
		position int
		reason   string
	}{
		{nil, "NULL", -1, "NullID"},
		{1.5, "1.5", -1, "float64"},
		{true, "true", -1, "bool"},
		{"-1", "-1", 0, "is no decimal digit"},
		{[]byte(nil), "", -1, "is empty"},
		{[]byte("12x"), "12x", 2, "is no decimal digit"},
	} {
		got := ID(42)
		checkRefusal(t, got.Scan(test.src), test.text, test.position, test.reason)
		if got != 42 {
			t.Errorf("a refused %v changed the id to %d", test.src, int64(got))
		}
	}
}

func TestMissingIDIsNullEverywhere(t *testing.T) {
	type row struct{ A, B NullID }
	data, err := json.Marshal(row{A: NullID{ID: 7, Valid: true}})
	if want := `{"A":"7","B":null}`; err != nil || string(data) != want {
		t.Errorf("JSON is %s, %v, want %s", data, err, want)
	}
	back := row{B: NullID{ID: 9, Valid: true}}
	if err := json.Unmarshal(data, &back); err != nil || back != (row{A: NullID{7, true}}) {
		t.Errorf("%s is read as %+v, %v", data, back, err)
	}

	n := NullID{ID: 9, Valid: true}
	if value, err := n.Value(); err != nil || value != int64(9) {
		t.Errorf("value of 9 is %v, %v", value, err)
	}
	if err := n.Scan(nil); err != nil || n != (NullID{}) {
		t.Errorf("NULL is scanned as %+v, %v", n, err)
	}
	if value, err := n.Value(); err != nil || value != nil {
		t.Errorf("value of none is %v, %v", value, err)
	}
	if err := n.Scan(int64(5)); err != nil || n != (NullID{5, true}) {
		t.Errorf("5 is scanned as %+v, %v", n, err)
	}
	for _, err := range []error{n.Scan("x"), n.UnmarshalJSON([]byte("1.5"))} {
		if !errors.Is(err, ErrInvalidID) || n != (NullID{5, true}) {
			t.Errorf("refused with %v, and is now %+v", err, n)
		}
	}
}

func TestLogsCarryTheIDAsAString(t *testing.T) {
	var out bytes.Buffer
	slog.New(slog.NewJSONHandler(&out, nil)).Info("minted", "id", ID(1<<53+1))
	if want := `"id":"9007199254740993"`; !strings.Contains(out.String(), want) {
		t.Errorf("log is %s, want %s in it", out.String(), want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{"0", "1", "01", "-1", "9223372036854775807", "9223372036854775808", "18446744073709551615", "18446744073709551616", "1 ", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := Parse(s)
		unsigned, unsignedErr := ParseUnsigned(s)
		switch {
		case err == nil && (id < 0 || id.String() != s || unsigned != id || unsignedErr != nil):
			t.Errorf("Parse(%q) = %d, ParseUnsigned gives %d, %v", s, int64(id), int64(unsigned), unsignedErr)
		case err != nil && !errors.Is(err, ErrInvalidID):
			t.Errorf("Parse(%q): %v is no ErrInvalidID", s, err)
		case err != nil && unsignedErr == nil && (unsigned >= 0 || unsigned.String() != s):
			t.Errorf("only ParseUnsigned(%q) reads it, as %d", s, int64(unsigned))
		}
	})
}

func FuzzUnmarshalJSON(f *testing.F) {
	for _, seed := range []string{`0`, `"0"`, `null`, `9007199254740993`, `"`, `1.5`, `"1"`, `1e3`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var id ID
		if err := id.UnmarshalJSON(data); err != nil {
			if !errors.Is(err, ErrInvalidID) {
				t.Errorf("%q: %v is no ErrInvalidID", data, err)
			}
			return
		}
		if !json.Valid(data) {
			t.Fatalf("%q is not JSON but was read as %d", data, int64(id))
		}
		var number json.Number
		if err := json.Unmarshal(data, &number); err != nil || number.String() != id.String() {
			t.Errorf("%q was read as %d, by the standard library as %s, %v", data, int64(id), number, err)
		}
	})
}
