package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"snowfence.example/snowfence/store"
)

func TestKeysAreOneToTwoHundredBytesOfTheAlphabet(t *testing.T) {
	valid := []string{"a", ".", "..", "/", "//", "-", "_", "0", store.KeyAlphabet, strings.Repeat("k", store.MaxKey)}
	for _, key := range valid {
		if err := store.ValidateKey(key); err != nil {
			t.Errorf("ValidateKey(%q) = %v", key, err)
		}
	}
	// Every single byte is a key or not, by the alphabet alone.
	for c := range 256 {
		key := string([]byte{byte(c)})
		if got, want := store.ValidateKey(key) == nil, strings.Contains(store.KeyAlphabet, key); got != want {
			t.Errorf("ValidateKey(%q) accepts: %v, want %v", key, got, want)
		}
	}
}

func TestKeyErrorNamesFieldValueAndLimit(t *testing.T) {
	long := strings.Repeat("k", 201)
	tests := []struct{ key, message string }{
		{"", `store: key "": must have 1 to 200 bytes`},
		{"Ab", `store: key "Ab": byte "A" at 0: must be one of [a-z0-9._/-]`},
		{"a\xffb", `store: key "a\xffb": byte "\xff" at 1: must be one of [a-z0-9._/-]`},
		{long, `store: key "` + long[:64] + `"… (201 bytes): must have at most 200 bytes`},
	}
	for _, test := range tests {
		err := store.ValidateKey(test.key)
		var k *store.KeyError
		if !errors.As(err, &k) || err.Error() != test.message || k.Key != test.key {
			t.Errorf("ValidateKey(%q) = %v, want %s", test.key, err, test.message)
		}
	}
	if err := store.ValidatePrefix("A"); err == nil || !strings.HasPrefix(err.Error(), `store: prefix "A"`) {
		t.Errorf("ValidatePrefix = %v", err)
	}
	if err := store.ValidatePrefix(""); err != nil {
		t.Errorf("the empty prefix is refused: %v", err)
	}
}

func TestValuesHaveAtMostFourKibibytes(t *testing.T) {
	for size, valid := range map[int]bool{0: true, 4096: true, 4097: false} {
		if err := store.ValidateValue(make([]byte, size)); (err == nil) != valid {
			t.Errorf("ValidateValue of %d bytes = %v", size, err)
		}
	}
	err := store.ValidateValue(make([]byte, 5000))
	if want := "store: value of 5000 bytes: must be at most 4096 bytes"; err == nil || err.Error() != want {
		t.Errorf("error %v, want %s", err, want)
	}
}

func TestTraitsMustNotContradictThemselves(t *testing.T) {
	tests := []struct {
		traits store.Traits
		valid  bool
	}{
		{store.Traits{Engine: "file", Durable: true, OneHost: true}, true},
		{store.Traits{Engine: "redis", Loss: time.Second}, true},
		{store.Traits{Durable: true}, false},
		{store.Traits{Engine: "redis"}, false},
		{store.Traits{Engine: "redis", Loss: -time.Second}, false},
		{store.Traits{Engine: "etcd", Durable: true, Loss: time.Second}, false},
	}
	for _, test := range tests {
		if err := test.traits.Validate(); (err == nil) != test.valid {
			t.Errorf("%v: %v", test.traits, err)
		}
	}
	if got, want := (store.Traits{Engine: "redis", Loss: time.Second}).String(), "redis: can lose 1s, many hosts"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// plain, clocked and decorated are stores that differ in their clocks alone.
type plain struct{ store.Store }

type clocked struct{ store.Store }

func (clocked) Now(context.Context) (time.Time, error) { return time.Unix(1, 0), nil }

type decorated struct{ store.Store }

func (d decorated) Unwrap() store.Store { return d.Store }

func TestClockIsFoundThroughDecorators(t *testing.T) {
	tests := []struct {
		store store.Store
		has   bool
	}{
		{nil, false},
		{plain{}, false},
		{clocked{}, true},
		{decorated{decorated{clocked{}}}, true},
		{decorated{plain{}}, false},
		{decorated{}, false},
	}
	for _, test := range tests {
		if _, has := store.ClockOf(test.store); has != test.has {
			t.Errorf("ClockOf(%#v): %v, want %v", test.store, has, test.has)
		}
	}
}

func FuzzValidateKey(f *testing.F) {
	f.Add("a")
	f.Add("")
	f.Add("snow/fence/0001")
	f.Add("Ü")
	f.Fuzz(func(t *testing.T, key string) {
		valid := len(key) >= 1 && len(key) <= store.MaxKey && strings.Trim(key, store.KeyAlphabet) == ""
		if err := store.ValidateKey(key); (err == nil) != valid {
			t.Errorf("ValidateKey(%q) = %v", key, err)
		}
	})
}
