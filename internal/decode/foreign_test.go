package decode

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"snowfence.example/snowfence"
)

func TestForeignIDsSayWhatTheirSpecificationsSay(t *testing.T) {
	const instant = "2022-02-22T19:22:22" // of all examples of RFC 9562 with a time
	for _, x := range []struct{ text, format, time string }{
		// RFC 9562, appendices A and B.
		{"C232AB00-9414-11EC-B3C8-9F6BDECED846", "uuid 1", instant + ".000000000Z"},
		{"5df41881-3aed-3515-88a7-2f4a814cf09e", "uuid 3", ""},
		{"919108f7-52d1-4320-9bac-f847db4148a8", "uuid 4", ""},
		{"2ed6657d-e927-568b-95e1-2665a8aea6a2", "uuid 5", ""},
		{"1EC9414C-232A-6B00-B3C8-9F6BDECED846", "uuid 6", instant + ".000000000Z"},
		{"017F22E2-79B0-7CC3-98C4-DC0C0C07398F", "uuid 7", instant + ".000Z"},
		{"2489E9AD-2EE2-8E00-8EC9-32D5F69181C0", "uuid 8", ""},
		{"5c146b14-3c52-8afd-938a-375d0df1fbf6", "uuid 8", ""},
		// Sections 5.9, 5.10 and 4.1.
		{"00000000-0000-0000-0000-000000000000", "uuid nil", ""},
		{"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF", "uuid max", ""},
		{"00000000-0000-7000-7000-000000000000", "uuid not", ""},
		{"00000000-0000-7000-c000-000000000000", "uuid not", ""},
		{"00000000-0000-7000-e000-000000000000", "uuid not", ""},
		{"00000000-0000-2000-8000-000000000000", "uuid 2", ""},
		{"00000000-0000-0000-8000-000000000000", "uuid unknown", ""},
		{"ffffffff-ffff-ffff-bfff-ffffffffffff", "uuid 15", ""},
		// The ends of the times.
		{"00000000-0000-1000-8000-000000000000", "uuid 1", "1582-10-15T00:00:00.000000000Z"},
		{"ffffffff-ffff-1fff-bfff-ffffffffffff", "uuid 1", "5236-03-31T21:21:00.684697500Z"},
		{"ffffffff-ffff-6fff-bfff-ffffffffffff", "uuid 6", "5236-03-31T21:21:00.684697500Z"},
		{"00000000-0000-7000-8000-000000000000", "uuid 7", "1970-01-01T00:00:00.000Z"},
		{"ffffffff-ffff-7fff-bfff-ffffffffffff", "uuid 7", "10889-08-02T05:31:50.655Z"},
		// The example of the specification of ULIDs, and its greatest one.
		{"01ARZ3NDEKTSV4RRFFQ69G5FAV", "ulid time", "2016-07-30T23:54:10.259Z"},
		{"7ZZZZZZZZZZZZZZZZZZZZZZZZZ", "ulid time", "10889-08-02T05:31:50.655Z"},
		// ObjectIDs; the times of the last are the first and the last of 32 bits.
		{"507f1f77bcf86cd799439011", "objectid time,", "2012-10-17T21:13:27Z"},
		{"000000000000000000000000", "objectid time,", "1970-01-01T00:00:00Z"},
		{"ffffffffffffffffffffffff", "objectid time,", "2106-02-07T06:28:15Z"},
	} {
		f, err := ReadForeign(x.text)
		if err != nil || f == nil {
			t.Errorf("%s: %v, %v", x.text, f, err)
			continue
		}
		about, _, _ := strings.Cut(strings.ReplaceAll(f.About, ":", ""), " ")
		if f.Version != 0 && about != "unknown" || f.Version > 8 {
			about = fmt.Sprint(f.Version)
		}
		if got := f.Format + " " + about; got != x.format || f.Time != x.time {
			t.Errorf("%s: %s, %s; want %s, %s", x.text, got, f.Time, x.format, x.time)
		}
		if !strings.EqualFold(f.ID, x.text) {
			t.Errorf("%s: the id is %s", x.text, f.ID)
		}
	}
}

func TestForeignIDIsReadInEverySpelling(t *testing.T) {
	const uuid, ulid, object = "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "01ARZ3NDEKTSV4RRFFQ69G5FAV", "507f1f77bcf86cd799439011"
	for text, want := range map[string]string{
		uuid: uuid, strings.ToUpper(uuid): uuid, strings.ReplaceAll(uuid, "-", ""): uuid,
		"urn:uuid:" + uuid: uuid, "URN:UUID:" + strings.ToUpper(uuid): uuid, "{" + uuid + "}": uuid,
		ulid: ulid, strings.ToLower(ulid): ulid,
		object: object, strings.ToUpper(object): object,
		// Digits alone: each is above every number of 64 bits.
		"12345678901234567890123456789012": "12345678-9012-3456-7890-123456789012",
		"01234567890123456789012345":       "01234567890123456789012345",
		"123456789012345678901234":         "123456789012345678901234",
	} {
		if f, err := ReadForeign(text); err != nil || f == nil || f.ID != want {
			t.Errorf("%s: %+v, %v; want %s", text, f, err, want)
		}
	}
}

func TestTextThatIsNoForeignIDIsRefusedByItsForm(t *testing.T) {
	for text, want := range map[string]string{
		"507f1f77bcf86cd79943901x":                      "ObjectID: must have 24 hexadecimal digits",
		"8ZZZZZZZZZZZZZZZZZZZZZZZZZ":                    "ULID: must have 26 digits of 0 to 9 and A to Z without I, L, O and U, the first of them at most 7",
		"01ARZ3NDEKTSV4RRFFQ69G5FAU":                    "ULID: must",
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398g":          "UUID: must have 32 hexadecimal digits",
		"017f22e279b0-7cc3-98c4-dc0c0c07398f-":          "UUID: must",
		"urn:guid:017f22e2-79b0-7cc3-98c4-dc0c0c07398f": "UUID: must",
	} {
		f, err := ReadForeign(text)
		if f != nil || !errors.Is(err, snowfence.ErrInvalidID) || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %+v, %v; want %s", text, f, err, want)
		}
	}
}

// A number in any encoding has fewer digits than a foreign id.
func TestNumberIsNoForeignID(t *testing.T) {
	all := []string{"", "0", "0xffffffffffffffff"}
	for _, e := range EncodingNames() {
		all = append(all, e.Text(-1), e.Text(1))
	}
	for _, text := range all {
		if f, err := ReadForeign(text); f != nil || err != nil {
			t.Errorf("%s: %+v, %v", text, f, err)
		}
	}
}

func TestForeignDocumentKeepsItsForm(t *testing.T) {
	for text, want := range map[string]string{
		"1EC9414C-232A-6B00-B3C8-9F6BDECED846": `{"id":"1ec9414c-232a-6b00-b3c8-9f6bdeced846","format":"uuid","version":6,` +
			`"about":"Gregorian time, clock sequence, node","time":"2022-02-22T19:22:22.000000000Z","fields":[` +
			`{"name":"time_high","kind":"time","bits":32,"shift":96,"value":"516505932"},` +
			`{"name":"time_mid","kind":"time","bits":16,"shift":80,"value":"9002"},` +
			`{"name":"version","kind":"version","bits":4,"shift":76,"value":"6"},` +
			`{"name":"time_low","kind":"time","bits":12,"shift":64,"value":"2816"},` +
			`{"name":"variant","kind":"variant","bits":2,"shift":62,"value":"2"},` +
			`{"name":"clock_seq","kind":"sequence","bits":14,"shift":48,"value":"13256"},` +
			`{"name":"node","kind":"random","bits":48,"shift":0,"value":"9f6bdeced846"}],` +
			`"encodings":{"hex":"1ec9414c232a6b00b3c89f6bdeced846"},"guessed":false}`,
		"00000000000000000000000000000000": `{"id":"00000000-0000-0000-0000-000000000000","format":"uuid",` +
			`"about":"nil: every bit is 0","fields":[{"name":"data","kind":"random","bits":128,"shift":0,"value":"00000000000000000000000000000000"}],` +
			`"encodings":{"hex":"00000000000000000000000000000000"},"guessed":false}`,
	} {
		f, err := ReadForeign(text)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(f); err != nil || string(got) != want {
			t.Errorf("%s: got\n%s, %v\nwant\n%s", text, got, err, want)
		}
	}
}

func FuzzReadForeign(f *testing.F) {
	for _, s := range []string{
		"017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "C232AB00-9414-11EC-B3C8-9F6BDECED846", "{1ec9414c-232a-6b00-b3c8-9f6bdeced846}",
		"urn:uuid:919108f7-52d1-4320-9bac-f847db4148a8", "01arz3ndektsv4rrffq69g5fav", "507f1f77bcf86cd799439011", "01ARZ3NDEKTSV4RRFFQ69G5ſ",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := ReadForeign(s)
		if err != nil && (got != nil || !errors.Is(err, snowfence.ErrInvalidID)) {
			t.Fatalf("ReadForeign(%q) = %+v, %v", s, got, err)
		}
		if got == nil {
			return
		}
		if !strings.Contains(strings.ToLower(s), strings.ToLower(got.ID)) && got.Encodings.Hex != strings.ToLower(s) {
			t.Errorf("ReadForeign(%q) is %s", s, got.ID)
		}
		if (got.Time == "") != got.At.IsZero() || 4*len(got.Encodings.Hex) != got.Bits() {
			t.Errorf("ReadForeign(%q) = %+v", s, got)
		}
		// The text that it writes is read as the same id.
		again, err := ReadForeign(got.ID)
		if err != nil || again.Encodings.Hex != got.Encodings.Hex || again.Time != got.Time {
			t.Errorf("ReadForeign(%q) = %+v, %v; want %+v", got.ID, again, err, got)
		}
	})
}

func TestWideIDSaysWhatItsLayoutSays(t *testing.T) {
	for _, x := range []struct{ layout, text, id, time, fields string }{
		{"uuid8", "01890A5D-AC96-874B-8000-0C0000000001", "01890a5d-ac96-874b-8000-0c0000000001", "2023-06-30T03:34:18.518Z", "time:80+48=1688096058518 version:76+4=8 sequence:64+12=1867 variant:62+2=2 worker:42+20=3 random:0+42=00000000001"},
		{"objectid", "507f1f77bcf86cd799439011", "507f1f77bcf86cd799439011", "2012-10-17T21:13:27Z", "time:64+32=1350508407 worker:24+40=811621734297 sequence:0+24=4427793"},
		{"game-server", "0000000000010000a0007", "0000000000010000a0007", "2026-01-01T00:00:00.001Z", "time:36+48=1 worker:16+20=10 sequence:0+16=7"},
		{"uuid8", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f", "", "", ""}, // version 7
		{"objectid", "1507f1f77bcf86cd799439011", "", "", ""},
		{"objectid", "x", "", "", ""},
	} {
		l, err := snowfence.ParseLayout(x.layout)
		if err != nil {
			t.Fatal(err)
		}
		f, err := ReadWide(x.text, l)
		if x.id == "" {
			if !errors.Is(err, snowfence.ErrInvalidID) {
				t.Errorf("%s under %s: %+v, %v", x.text, x.layout, f, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := drawn(f.Fields); f.ID != x.id || f.Time != x.time || got != x.fields || f.Layout != l.String() || !f.By.Equal(l) || !f.At.Equal(l.TimeOf(f.Parts.Tick)) || (f.Version == 8) != l.UUID() {
			t.Errorf("%s under %s: %+v, %s", x.text, x.layout, f, got)
		}
	}
}
