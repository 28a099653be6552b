package stored

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestPageIsReadAsItWasWritten(t *testing.T) {
	page := testPage()
	pending(t, &page)
	page.Namespace.Datacenters = []int64{0, 1}
	page.Loss = time.Second
	got, err := DecodePage(encoded(t, page))
	if err != nil {
		t.Fatal(err)
	}
	if string(encoded(t, got)) != string(encoded(t, page)) || string(got.Pending) != string(page.Pending) || got.Loss != page.Loss {
		t.Errorf("read as %+v, written as %+v", got, page)
	}
}

func TestPageThatThisProgramWouldNotWriteIsRefused(t *testing.T) {
	page := testPage()
	pending(t, &page)
	good := string(encoded(t, page))
	for _, test := range []struct{ name, from, to string }{
		{"a newer format", `{"format":1`, `{"format":2`},
		{"an unknown field", `"worker":2`, `"worker":2,"more":1`},
		{"a missing field", `"loss":"0s"`, `"losss":"0s"`},
		{"a null register", `"worker":2`, `"worker":null`},
		{"no version", `"version":"v7"`, `"version":""`},
		{"usable above until", `"usable":1000600`, `"usable":1000601`},
		{"used below the floor", `"used":1000040`, `"used":999699`},
		{"used above usable", `"used":1000040`, `"used":1000601`},
		{"a register without a holder", `"holder":"ffeeddccbbaa99887766554433221100"`, `"holder":""`},
		{"a register of another incarnation", `"register":{"format":1,"layout":"ms41-datacenter1-worker1-seq12@2026-01-01T00:00:00Z","incarnation":"0`,
			`"register":{"format":1,"layout":"ms41-datacenter1-worker1-seq12@2026-01-01T00:00:00Z","incarnation":"1`},
		{"a pending write of another term", `\"term\":4`, `\"term\":5`},
		{"a pending write that lowers until", `\"until\":1000900`, `\"until\":1000599`},
		{"a negative loss", `"loss":"0s"`, `"loss":"-1s"`},
		{"a negative age", `"loss":"0s"`, `"loss":"0s","age":"-1s"`},
		{"an age that is nothing", `"loss":"0s"`, `"loss":"0s","age":"0s"`},
		{"nothing", good, ``},
	} {
		t.Run(test.name, func(t *testing.T) {
			bad := strings.Replace(good, test.from, test.to, 1)
			if bad == good {
				t.Fatalf("%s is not in %s", test.from, good)
			}
			if p, err := DecodePage([]byte(bad)); !errors.Is(err, ErrRecord) {
				t.Errorf("read as %+v, %v", p, err)
			}
		})
	}
}

func FuzzPageIsReadAsItIsWritten(f *testing.F) {
	page := testPage()
	f.Add(encoded(f, page))
	r := page.Register
	r.Until, r.Write = testStart+900, "fedcba9876543210"
	page.Pending = encoded(f, r)
	f.Add(encoded(f, page))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := DecodePage(b)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Fatalf("the error is %v", err)
			}
			return
		}
		again, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		if q, err := DecodePage(again); err != nil || q.Used != p.Used || q.Worker != p.Worker {
			t.Fatalf("%s is read as %+v, %v", again, q, err)
		}
		if p.Used < p.Register.Floor || p.Used > p.Usable || p.Usable > p.Register.Until {
			t.Fatalf("%+v contradicts itself", p)
		}
	})
}
