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

func TestLayoutIsReadInManySpellings(t *testing.T) {
	for canonical, spellings := range map[string][]string{
		"ms41-worker10-seq12@2026-01-01T00:00:00Z": {
			"default",
			" Default ",
			"ms41-worker10-seq12",
			"ms 41 · worker 10 · seq 12",
			"ms 41 · worker 10 · seq 12 @ 1767225600000",
			"ms41,worker10,seq12@2026-01-01",
			"ms 41 + machine 10 + counter 12",
			"ms41|node10|increment12",
			"MS41 Shard10 STEP12",
			"ms41worker10seq12",
			"1 ms 41 process 10 sequence 12@2026-01-01T01:00:00+01:00",
			"1000us41-server10-seq12@2026-01-01T00:00:00.000Z",
			"ms\t41\nworker\u00a010 seq 012",
			"ms41-host10-random12@ +1767225600000 ",
			"ms41-instance10-seq12",
		},
		"10ms39-seq8-worker16@2026-01-01T00:00:00Z": {
			"10 ms 39 · seq 8 · machine 16",
			"10ms39 seq8 worker16",
			"10000 µs 39, seq 8, machine 16",
			"10000μs39, seq 8, machine 16",
		},
		"unsigned-ms42-datacenter5-worker5-seq12@2015-01-01T00:00:00Z": {
			"discord",
			"unsigned ms 42 · dc 5 · worker 5 · seq 12 @ 1420070400000",
			"ms 42 · region 5 · worker 5 · seq 12 · unsigned @ 2015-01-01",
		},
		"worker10-ms41-seq12@1969-12-31T16:00:00Z": {
			"seata@-28800000",
			"seata @ 1969-12-31T16:00:00Z",
		},
		"s28-worker22-seq13@2026-01-01T00:00:00Z": {"baidu@2026-01-01"},
	} {
		for _, spelling := range spellings {
			if l, err := ParseLayout(spelling); err != nil || l.String() != canonical {
				t.Errorf("%q is read as %v, %v, want %s", spelling, l, err, canonical)
			}
		}
	}
}

func TestWordsOfOtherSystemsAreKeptForDisplay(t *testing.T) {
	l := mustLayout(t, "ms 41 · dc 5 · shard 5 · counter 12")
	var words []string
	for _, f := range l.Fields {
		words = append(words, f.Word())
	}
	if got := strings.Join(words, " "); got != "time datacenter shard counter" {
		t.Errorf("words are %s", got)
	}
}

func TestLayoutTextAtFaultIsNamedWithItsPlace(t *testing.T) {
	const wantField = "a field or a preset is expected"
	for _, test := range []struct {
		text   string
		offset int
		token  string
		reason string
	}{
		{"", 0, "", wantField},
		{"@2026-01-01", 0, "", wantField},
		{"ms41--seq12", 5, "-", wantField},
		{"ms41-12", 7, "", wantField},
		{"ms41-seq12\x80", 10, "\x80", wantField},
		{"twiter", 0, "twiter", "neither a field (us, ms, s, min, h, datacenter, worker, seq, unsigned, wide) nor a preset (default, twitter, "},
		{"sonyflake", 0, "sonyflake", "sonyflake-v1, sonyflake-v2"},
		{"ms 41 · wroker 10 · seq 12", 9, "wroker", "neither a field"},
		{"ms-41", 2, "-", "the bits of ms are expected"},
		{"ms 41 worker", 12, "", "the bits of worker are expected"},
		{"ms 41 · 10 worker · seq 12", 9, "10", "a count can stand only before a unit of time"},
		{"0ms41-seq12", 0, "0", "at most 1h, that is from 1 to 3600000ms"},
		{"61min41-seq12", 0, "61", "at most 1h, that is from 1 to 60min"},
		{"ms41-worker10000000000-seq12", 11, "10000000000", "too large"},
		{"ms41-seq12@", 11, "", "is no epoch"},
		{"ms41-seq12@soon", 11, "soon", "is no epoch"},
		{"ms41-seq12 @  2026-13-01", 14, "2026-13-01", "is no epoch"},
		{"ms41-seq12@2026-01-01T00:00:00", 11, "2026-01-01T00:00:00", "is no epoch"},
		{"ms41-seq12@99999999999999999999", 11, "99999999999999999999", "is no epoch"},
		{"twitter@2026", 8, "2026", "is Unix milliseconds, and so an epoch before 1973"},
		{"twitter@1577836800", 8, "1577836800", "write a date"}, // seconds
		{"twitter@99999999999", 8, "99999999999", "12 digits or more"},
		{"twitter@100000000000", 0, "", ""},
		{"twitter@0", 0, "", ""},
	} {
		_, err := ParseLayout(test.text)
		if test.reason == "" {
			if err != nil {
				t.Errorf("%q: %v", test.text, err)
			}
			continue
		}
		var got *LayoutSyntaxError
		if !errors.As(err, &got) || !errors.Is(err, ErrInvalidLayout) {
			t.Errorf("%q: error is %v, want a *LayoutSyntaxError", test.text, err)
			continue
		}
		if got.Text != test.text || got.Offset != test.offset || got.Token != test.token || !strings.Contains(got.Reason, test.reason) {
			t.Errorf("%q: error is %+v, want offset %d, token %q, a reason with %q", test.text, *got, test.offset, test.token, test.reason)
		}
		if !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%q: message %q does not say %q", test.text, err, test.reason)
		}
	}
}

func TestLayoutThatIsReadButNotValidIsReturnedWithTheError(t *testing.T) {
	for _, test := range []struct {
		text, field, value string
		total              int
	}{
		{"ms 37 · worker 20 · seq 16", "total", "73 bits", 73},
		{"ms 41 · worker 5 · process 5 · seq 12", "process", "given twice", 63},
		{"ms41-worker0-seq12", "worker", "0 bits", 53},
		{"twitter@1767225600000000", "epoch", "57971-02-25T00:00:00Z", 63},
		{"discord@0", "", "", 64},
		{"unsigned", "time", "missing", 0},
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
	for _, seed := range []string{"", "twitter@1", "twitter@100000000000", "10 ms 39 · seq 8 · machine 16", "unsigned ms 42 + node 10 + counter 12", "ms41-seq12@-28800000", "ms 37 worker 20 seq 16"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		l, err := ParseLayout(s)
		if err != nil {
			if !errors.Is(err, ErrInvalidLayout) {
				t.Errorf("%q: %v is not an ErrInvalidLayout", s, err)
			}
			var syntax *LayoutSyntaxError
			if errors.As(err, &syntax) && !strings.HasPrefix(s[syntax.Offset:], syntax.Token) {
				t.Errorf("%q: %q does not stand at %d", s, syntax.Token, syntax.Offset)
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
