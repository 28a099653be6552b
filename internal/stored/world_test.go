package stored

import (
	"testing"
	"time"

	"snowfence.example/snowfence"
)

// testLayout counts ms from testEpoch and has 4 workers.
func testLayout() snowfence.Layout {
	l := snowfence.DefaultLayout()
	l.Fields = []snowfence.Field{
		{Kind: snowfence.Time, Bits: 41}, {Kind: snowfence.Datacenter, Bits: 1}, {Kind: snowfence.Worker, Bits: 1}, {Kind: snowfence.Sequence, Bits: 12},
	}
	return l
}

func testNamespace() Namespace {
	return Namespace{Layout: testLayout().String(), Incarnation: testIncarnation, Created: testWall().Add(-time.Hour)}
}

// held is a register of another process with an until that many ms from the
// script's start.
func held(until snowfence.Tick) Register {
	return Register{
		Layout: testLayout().String(), Incarnation: testIncarnation, Term: 4, Floor: testStart - 500, Until: testStart + until,
		Holder: "ffeeddccbbaa99887766554433221100", Write: "0123456789abcdef",
		Clock: testWall(), Window: 900 * time.Millisecond, Process: otherProcess(),
	}
}

// released is the same one without its holder.
func released(until snowfence.Tick) Register {
	r := held(until)
	r.Holder = ""
	return r
}

// testWall is tick 1,000,000 of the layout.
func testWall() time.Time { return testLayout().TimeOf(1_000_000) }

const (
	testStart       = 1_000_000
	testIncarnation = "00112233445566778899aabbccddeeff"
)

func otherProcess() Process {
	return Process{Host: "host-b", PID: 8, Version: "v1", Started: testWall().Add(-time.Hour)}
}

// testPage is of a term that was claimed 300 ms ago and is usable for 600 more.
func testPage() Page {
	r := held(600)
	r.Floor = testStart - 300
	return Page{
		Name: DefaultNamespace, Namespace: testNamespace(), Worker: 2, Version: "v7",
		Register: r, Usable: r.Until, Used: testStart + 40,
	}
}

// pending adds an extension whose outcome is open.
func pending(t *testing.T, p *Page) Register {
	t.Helper()
	r := p.Register
	r.Until, r.Write = testStart+900, "fedcba9876543210"
	p.Pending = encoded(t, r)
	return r
}
