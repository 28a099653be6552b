package stored

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/store"
)

// Process names the process that writes a register. It is for people: no decision
// about safety reads it.
type Process struct {
	// Host is the machine's name, at most 255 bytes of UTF-8 without control characters.
	Host string
	// PID is the process id on that machine.
	PID int
	// Version is the program's version, at most 128 bytes of UTF-8 without control characters.
	Version string
	// Started is when the process started. Two holders with equal host, pid and
	// start are one program.
	Started time.Time
}

// CheckProcess returns a *[ConfigError] for a host or a version that can't be written. Registers show them to people.
func CheckProcess(p Process) error {
	for _, text := range []struct {
		field, value string
		most         int
	}{{"host", p.Host, 255}, {"version", p.Version, 128}} {
		if len(text.value) > text.most || !utf8.ValidString(text.value) || strings.ContainsFunc(text.value, unicode.IsControl) {
			limit := fmt.Sprintf("must be UTF-8 of at most %d bytes without control characters", text.most)
			return &ConfigError{Field: text.field, Value: text.value, Limit: limit}
		}
	}
	return nil
}

// String reads "pid 7 on host a", as far as these are given. A host from a store can have any characters: those that a
// terminal would obey or hide are written out.
func (p Process) String() string {
	host := strconv.Quote(p.Host)
	host = host[1 : len(host)-1]
	switch {
	case p.Host == "" && p.PID == 0:
		return "a process that gave no name"
	case p.Host == "":
		return fmt.Sprintf("pid %d", p.PID)
	case p.PID == 0:
		return "a process on host " + host
	}
	return fmt.Sprintf("pid %d on host %s", p.PID, host)
}

// Same reports whether two holders are one program.
func (p Process) Same(other Process) bool {
	return p.Host == other.Host && p.PID == other.PID && p.Started.Equal(other.Started)
}

// Register is the store's entry for one worker id. It is never deleted.
type Register struct {
	// Namespace and incarnation, repeated from the namespace's record.
	Layout, Incarnation string

	// Term counts the claims of this worker id, from 1. It only grows.
	Term int64

	// Floor is the first tick that the present term may stamp.
	Floor snowfence.Tick

	// Until is the exclusive upper bound of the ticks that were stamped with this worker
	// id, or may be. Only a release lowers it, and never below a stamped tick.
	Until snowfence.Tick

	// Holder is the nonce of the claim, 128 random bits in hexadecimal; empty
	// when released.
	Holder string

	// Write is a random mark of this very write, 64 bits in hexadecimal. With it a holder
	// that lost a reply distinguishes its own write from the write of a clone.
	Write string

	// Clock is the writer's wall clock at this write.
	Clock time.Time

	// Window is how far ahead of its clock the holder takes ticks.
	Window time.Duration

	// Quarantined takes the worker id out of use until it is cleared again. Only
	// an operator writes it. See [Quarantined].
	Quarantined bool

	// Process is the last holder's.
	Process Process
}

// Extended returns the register with ticks up to a window from now, which is rounded up to whole ticks. The window is whole
// ticks. Until never comes down.
func (r Register) Extended(layout snowfence.Layout, now time.Time, window time.Duration, process Process) Register {
	tick := layout.TickAt(now)
	if layout.TimeOf(tick).Before(now) {
		tick++
	}
	r.Until = min(layout.HorizonTick(), max(r.Until, tick+snowfence.Tick(window/layout.Unit)))
	r.Window, r.Process = window, process
	return r
}

// Released returns the register without its holder. Here alone until may come down, to a tick above every stamped one, and
// never below the floor. That is safe if nothing is stamped any more.
func (r Register) Released(reserved snowfence.Tick) Register {
	r.Holder = ""
	r.Until = min(r.Until, max(reserved, r.Floor))
	return r
}

func (r *Register) text() any {
	return &struct {
		Format      int             `json:"format"`
		Layout      *string         `json:"layout"`
		Incarnation *string         `json:"incarnation"`
		Term        *int64          `json:"term"`
		Floor       *snowfence.Tick `json:"floor"`
		Until       *snowfence.Tick `json:"until"`
		Holder      *string         `json:"holder"`
		Write       *string         `json:"write"`
		Clock       *time.Time      `json:"clock"`
		Window      *duration       `json:"window"`
		Quarantined *bool           `json:"quarantined"`
		Host        *string         `json:"host"`
		PID         *int            `json:"pid"`
		Version     *string         `json:"version"`
		Started     *time.Time      `json:"started"`
	}{
		format, &r.Layout, &r.Incarnation, &r.Term, &r.Floor, &r.Until, &r.Holder, &r.Write, &r.Clock,
		(*duration)(&r.Window), &r.Quarantined, &r.Process.Host, &r.Process.PID, &r.Process.Version, &r.Process.Started,
	}
}

func (r *Register) check() error {
	switch {
	case r.Term < 1:
		return fmt.Errorf("field \"term\" is %d: must be at least 1", r.Term)
	case r.Floor < 0:
		return fmt.Errorf("field \"floor\" is %d: must be at least 0", r.Floor)
	case r.Until < r.Floor:
		return fmt.Errorf("field \"until\" is %d: must be at least the floor, %d", r.Until, r.Floor)
	case r.Window < 0:
		return fmt.Errorf("field \"window\" is %s: must not be negative", r.Window)
	}
	err := cmp.Or(checkHex("incarnation", r.Incarnation, 16), checkHex("write", r.Write, 8))
	if err == nil && r.Holder != "" {
		err = checkHex("holder", r.Holder, 16)
	}
	return err
}

// Encode writes the register as it is stored.
func (r Register) Encode() ([]byte, error) {
	r.Clock, r.Process.Started = r.Clock.UTC(), r.Process.Started.UTC()
	return encode(&r, store.MaxValue)
}

// DecodeRegister reads a register. An error wrapping [ErrRecord] is returned for every
// value that this program would not have written. Such a register is never claimed.
func DecodeRegister(value []byte) (Register, error) {
	var r Register
	if err := decode(value, &r, store.MaxValue); err != nil {
		return Register{}, err
	}
	return r, nil
}

// RegisterKey is where the register of a worker number is stored.
func RegisterKey(namespace string, layout snowfence.Layout, worker int64) string {
	return RegisterPrefix(namespace) + WorkerDigits(layout, worker)
}

// WorkerDigits is a worker number in decimal, as wide as the layout's greatest.
func WorkerDigits(layout snowfence.Layout, worker int64) string {
	return fmt.Sprintf("%0*d", len(strconv.FormatInt(layout.Workers()-1, 10)), worker)
}

// WorkerOf is the reverse of [RegisterKey]. It reports false for a key that
// RegisterKey does not make.
func WorkerOf(namespace string, layout snowfence.Layout, key string) (worker int64, ok bool) {
	digits, ok := strings.CutPrefix(key, RegisterPrefix(namespace))
	if !ok {
		return 0, false
	}
	worker, err := strconv.ParseInt(digits, 10, 64)
	ok = err == nil && worker >= 0 && worker < layout.Workers() && WorkerDigits(layout, worker) == digits
	return worker, ok
}
