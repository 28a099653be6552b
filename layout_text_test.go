package snowfence

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestLayoutTextIsCanonical(t *testing.T) {
	for _, test := range []struct {
		layout Layout
		want   string
	}{
		{DefaultLayout(), "ms41-worker10-seq12@2026-01-01T00:00:00Z"},
		{newLayout(10*time.Millisecond, 1409529600000, fields(tm, 39, sq, 8, wk, 16)...), "10ms39-seq8-worker16@2014-09-01T00:00:00Z"},
		{newLayout(time.Second, 1463673600000, fields(tm, 28, wk, 22, sq, 13)...), "s28-worker22-seq13@2016-05-19T16:00:00Z"},
		{newLayout(time.Millisecond, 1288834974657, fields(tm, 41, dc, 5, wk, 5, sq, 12)...), "ms41-datacenter5-worker5-seq12@2010-11-04T01:42:54.657Z"},
		{newLayout(time.Millisecond, -28800000, fields(wk, 10, tm, 41, sq, 12)...), "worker10-ms41-seq12@1969-12-31T16:00:00Z"},
		{Layout{Unit: time.Millisecond, Epoch: time.UnixMilli(0), Fields: fields(tm, 48, sq, 16), Unsigned: true}, "unsigned-ms48-seq16@1970-01-01T00:00:00Z"},
		{newLayout(time.Microsecond, 650, fields(tm, 50, sq, 1)...), "us50-seq1@1970-01-01T00:00:00.65Z"},
		{newLayout(1500*time.Microsecond, 0, fields(tm, 50, sq, 1)...), "1500us50-seq1@1970-01-01T00:00:00Z"},
		{newLayout(90*time.Second, 0, fields(tm, 30, sq, 1)...), "90s30-seq1@1970-01-01T00:00:00Z"},
		{newLayout(time.Minute, 0, fields(tm, 30, sq, 1)...), "min30-seq1@1970-01-01T00:00:00Z"},
		{newLayout(30*time.Minute, 0, fields(tm, 30, sq, 1)...), "30min30-seq1@1970-01-01T00:00:00Z"},
		{newLayout(time.Hour, 0, fields(tm, 30, sq, 1)...), "h30-seq1@1970-01-01T00:00:00Z"},
	} {
		if got := test.layout.String(); got != test.want {
			t.Errorf("text is %q, want %q", got, test.want)
		}
	}
}

func TestLayoutTextRoundTrips(t *testing.T) {
	for _, l := range sampleLayouts() {
		text, err := l.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var back Layout
		if err := back.UnmarshalText(text); err != nil || !back.Equal(l) {
			t.Errorf("%s is read as %v, %v", text, back, err)
		}
		if bytes.ContainsAny(text, " \t'\"`$&|;<>()[]{}*?!#~\\%=,") {
			t.Errorf("%s needs quoting", text)
		}
	}
}

func TestLayoutIsReadInItsOneSpellingOrByItsPreset(t *testing.T) {
	for text, want := range map[string]string{
		"default":                    "ms41-worker10-seq12@2026-01-01T00:00:00Z",
		"ms41-worker10-seq12":        "ms41-worker10-seq12@2026-01-01T00:00:00Z",
		"ms41-seq22@2020-05-01":      "ms41-seq22@2020-05-01T00:00:00Z",
		"seata@1969-12-31T16:00:00Z": "worker10-ms41-seq12@1969-12-31T16:00:00Z",
		"baidu@2026-01-01":           "s28-worker22-seq13@2026-01-01T00:00:00Z",
		"discord":                    "unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z",
	} {
		if l, err := ParseLayout(text); err != nil || l.String() != want {
			t.Errorf("%q is read as %v, %v, want %s", text, l, err, want)
		}
	}
}

func TestLayoutTextAtFaultIsNamedWithItsPart(t *testing.T) {
	const form = "must be a word and its bits, such as in ms41-worker10-seq12: the words are us, ms, s, min, h, datacenter, worker and seq, and a preset is a name such as twitter"
	for text, want := range map[string]string{
		"":                                       `part is "", ` + form,
		"@2026-01-01":                            `part is "", ` + form,
		"ms41--seq12":                            `part is "", ` + form,
		"ms41-12":                                `part is "12", ` + form,
		"ms41-seq12\x80":                         `part is "seq12\x80", ` + form,
		"twiter":                                 `part is "twiter", ` + form,
		"ms 41 · worker 10 · seq 12":             `part is "ms 41 · worker 10 · seq 12", ` + form,
		"ms41-wroker10-seq12":                    `part is "wroker10", ` + form,
		"ms41-shard10-seq12":                     `part is "shard10", ` + form,
		"ms41-worker-seq12":                      `part is "worker", ` + form,
		"ms41-10worker10-seq12":                  `part is "10worker10", ` + form,
		"ms41-worker10-random12":                 `part is "random12", ` + form,
		"0ms41-seq12":                            `part is "0ms41", ` + form,
		"61min41-seq12":                          `part is "61min41", ` + form,
		"ms41-worker10000000000-seq12":           `part is "worker10000000000", ` + form,
		"ms41-seq12-" + string(make([]byte, 80)): `part is "` + strings.Repeat(`\x00`, 64) + `", ` + form,
		"MS41-seq12":                             `part is "MS41", ` + form,
		"1ms41-seq12":                            `layout is "1ms41-seq12", must be ms41-seq12: there is one spelling`,
		"1000us41-seq12":                         `layout is "1000us41-seq12", must be ms41-seq12`,
		"ms041-seq12":                            `layout is "ms041-seq12", must be ms41-seq12`,
		"ms42-seq22-unsigned":                    `layout is "ms42-seq22-unsigned", must be unsigned-ms42-seq22`,
		"ms41-seq12@":                            `epoch is "", must be a date or an RFC 3339 instant, such as 2026-01-01T00:00:00Z`,
		"ms41-seq12@2026-13-01":                  `epoch is "2026-13-01", must be`,
		"twitter@2026":                           `epoch is "2026", must be`,
		"twitter@1577836800":                     `epoch is "1577836800", must be`,
		"ms41-seq12@2026-01-01T00:00:00":         `epoch is "2026-01-01T00:00:00", must be`,
	} {
		l, err := ParseLayout(text)
		if !errors.As(err, new(*LayoutError)) || !l.IsZero() || !strings.Contains(err.Error(), ": invalid layout: "+want) {
			t.Errorf("%q is read as %v, %v, want %s", text, l, err, want)
		}
	}
}

func TestLayoutThatIsReadButNotValidIsReturnedWithTheError(t *testing.T) {
	for _, test := range []struct {
		text, field, value string
		total              int
	}{
		{"ms37-worker20-seq16", "total", "73 bits", 73},
		{"ms41-worker5-worker5-seq12", "worker", "given twice", 63},
		{"ms41-worker0-seq12", "worker", "0 bits", 53},
		{"twitter@2971-02-25", "epoch", "2971-02-25T00:00:00Z", 63},
		{"discord@1970-01-01", "", "", 64},
		{"unsigned-seq12", "time", "missing", 12},
	} {
		l, err := ParseLayout(test.text)
		if l.TotalBits() != test.total {
			t.Errorf("%q: %d bits in all, want %d", test.text, l.TotalBits(), test.total)
		}
		if test.field == "" {
			if err != nil {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		var got *LayoutError
		if !errors.As(err, &got) || got.Field != test.field || got.Value != test.value {
			t.Errorf("%q: error is %v, want %s is %s", test.text, err, test.field, test.value)
		}
	}
}

func FuzzParseLayout(f *testing.F) {
	for _, l := range sampleLayouts() {
		f.Add(l.String())
	}
	for _, seed := range []string{"", "twitter@2020-01-01", "10 ms 39 · seq 8", "ms42-seq22-unsigned", "ms041-seq12", "ms37-worker20-seq16"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLayout(s)
		if err != nil {
			if !errors.Is(err, ErrInvalidLayout) {
				t.Errorf("%q: %v is not an ErrInvalidLayout", s, err)
			}
			return
		}
		if err := l.Validate(); err != nil {
			t.Errorf("%q is read as %v: %v", s, l, err)
		}
		text := l.String()
		back, err := ParseLayout(text)
		if err != nil || !back.Equal(l) || back.String() != text {
			t.Errorf("%q is written as %q and comes back as %v, %v", s, text, back, err)
		}
	})
}
