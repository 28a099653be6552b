package kinds

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/counter"
	"snowfence.example/snowfence/internal/kindtest"
	"snowfence.example/snowfence/kind"
	"snowfence.example/snowfence/store/memstore"
)

func find(t *testing.T, name string) kind.Kind {
	t.Helper()
	for i, k := range All(Config{Clock: snowfence.SystemClock()}) {
		if Names()[i] != k.Name() {
			t.Fatalf("kind %d is %s, not %s", i, k.Name(), Names()[i])
		}
		if k.Name() == name {
			return k
		}
	}
	t.Fatalf("no kind is named %q", name)
	return nil
}

func TestEveryKindKeepsTheRulesOfKinds(t *testing.T) {
	for _, name := range Names() {
		t.Run(name, func(t *testing.T) {
			kindtest.TestMinter(t, func(t *testing.T) kind.Minter {
				t.Helper()
				open, err := find(t, name).Configure(nil)
				if err != nil {
					t.Fatal(err)
				}
				m, err := open(t.Context(), kind.Spec{Generator: "orders", Store: memstore.New().Client(), Namespace: "default"})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := m.(kind.Closer).Close(context.Background()); err != nil {
						t.Error(err)
					}
				})
				if err := m.(kind.Readier).Ready(); err != nil {
					t.Errorf("not ready: %v", err)
				}
				return m
			})
		})
	}
}

func TestSettingThatCanNotBeUsedIsNamed(t *testing.T) {
	for _, test := range []struct{ kind, key, value, want string }{
		{"segment", "step", "0", "1 or more"},
		{"segment", "steps", "5", "known are increment, limit, max-wait, most-step, name, start, step, target"},
		{"segment", "target", "-1s", "above 0"},
		{"ticket", "start", "-1", "0 or more"},
		{"ticket", "step", "5", "no setting of kind ticket"},
		{"daily", "zone", "Nowhere/Else", "time zone"},
		{"daily", "zone", "Local", "time zone"},
		{"daily", "digits", "x", "whole number"},
	} {
		_, err := find(t, test.kind).Configure(map[string]string{test.key: test.value})
		var wrong *kind.SettingError
		if !errors.As(err, &wrong) || wrong.Key != test.key || !strings.Contains(wrong.Limit, test.want) {
			t.Errorf("%s: %s=%s: %v, want %q", test.kind, test.key, test.value, err, test.want)
		}
	}
}

func TestCounterThatIsFullIsNotReady(t *testing.T) {
	open, err := find(t, "ticket").Configure(map[string]string{"limit": "3", "max-wait": "1s"})
	if err != nil {
		t.Fatal(err)
	}
	m, err := open(t.Context(), kind.Spec{Generator: "orders", Store: memstore.New().Client(), Namespace: "default"})
	if err != nil {
		t.Fatal(err)
	}
	var b kind.Batch
	if err := m.Mint(t.Context(), 3, &b); err != nil || m.(kind.Readier).Ready() == nil {
		t.Errorf("minted %d (%v), and it is ready", b.Len(), err)
	}
	if err := m.Mint(t.Context(), 1, &b); err == nil || !strings.Contains(err.Error(), "3 is the greatest") {
		t.Errorf("beyond the limit: %v", err)
	}
}

func TestCounterThatRunsOutWithinAYearIsSaid(t *testing.T) {
	now := time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC)
	for at, near := range map[time.Duration]bool{100 * 24 * time.Hour: true, 400 * 24 * time.Hour: false} {
		if nearEnd(counter.Status{RunsOut: now.Add(at)}, now) != near {
			t.Errorf("a counter that runs out in %s: %t", at, !near)
		}
	}
	if nearEnd(counter.Status{}, now) {
		t.Error("a counter without a rate runs out")
	}
}
