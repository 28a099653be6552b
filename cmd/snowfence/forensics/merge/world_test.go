package merge_test

import (
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

// foreign is the issuer of a layout: side.
func foreign(t *testing.T, arg string) *merge.Issuer {
	t.Helper()
	side := parse(t, arg, "zz=other")[0]
	return merge.ForeignIssuer(side.Name, side.Layouts[0], now)
}

// namespace is a namespace in memory whose registers are written as given, with
// the layout's incarnation.
func namespace(t *testing.T, side string, l snowfence.Layout, datacenters []int64, registers map[int64]stored.Register) (*merge.Issuer, *roster.Roster) {
	t.Helper()
	s := memstore.New().Client()
	config := roster.Config{Store: s, Clock: stopped{snowfence.SystemClock()}}
	r, err := roster.Create(context.Background(), config, l, datacenters)
	if err != nil {
		t.Fatal(err)
	}
	for number, register := range registers {
		register.Layout, register.Incarnation = r.Record().Layout, r.Record().Incarnation
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

func named(t *testing.T, name, arg string) *merge.Issuer {
	t.Helper()
	return foreign(t, name+"="+arg)
}
