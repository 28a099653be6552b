package memstore

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// Config is the kind of store that a [Memory] plays. Its zero value is a durable
// one without a clock.
type Config struct {
	// Rand gives the random bytes of versions, 16 for each, one call at a time. Nil
	// means crypto/rand. A seeded source makes versions replay; it must not repeat itself, because
	// versions would.
	Rand io.Reader

	// Loss is the greatest age of an acknowledged write that Failover can take
	// away. Zero means durable: the memory is durable. It is never negative.
	Loss time.Duration

	// Clock measures the age of writes, by its monotonic time. Nil means the
	// system's. It is read only if Loss is not zero.
	Clock snowfence.Clock

	// Now is the engine's clock, which clients then offer as [store.Clock].
	// Nil means that the engine has none.
	Now func() time.Time
}

// Memory is a store in memory: the state that its clients share. It is safe
// for concurrent use.
type Memory struct {
	name   string
	random io.Reader
	loss   time.Duration
	clock  snowfence.Clock
	now    func() time.Time

	mu        sync.Mutex
	registers map[string]register
	journal   []write // the writes that Failover may still take away, oldest first
}

// register is a register's state. Its value is read-only once it is here, so states may share it.
type register struct {
	version store.Version
	value   []byte
}

// write is an acknowledged swap and the replaced entry.
type write struct {
	at     time.Duration // when it was acknowledged, on the monotonic clock
	key    string
	before register // its version is zero if the key did not exist
}

// New returns an empty, durable memory.
func New() *Memory { return NewWith(Config{}) }

// NewWith returns an empty memory of the kind that c describes.
func NewWith(c Config) *Memory {
	return &Memory{
		name:      "mem://" + rand.Text(),
		random:    c.Rand,
		loss:      c.Loss,
		clock:     cmp.Or(c.Clock, snowfence.SystemClock()),
		now:       c.Now,
		registers: make(map[string]register),
	}
}

// Client opens a client. [store.ClockOf] finds the memory's clock, if it has one.
func (m *Memory) Client() store.Store { return m.client() }

func (m *Memory) client() *Store { return &Store{memory: m, life: storeclient.Begin()} }

// Len returns the number of registers.
func (m *Memory) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.registers)
}

// A Snapshot is the whole state of a [Memory] at one moment, as a backup would
// hold it.
type Snapshot struct {
	registers map[string]register
}

// Snapshot takes a backup.
func (m *Memory) Snapshot() Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return Snapshot{maps.Clone(m.registers)}
}

// Restore rolls the store back (or forward) to s, under its clients' feet. The zero
// Snapshot empties it. Versions stay unique all the same.
func (m *Memory) Restore(s Snapshot) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.registers = maps.Clone(s.registers)
	if m.registers == nil {
		m.registers = make(map[string]register)
	}
	m.journal = nil
}

// Failover takes away every write that was acknowledged less than age ago, as the promotion
// of a replica does that lags by age, and returns how many they were. It returns an error,
// and takes nothing, if age is more than the memory's Loss.
func (m *Memory) Failover(age time.Duration) (lost int, err error) {
	if age > m.loss {
		return 0, fmt.Errorf("memstore: age %v: must be at most the declared loss, %v", age, m.loss)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock.Monotonic()
	for len(m.journal) > 0 {
		last := m.journal[len(m.journal)-1]
		if now-last.at >= age {
			break
		}
		if last.before.version == "" {
			delete(m.registers, last.key)
		} else {
			m.registers[last.key] = last.before
		}
		m.journal = m.journal[:len(m.journal)-1]
		lost++
	}
	return lost, nil
}

// get returns the register at key, and whether it exists.
func (m *Memory) get(key string) (register, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r, ok := m.registers[key]
	return r, ok
}

// swap is the whole of compare-and-swap. The lock makes it linearizable: it
// takes effect where the map is written. A missing register's version is the
// zero one, so creation is a comparison like any other.
func (m *Memory) swap(key string, prev store.Version, value []byte) (store.Version, error) {
	value = slices.Clone(value)
	m.mu.Lock()
	defer m.mu.Unlock()
	current := m.registers[key]
	if current.version != prev {
		return "", store.ErrConflict
	}
	// The lock is held: Rand need not be safe for concurrent use.
	token, err := storeclient.DrawToken(m.random)
	if err != nil {
		return "", fmt.Errorf("memstore: %w", err)
	}
	version := store.Version(token.String())
	m.registers[key] = register{version: version, value: value}
	if m.loss > 0 {
		m.record(key, current)
	}
	return version, nil
}

// record keeps the entry that a write replaced for as long as Failover may take the write away, and
// forgets older ones.
func (m *Memory) record(key string, before register) {
	now := m.clock.Monotonic()
	safe := 0
	for safe < len(m.journal) && now-m.journal[safe].at >= m.loss {
		safe++
	}
	m.journal = append(m.journal[safe:], write{at: now, key: key, before: before})
}

// keys returns the keys that exist.
func (m *Memory) keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Collect(maps.Keys(m.registers))
}
