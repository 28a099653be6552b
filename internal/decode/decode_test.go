package decode

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"snowfence.example/snowfence"
)

var now = time.Date(2026, time.November, 20, 12, 0, 0, 0, time.UTC)

// layout reads a layout that the test knows to be good.
func layout(t *testing.T, s string) snowfence.Layout {
	t.Helper()
	l, err := snowfence.ParseLayout(s)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestWorkedIDsSayWhatTheirSystemsSay(t *testing.T) {
	for _, x := range []struct {
		layout string
		id     snowfence.ID
		time   string
		fields string // name=value, high to low, without time and unused
	}{
		{"twitter", 1541815603606036480, "2022-06-28T16:07:40.105Z", "datacenter=11 worker=26 sequence=0"},
		{"discord", 175928847299117063, "2016-04-30T11:18:25.796Z", "datacenter=1 worker=0 sequence=7"},
		{"simple", 3125927076831231, "2020-08-09T07:01:19.092Z", "worker=1 datacenter=1 sequence=4095"},
		{"simple-class@1969-12-31T16:00:00Z", 6698247966366502912, "2020-08-09T07:26:02.611Z", "datacenter=1 worker=1 sequence=0"},
		{"leaf", 1169786042799259000, "2019-09-06T01:35:00.834Z", "worker=39 sequence=3448"},
	} {
		r, err := Decode(x.id, layout(t, x.layout))
		if err != nil {
			t.Errorf("%s: %v", x.layout, err)
			continue
		}
		var fields []string
		for _, f := range r.Fields {
			if f.Kind != "time" && f.Kind != "unused" {
				value, _ := json.Marshal(f.Value)
				fields = append(fields, f.Name+"="+string(value))
			}
		}
		if r.Time != x.time || strings.Join(fields, " ") != x.fields {
			t.Errorf("%s %d: %s %s, want %s %s", x.layout, x.id, r.Time, strings.Join(fields, " "), x.time, x.fields)
		}
	}
}

func TestFieldsAreThePartsOfTheLayout(t *testing.T) {
	const id = 1541815603606036480
	for _, p := range snowfence.Presets() {
		r, err := Decode(id>>(63-min(63, p.Layout.TotalBits())), p.Layout)
		if err != nil {
			t.Errorf("%s: %v", p.Name, err)
			continue
		}
		parts := map[string]int64{
			"time": int64(r.Parts.Tick), "datacenter": r.Parts.Datacenter, "worker": r.Parts.Worker, "sequence": r.Parts.Sequence,
		}
		word, bits := uint64(0), 0
		for _, f := range r.Fields {
			value, _ := f.Value.(uint64)
			word, bits = word<<f.Bits|value, bits+f.Bits
			if f.Kind != unused && int64(value) != parts[f.Kind] {
				t.Errorf("%s: %s is %d in the picture and %d in the layout", p.Name, f.Name, value, parts[f.Kind])
			}
		}
		if bits != 64 || strconv.FormatUint(word, 10) != r.ID {
			t.Errorf("%s: the fields are %d bits, %d of %s", p.Name, bits, word, r.ID)
		}
	}
}

func TestBitsAboveTheLayoutAreNoID(t *testing.T) {
	for _, x := range []struct {
		id     snowfence.ID
		layout string
	}{{-1, "twitter"}, {1 << 53, "javascript-safe-ms"}} {
		if _, err := Decode(x.id, layout(t, x.layout)); !errors.Is(err, snowfence.ErrInvalidID) {
			t.Errorf("Decode(%s, %s): %v, want ErrInvalidID", x.id, x.layout, err)
		}
	}
}

func TestThe64thBitDecodesUnsigned(t *testing.T) {
	id, _, err := Read("18446744073709551615", "")
	if err != nil {
		t.Fatal(err)
	}
	d, err := Decode(id, layout(t, "discord"))
	if err != nil {
		t.Fatal(err)
	}
	if d.ID != "18446744073709551615" || d.Time != "2154-05-15T07:35:11.103Z" || d.Encodings.Hex != "ffffffffffffffff" {
		t.Errorf("got %+v", d)
	}
}

func TestDocumentKeepsItsForm(t *testing.T) {
	r, err := Decode(1541815603606036480, layout(t, "twitter"))
	if err != nil {
		t.Fatal(err)
	}
	got, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"id":"1541815603606036480","format":"id","preset":"twitter",` +
		`"layout":"ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z","time":"2022-06-28T16:07:40.105Z",` +
		`"tick":367597485448,"datacenter":11,"worker":26,"sequence":0,"fields":[` +
		`{"name":"unused","kind":"unused","bits":1,"shift":63,"value":0},` +
		`{"name":"time","kind":"time","bits":41,"shift":22,"value":367597485448},` +
		`{"name":"datacenter","kind":"datacenter","bits":5,"shift":17,"value":11},` +
		`{"name":"worker","kind":"worker","bits":5,"shift":12,"value":26},` +
		`{"name":"sequence","kind":"sequence","bits":12,"shift":0,"value":0}],` +
		`"encodings":{"decimal":"1541815603606036480","fixed_decimal":"1541815603606036480",` +
		`"hex":"1565a11f6217a000","base32":"1ASD13XH1F800","base62":"1ptWyK4WgZU"},"guessed":false}`
	if string(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPartsWithoutAFieldAreAbsent(t *testing.T) {
	d, err := Decode(7, layout(t, "mastodon"))
	if err != nil {
		t.Fatal(err)
	}
	if d.Datacenter != nil || d.Worker != nil || d.Sequence == nil || *d.Sequence != 7 {
		t.Errorf("got %+v", d)
	}
}

func TestPictureFits80Columns(t *testing.T) {
	layouts := []snowfence.Layout{
		layout(t, "ms41-datacenter5-worker5-seq1"),
		layout(t, "ms1-datacenter1-worker1-seq1"),
		layout(t, "ms41-datacenter10-worker11-seq1"),
	}
	for _, p := range snowfence.Presets() {
		layouts = append(layouts, p.Layout)
	}
	for _, l := range layouts {
		r, err := Decode(0, l)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range r.Picture() {
			if n := utf8.RuneCountInString(line); n > pictureWidth {
				t.Errorf("%s: %d columns: %s", l, n, line)
			}
		}
	}
}

func TestPictureLabelsEveryField(t *testing.T) {
	r, err := Decode(175928847299117063, layout(t, "discord"))
	if err != nil {
		t.Fatal(err)
	}
	want := strings.Join([]string{
		"000000100111000100000110010110101100000100 00001 00000 000000000111",
		"│                                          │     │     └ sequence 12",
		"│                                          │     └ worker 5",
		"│                                          └ datacenter 5",
		"└ time 42",
	}, "\n")
	if got := strings.Join(r.Picture(), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestTimesHaveTheDecimalsOfTheirUnit(t *testing.T) {
	at := time.Date(2026, time.January, 2, 3, 4, 5, 120_000_000, time.UTC)
	for unit, want := range map[time.Duration]string{
		time.Hour:             "2026-01-02T03:04:05Z",
		time.Second:           "2026-01-02T03:04:05Z",
		10 * time.Millisecond: "2026-01-02T03:04:05.120Z",
		time.Millisecond:      "2026-01-02T03:04:05.120Z",
		time.Microsecond:      "2026-01-02T03:04:05.120000Z",
	} {
		if got := FormatTime(at, unit); got != want {
			t.Errorf("%v: %s, want %s", unit, got, want)
		}
	}
	if got, want := FormatTime(time.Date(10889, time.August, 2, 5, 31, 50, 0, time.UTC), time.Second), "10889-08-02T05:31:50Z"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestRelativeTimesNameTheTwoLargestUnits(t *testing.T) {
	for offset, want := range map[time.Duration]string{
		0:                                "now",
		-time.Second:                     "1 s ago",
		90 * time.Second:                 "in 1 min 30 s",
		-2 * time.Hour:                   "2 h ago",
		-25*time.Hour - 59*time.Second:   "1 day 1 h ago",
		year:                             "in 1 year",
		-4*year - 145*day - 23*time.Hour: "4 years 145 days ago",
	} {
		if got := Relative(now.Add(offset), now); got != want {
			t.Errorf("%v: %q, want %q", offset, got, want)
		}
	}
	// Further away than a time.Duration reaches.
	if got, want := Relative(time.Date(10889, time.August, 2, 5, 31, 50, 0, time.UTC), now), "in 8862 years 255 days"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
