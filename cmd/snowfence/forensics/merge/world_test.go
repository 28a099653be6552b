package merge_test

import (
	"cmp"
	"context"
	"fmt"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/cmd/snowfence/forensics/merge"
	"snowfence.example/snowfence/internal/roster"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store/memstore"
)

// now is when the tests take place.
var now = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// stopped is a clock that stands at now.
type stopped struct{ snowfence.Clock }

func layout(t *testing.T, text string) snowfence.Layout {
	t.Helper()
	l, err := snowfence.ParseLayout(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// namespace is a namespace in memory whose registers are written as given, with
// the record's layout and incarnation if they have none.
func namespace(t *testing.T, side string, l snowfence.Layout, datacenters []int64, registers map[int64]stored.Register) (*merge.Issuer, *roster.Roster) {
	t.Helper()
	s := memstore.New().Client()
	config := roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}
	r, err := roster.Create(context.Background(), config, l, datacenters)
	if err != nil {
		t.Fatal(err)
	}
	for number, register := range registers {
		register.Layout, register.Incarnation = cmp.Or(register.Layout, r.Record().Layout), cmp.Or(register.Incarnation, r.Record().Incarnation)
		register.Write, register.Window = fmt.Sprintf("%016x", number+1), time.Minute
		value, err := register.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Swap(context.Background(), stored.RegisterKey("default", l, number), "", value); err != nil {
			t.Fatal(err)
		}
	}
	i, err := merge.IssuerOf(context.Background(), side, "mem://", r)
	if err != nil {
		t.Fatal(err)
	}
	return i, r
}

// minutes is a tick of a layout, so many minutes from now.
func minutes(l snowfence.Layout, n int) snowfence.Tick {
	return l.TickAt(now.Add(time.Duration(n) * time.Minute))
}

const nonce = "00112233445566778899aabbccddeeff"

// named is the issuer of a layout, of a side with a name.
func named(t *testing.T, name, arg string) *merge.Issuer {
	t.Helper()
	return merge.ForeignIssuer(name, parse(t, arg, "other")[0].Layouts[0], now)
}

func ticks(first, last snowfence.Tick) merge.Ticks { return merge.Ticks{First: first, Last: last} }

func workers(first, last int64) merge.Workers { return merge.Workers{First: first, Last: last} }
