package front

import (
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
)

// LeaseField is a field of an answer about a lease.
type LeaseField struct {
	Name, Text string
	Number     bool // it is small enough for each language's numbers
}

// LeaseFields are the fields of an answer, in the order of the documents. A layout's field that it lacks is left out.
func LeaseFields(a kind.Lent) []LeaseField {
	var all []LeaseField
	text := func(name, value string) { all = append(all, LeaseField{name, value, false}) }
	number := func(name string, n int64) { all = append(all, LeaseField{name, strconv.FormatInt(n, 10), true}) }
	text("lease", a.Lease)
	if a.Mark != "" {
		text("mark", a.Mark)
	}
	number("worker", a.Worker)
	number("datacenter", a.Datacenter)
	text("layout", a.Layout.String())
	number("unit_us", a.Layout.Unit.Microseconds())
	number("epoch_ms", a.Layout.Epoch.UnixMilli())
	for _, f := range a.Layout.Fields {
		switch f.Kind {
		case snowfence.Time, snowfence.Datacenter, snowfence.Worker, snowfence.Sequence, snowfence.Random:
			number(f.Kind.String()+"_shift", int64(a.Layout.Shift(f.Kind)))
			number(f.Kind.String()+"_bits", int64(f.Bits))
		}
	}
	text("form", LeaseText(a.Layout))
	text("base", a.Base)
	text("check", a.Check)
	text("floor", strconv.FormatInt(int64(a.Floor), 10))
	text("until", strconv.FormatInt(int64(a.Until), 10))
	text("horizon", strconv.FormatInt(int64(a.Layout.HorizonTick()), 10))
	number("window_ms", a.Window.Milliseconds())
	number("extend_after_ms", (a.Window / 3).Milliseconds())
	number("loss_ms", LeaseLoss(a))
	number("max_behind_ms", a.MaxBehind.Milliseconds())
	return all
}

// LeaseText is how the ids of a layout are written: in decimal, as a UUID, or in so many hexadecimal digits.
func LeaseText(l snowfence.Layout) string {
	switch {
	case !l.Wide:
		return "decimal"
	case l.UUID():
		return "uuid"
	}
	return "hex" + strconv.Itoa(len(l.Text(snowfence.WideID{})))
}

// LeaseLoss is how much the store can lose, in milliseconds, rounded up.
func LeaseLoss(a kind.Lent) int64 { return (a.Loss + time.Millisecond - 1).Milliseconds() }

// LeaseJSON writes the fields as an object. Numbers that JavaScript would round stand as texts.
func LeaseJSON(a kind.Lent) []byte {
	b := []byte{'{'}
	for i, f := range LeaseFields(a) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.Name), ':')
		if f.Number {
			b = append(b, f.Text...)
		} else {
			b = strconv.AppendQuote(b, f.Text) // it is ASCII without control characters
		}
	}
	return append(b, "}\n"...)
}
