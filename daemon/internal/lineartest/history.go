package lineartest

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"snowfence.example/snowfence/store"
)

// outcome is the result that a swap's caller got.
type outcome string

const (
	acknowledged outcome = "acknowledged"
	conflict     outcome = "conflict"
	unknown      outcome = "unknown"
)

// swap is a swap that was made. Its value is its id, from 1, so a value shows whose it is.
type swap struct {
	id        int
	key       string
	guard     store.Version
	outcome   outcome
	version   store.Version // as acknowledged, or else as read; zero if unseen
	call, end time.Duration // the instants of the call and of the return
	seen      time.Duration // the end of the first read that showed its value; zero without such a read
}

// read is a read that showed something.
type read struct {
	key     string
	value   string
	version store.Version
	end     time.Duration
}

// history is all calls and their results.
type history struct {
	swaps []swap
	reads []read
}

// check returns an error unless the history is sound.
func (h history) check(limit time.Duration) error {
	var errs []error
	for _, r := range h.registers() {
		err := r.attribute()
		if err == nil {
			err = r.order(limit)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("key %q: %w\n%s", r.key, err, r.story()))
		}
	}
	return errors.Join(errs...)
}

// register is the history of one key.
type register struct {
	key    string
	swaps  map[int]*swap
	reads  []read
	writer map[store.Version]int // who wrote it; 0 for the zero version
}

// registers divides a history by keys: swaps of different keys are independent.
func (h history) registers() []*register {
	var registers []*register
	of := func(key string) *register {
		i := slices.IndexFunc(registers, func(r *register) bool { return r.key == key })
		if i < 0 {
			i = len(registers)
			registers = append(registers, &register{key: key, swaps: make(map[int]*swap), writer: map[store.Version]int{"": 0}})
		}
		return registers[i]
	}
	for _, s := range h.swaps {
		of(s.key).swaps[s.id] = &s
	}
	for _, r := range h.reads {
		register := of(r.key)
		register.reads = append(register.reads, r)
	}
	return registers
}

// attribute finds out which swap each version comes from. Its error names the contradiction.
func (r *register) attribute() error {
	for _, s := range r.sorted() {
		if s.outcome != acknowledged {
			continue
		}
		if other, taken := r.writer[s.version]; taken {
			return fmt.Errorf("swap %d returned version %q, which is that of %s", s.id, s.version, name(other))
		}
		r.writer[s.version] = s.id
	}
	for _, read := range r.reads {
		id, err := strconv.Atoi(read.value)
		s := r.swaps[id]
		switch {
		case err != nil || s == nil || s.call > read.end:
			return fmt.Errorf("a read shows the value %q, which was never written", read.value)
		case s.outcome == conflict:
			return fmt.Errorf("a read shows the value of swap %d, which was reported as a conflict", id)
		case s.version != "" && s.version != read.version:
			return fmt.Errorf("swap %d has two versions, %q and %q: it took effect twice", id, s.version, read.version)
		}
		if other, taken := r.writer[read.version]; taken && other != id {
			return fmt.Errorf("a read shows version %q for the value of swap %d; it is that of %s", read.version, id, name(other))
		}
		s.version, r.writer[read.version] = read.version, id
		if s.seen == 0 || read.end < s.seen {
			s.seen = read.end
		}
	}
	for _, s := range r.sorted() {
		if _, ok := r.writer[s.guard]; !ok {
			return fmt.Errorf("swap %d names version %q, which was never seen", s.id, s.guard)
		}
	}
	return nil
}

func name(writer int) string {
	if writer == 0 {
		return "no register"
	}
	return fmt.Sprintf("swap %d", writer)
}

// sorted returns the swaps in the order of their calls.
func (r *register) sorted() []*swap {
	return slices.SortedFunc(maps.Values(r.swaps), func(a, b *swap) int { return cmp.Compare(a.call, b.call) })
}

// story lists the swaps of a register, for people.
func (r *register) story() string {
	var text strings.Builder
	for _, s := range r.sorted() {
		guard := fmt.Sprintf("unknown version %q", s.guard)
		if writer, ok := r.writer[s.guard]; ok {
			guard = name(writer)
		}
		fmt.Fprintf(&text, "\t%12v to %12v: swap %d over %s: %s", s.call, s.end, s.id, guard, s.outcome)
		if s.seen > 0 {
			fmt.Fprintf(&text, ", read by %v", s.seen)
		}
		text.WriteByte('\n')
	}
	return text.String()
}
