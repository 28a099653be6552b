package lease

import (
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
)

func TestConfigNamesTheFieldAtFault(t *testing.T) {
	four, minus := int64(4), int64(-1)
	tests := []struct {
		field  string
		change func(*Config)
	}{
		{"namespace", func(c *Config) { c.Namespace = "A" }},
		{"window", func(c *Config) { c.Window = -1 }},
		{"window", func(c *Config) { c.Window = 10 }}, // meant as seconds
		{"window", func(c *Config) { c.Window = 50*time.Millisecond - 1 }},
		{"window", func(c *Config) { c.Window = 31*24*time.Hour + 1 }},
		{"window", func(c *Config) { c.Window, c.Loss = 900*time.Millisecond, 300*time.Millisecond }}, // must be more than three losses
		{"window", func(c *Config) { c.Loss = -1 }},
		{"journal", func(c *Config) { c.Layout, c.JournalAhead = strictLayout(), time.Second }},
		{"claim-wait", func(c *Config) { c.ClaimWait = -1 }},
		{"max-rollback", func(c *Config) { c.MaxRollback = -1 }},
		{"worker", func(c *Config) { c.Worker = &four }},
		{"worker", func(c *Config) { c.Worker = &minus }},
		{"host", func(c *Config) { c.Process.Host = strings.Repeat("h", 256) }},
		{"host", func(c *Config) { c.Process.Host = "\xff" }},
		{"host", func(c *Config) { c.Process.Host = "a\r\nworker 1 free" }},
		{"version", func(c *Config) { c.Process.Version = "v1\u009b2J" }},
		{"version", func(c *Config) { c.Process.Version = strings.Repeat("v", 129) }},
	}
	for _, test := range tests {
		c := Config{Layout: testLayout()}
		test.change(&c)
		_, err := New(c)
		var fault *stored.ConfigError
		if !errors.As(err, &fault) || fault.Field != test.field {
			t.Errorf("%s: the error is %v", test.field, err)
		}
	}
}

func TestConfigRefusesDatacentersBeyondTheLayout(t *testing.T) {
	two := int64(2)
	for _, c := range []Config{{Datacenters: []int64{2}}, {Datacenter: &two}} {
		c.Layout = testLayout()
		_, err := New(c)
		var fault *snowfence.RangeError
		if !errors.As(err, &fault) {
			t.Errorf("the error is %v", err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a config without a layout is taken")
	}
}

func TestDatacenterRestrictsTheClaim(t *testing.T) {
	one := int64(1)
	for range 20 {
		s := newScript(t, func(c *Config) { c.Datacenter = &one })
		s.open()
		key := s.called(Get).Key
		if w, ok := stored.WorkerOf("default", testLayout(), key); !ok || w < 2 {
			t.Errorf("it probes %q", key)
		}
	}
}

func TestCallsAreAwaitedNoLongerThanTheirClaim(t *testing.T) {
	s := newScript(t, func(c *Config) { c.RequestTimeout = 600 * time.Millisecond })
	s.open()
	for _, at := range []struct{ left, patience time.Duration }{
		{time.Second, 600 * time.Millisecond}, {500 * time.Millisecond, 500 * time.Millisecond}, {0, leastTimeout},
	} {
		if got := s.state.Patience(s.state.search.deadline - at.left); got != at.patience {
			t.Errorf("with %s left a call is awaited for %s, want %s", at.left, got, at.patience)
		}
	}
	if s.claim(); s.state.Patience(s.now.Monotonic+time.Hour) != 600*time.Millisecond {
		t.Error("a term's call is cut by the end of its claim")
	}
}
