package counter_test

import (
	"errors"
	"testing"
	"time"

	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/store/memstore"
)

// settings are each kind's own.
type settings struct {
	counter.Config
	segments counter.SegmentsConfig
	daily    counter.DailyConfig
}

func TestWhatOpenRefusesWithoutAskingTheStoreIsNotValid(t *testing.T) {
	ctx := t.Context()
	tickets := func(s settings) (valid, opened error) {
		c, err := counter.OpenTickets(ctx, s.Config)
		if err == nil {
			err = c.Close(ctx)
		}
		return s.Config.Validate(), err
	}
	segments := func(s settings) (valid, opened error) {
		s.segments.Config = s.Config
		c, err := counter.OpenSegments(ctx, s.segments)
		if err == nil {
			err = c.Close(ctx)
		}
		return s.segments.Validate(), err
	}
	daily := func(s settings) (valid, opened error) {
		s.daily.Config = s.Config
		c, err := counter.OpenDaily(ctx, s.daily)
		if err == nil {
			err = c.Close(ctx)
		}
		return s.daily.Validate(), err
	}
	all := []func(settings) (valid, opened error){tickets, segments, daily}
	for _, test := range []struct {
		field, value string // no field: it opens
		change       func(*settings)
		kinds        []func(settings) (valid, opened error)
	}{
		{"", "", func(*settings) {}, all},
		{"name", "Invoices", func(s *settings) { s.Name = "Invoices" }, all},
		{"name", "", func(s *settings) { s.Name = "" }, all},
		{"namespace", "my shop", func(s *settings) { s.Namespace = "my shop" }, all},
		{"start", "-1", func(s *settings) { s.Start = -1 }, all},
		{"max-wait", "-1s", func(s *settings) { s.MaxWait = -time.Second }, all},
		{"increment", "-7", func(s *settings) { s.Increment = -7 }, all[:2]},
		{"limit", "4", func(s *settings) { s.Start, s.Limit = 5, 4 }, all[:2]},
		{"step", "-1", func(s *settings) { s.segments.Step = -1 }, all[1:2]},
		{"most-step", "9", func(s *settings) { s.segments.Step, s.segments.MostStep = 10, 9 }, all[1:2]},
		{"target", "-1s", func(s *settings) { s.segments.Target = -time.Second }, all[1:2]},
		{"digits", "19", func(s *settings) { s.daily.Digits = 19 }, all[2:]},
		{"prefix", "a b", func(s *settings) { s.daily.Prefix = "a b" }, all[2:]},
		{"start", "1000", func(s *settings) { s.daily.Digits, s.Start = 3, 1000 }, all[2:]},
		{"step", "-1", func(s *settings) { s.daily.Step = -1 }, all[2:]},
	} {
		for i, kind := range test.kinds {
			s := settings{Config: counter.Config{Store: memstore.New().Client(), Name: "orders"}}
			test.change(&s)
			valid, opened := kind(s)
			for _, err := range []error{valid, opened} {
				var wrong *counter.ConfigError
				if test.field == "" && err != nil || test.field != "" && (!errors.As(err, &wrong) || wrong.Field != test.field || wrong.Value != test.value) {
					t.Errorf("%s %s, kind %d: %v", test.field, test.value, i, err)
				}
			}
			s.Store = nil
			var wrong *counter.ConfigError
			if valid, opened := kind(s); (valid == nil) != (test.field == "") || test.field == "" && (!errors.As(opened, &wrong) || wrong.Field != "store") {
				t.Errorf("%s without a store, kind %d: %v, %v", test.field, i, valid, opened)
			}
		}
	}
}
