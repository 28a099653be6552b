package openstore

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/daemon/engine"
	"snowfence.example/snowfence/store/natsstore"
	"snowfence.example/snowfence/store/redisstore"
	"snowfence.example/snowfence/store/sqlstore"
)

// TestTableHasTheKeysOfEveryEngine asks each engine with servers for the keys that it
// knows: a key that the table lacks would be hidden from people.
func TestTableHasTheKeysOfEveryEngine(t *testing.T) {
	for _, e := range engine.Table() {
		for _, scheme := range e.Schemes {
			if e.Keys == "" {
				continue
			}
			place := "me@a"
			switch {
			case e.Database:
				place += "/db"
			case strings.HasSuffix(e.Like, ":///"): // no host
				place = ""
			}
			_, err := parserOf(e.Schemes[0])(scheme + "://" + place + "?no-such-key=1")
			if err == nil {
				t.Errorf("%s: an unknown key is accepted", scheme)
				continue
			}
			_, list, _ := strings.Cut(err.Error(), "known are ")
			if want := slices.Sorted(slices.Values(strings.Fields(e.Keys))); list != strings.Join(want, ", ") {
				t.Errorf("%s: the engine knows %s, the table %s", scheme, list, strings.Join(want, ", "))
			}
		}
	}
}

func TestEveryEngineOfTheTableHasAParser(t *testing.T) {
	for _, e := range engine.Table() {
		_, err := parserOf(e.Schemes[0])(e.Like)
		if missing, ok := errors.AsType[*noParserError](err); ok {
			t.Error(missing)
		}
	}
	if _, err := parserOf("new")("new://"); err == nil || !strings.Contains(err.Error(), "no row for the engine new") {
		t.Errorf("an engine without a row: %v", err)
	}
}

// TestTableHasTheLossOfEveryEngine compares the table, which does not link the engines, with the
// engines' own constants.
func TestTableHasTheLossOfEveryEngine(t *testing.T) {
	own := map[string]time.Duration{
		"redis": redisstore.DefaultLoss, "postgres": sqlstore.DefaultLoss, "mysql": sqlstore.DefaultLoss, "nats": natsstore.DefaultLoss,
	}
	for _, e := range engine.Table() {
		if want := own[e.Schemes[0]]; e.Loss != want {
			t.Errorf("%s: the loss is %s in the table, %s in the engine", e.Schemes[0], e.Loss, want)
		}
	}
}
