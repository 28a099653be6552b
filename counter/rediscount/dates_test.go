package rediscount_test

import (
	"archive/zip"
	"context"
	"io"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter/rediscount"
)

// shown is a clock that shows one instant.
type shown struct {
	snowfence.Clock
	at time.Time
}

func (s *shown) Wall() time.Time { return s.at }

// zones are all time zones that Go knows. Zones with the same data are there once.
func zones(t *testing.T) (all []*time.Location) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	archive, err := zip.OpenReader(filepath.Join(strings.TrimSpace(string(root)), "lib", "time", "zoneinfo.zip"))
	if err != nil {
		t.Fatal(err)
	}
	defer archive.Close() //nolint:errcheck // it was only read
	known := map[string]bool{}
	for _, file := range archive.File {
		if strings.HasSuffix(file.Name, "/") {
			continue
		}
		opened, err := file.Open()
		if err != nil {
			t.Fatal(err)
		}
		data, err := io.ReadAll(opened)
		if err != nil {
			t.Fatal(err)
		}
		if known[string(data)] {
			continue
		}
		known[string(data)] = true
		zone, err := time.LoadLocationFromTZData(file.Name, data)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, zone)
	}
	return all
}

// TestDateIsThatOfTheInstantAtEachChangeOfEachZone looks at each transition of each zone: at the
// instants around it, and at noon of its date. Some days have no midnight, and some have two.
func TestDateIsThatOfTheInstantAtEachChangeOfEachZone(t *testing.T) {
	end, changes := time.Date(2040, 1, 1, 0, 0, 0, 0, time.UTC), 0
	for _, zone := range zones(t) {
		check := onDates(t, zone)
		right := true
		for at := time.Date(1990, 1, 1, 0, 0, 0, 0, time.UTC); at.Before(end) && right; changes++ {
			for _, off := range []time.Duration{-24 * time.Hour, -time.Second, 0, 12 * time.Hour} {
				right = right && check(at.Add(off))
			}
			_, next := at.In(zone).ZoneBounds()
			switch {
			case next.IsZero():
				next = end
			case !next.After(at): // it can be the end of a year
				next = at.Add(time.Hour)
			}
			at = next
		}
	}
	t.Logf("%d changes", changes)
}

// onDates returns a check of the key, the number and the date's end that a source sends at an instant.
func onDates(t *testing.T, zone *time.Location) func(at time.Time) bool {
	t.Helper()
	const keep = time.Second
	clock, key, until, sequence := &shown{Clock: snowfence.SystemClock()}, "", time.Time{}, int64(0)
	client := func(_ context.Context, args ...any) (any, error) {
		if args[0] != "EVAL" {
			return nil, context.Canceled // another test looks at keys that expire
		}
		key = args[3].(string)
		seconds, err := strconv.ParseInt(args[6].(string), 10, 64)
		until = time.Unix(seconds, 0)
		sequence++
		return []any{int64(1), sequence, clock.at.Unix()}, err
	}
	source, err := rediscount.New(rediscount.Config{Client: rediscount.Func(client), Prefix: "p", Length: 6, Zone: zone, Keep: keep, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	date := func(at time.Time) string { return at.In(zone).Format("20060102") }
	return func(at time.Time) bool {
		clock.at = at
		got, err := source.Reserve(t.Context(), func() int64 { return 1 })
		today := date(at)
		if err != nil || key != "p:"+today || strconv.FormatInt(got.First/1e6, 10) != today {
			t.Errorf("at %s: number %d of key %s; %v", at.In(zone), got.First, key, err)
			return false
		}
		over := until.Add(-keep)
		ended := date(over.Add(-time.Second)) == today
		for later := over; later.Before(over.Add(3 * time.Hour)); later = later.Add(20 * time.Minute) {
			ended = ended && date(later) > today
		}
		if !ended {
			t.Errorf("at %s: the date ends at %s", at.In(zone), over.In(zone))
		}
		return ended
	}
}
