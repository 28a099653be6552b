package front

import (
	"cmp"
	"encoding/json"
	"strconv"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/lend"
)

// LeaseForm is a request about a lease as protocols carry it: each field is a text, and empty if it is left out.
// docs/lending.md has the fields.
type LeaseForm struct {
	Now, Host, PID, Program string
	Lease, Mark             string
	Next, Open              string // of a release
}

// Borrower reads the form of a claim, or that part of another one. Its error is a [*Problem].
func (f LeaseForm) Borrower() (lend.Borrower, error) {
	now, wrongNow := whole("now", f.Now, "must be the borrower's clock, in milliseconds since 1970")
	pid, wrongPID := whole("pid", cmp.Or(f.PID, "0"), "must be a whole number, 0 or more")
	b := lend.Borrower{Now: time.UnixMilli(now).UTC(), Host: f.Host, PID: int(pid), Program: f.Program}
	return b, cmp.Or(wrongNow, wrongPID)
}

// Extension reads the form of an extension. The worker id is that of the request's path; empty if the protocol has none.
// Its error is a [*Problem].
func (f LeaseForm) Extension(worker string) (lend.Extension, error) {
	b, wrong := f.Borrower()
	lease, wrongLease := f.lease(worker)
	return lend.Extension{Borrower: b, Lease: lease, Mark: f.Mark}, cmp.Or(wrong, wrongLease)
}

// Release reads the form of a release, as Extension does. It needs no clock.
func (f LeaseForm) Release(worker string) (lend.Release, error) {
	f.Now = cmp.Or(f.Now, "0")
	e, err := f.Extension(worker)
	r := lend.Release{Borrower: e.Borrower, Lease: e.Lease, Mark: e.Mark, Open: f.Open}
	if err == nil && f.Next != "" {
		var next int64
		next, err = whole("next", f.Next, "must be a tick, as a whole number")
		r.Next = (*snowfence.Tick)(&next)
	}
	return r, err
}

// lease reads the lease, which must be of the worker id.
func (f LeaseForm) lease(worker string) (lend.Lease, error) {
	l, err := lend.ParseLease(f.Lease)
	switch {
	case err != nil:
		return l, InvalidLease.Field("lease", f.Lease, err.Error())
	case worker != "" && worker != strconv.FormatInt(l.Worker, 10):
		return l, InvalidLease.Field("worker", worker, "must be that of the lease, "+strconv.FormatInt(l.Worker, 10))
	}
	return l, nil
}

// whole reads a whole number that is not negative, as it is written.
func whole(field, text, limit string) (int64, error) {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 || strconv.FormatInt(n, 10) != text {
		return 0, InvalidLease.Field(field, text, limit)
	}
	return n, nil
}

// LeaseField is a part of what a borrower is told.
type LeaseField struct {
	Name, Text string
	Number     bool // it is small enough for each language's numbers
}

// LeaseFields are the parts of what a borrower is told, in the order of the documents. Those of the layout stand for the
// fields that it has.
func LeaseFields(a lend.Answer) []LeaseField {
	var all []LeaseField
	text := func(name, value string) { all = append(all, LeaseField{name, value, false}) }
	number := func(name string, n int64) { all = append(all, LeaseField{name, strconv.FormatInt(n, 10), true}) }
	text("lease", a.Lease.String())
	if a.Mark != "" {
		text("mark", a.Mark)
	}
	number("worker", a.Lease.Worker)
	number("datacenter", a.Datacenter())
	text("layout", a.Layout.String())
	number("unit_us", a.Layout.Unit.Microseconds())
	number("epoch_ms", a.Layout.Epoch.UnixMilli())
	for _, f := range a.Layout.Fields {
		switch f.Kind {
		case snowfence.Time, snowfence.Datacenter, snowfence.Worker, snowfence.Sequence, snowfence.Random:
			name := f.Kind.String()
			number(name+"_shift", int64(a.Layout.Shift(f.Kind)))
			number(name+"_bits", int64(f.Bits))
		}
	}
	text("form", LeaseText(a.Layout))
	text("base", a.Base())
	text("check", a.Check())
	text("floor", strconv.FormatInt(int64(a.Floor), 10))
	text("until", strconv.FormatInt(int64(a.Lease.Until), 10))
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
func LeaseLoss(a lend.Answer) int64 { return (a.Loss + time.Millisecond - 1).Milliseconds() }

// LeaseJSON writes the fields as an object. Numbers that JavaScript would round stand as texts.
func LeaseJSON(a lend.Answer) []byte {
	b := []byte{'{'}
	for i, f := range LeaseFields(a) {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, f.Name), ':')
		if f.Number {
			b = append(b, f.Text...)
			continue
		}
		quoted, _ := json.Marshal(f.Text) // a text can be written
		b = append(b, quoted...)
	}
	return append(b, "}\n"...)
}
