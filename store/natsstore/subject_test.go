package natsstore

import (
	"strings"
	"testing"

	"snowfence.example/snowfence/store"
)

func TestKeysAndSubjectsAreOneToOne(t *testing.T) {
	tests := []struct{ key, subject string }{
		{"a", "a"},
		{"workers/default/0001", "workers.default.0001"},
		{"a//b.", "a.E.b="},
		{".", "="},
		{"..", "=="},
		{"/", "E.E"},
		{"a/", "a.E"},
		{"/a", "E.a"},
		{"./..", "=.=="},
		{store.KeyAlphabet, "-=.0123456789_abcdefghijklmnopqrstuvwxyz"},
		{strings.Repeat("/", store.MaxKey), strings.Repeat("E.", store.MaxKey) + "E"},
	}
	for _, test := range tests {
		if subject := keyToSubject(test.key); subject != test.subject {
			t.Errorf("%q is stored under %q, want %q", test.key, subject, test.subject)
		}
		if key, ok := subjectToKey(test.subject); !ok || key != test.key {
			t.Errorf("%q is the subject of %q, %t, want %q", test.subject, key, ok, test.key)
		}
	}
	for _, subject := range []string{"", ".", "a.", ".a", "a..b", "a/b", "EE.", "E"} {
		if key, ok := subjectToKey(subject); ok && store.ValidateKey(key) == nil {
			t.Errorf("%q is taken for the subject of %q", subject, key)
		}
	}
}

// FuzzSubject holds the mapping to a server's rules of subjects, and to its inverse; and the filter of
// every prefix to the key.
func FuzzSubject(f *testing.F) {
	for _, key := range []string{"a", ".", "..", "a//b", "/", "e", "a/b.c/d-_"} {
		f.Add(key)
	}
	f.Fuzz(func(t *testing.T, key string) {
		if store.ValidateKey(key) != nil {
			if back, ok := subjectToKey(key); ok && store.ValidateKey(back) == nil && keyToSubject(back) != key {
				t.Fatalf("%q has two subjects", back)
			}
			return
		}
		subject := keyToSubject(key)
		for token := range strings.SplitSeq(subject, ".") {
			if token == "" || strings.Trim(token, "-_=E0123456789abcdefghijklmnopqrstuvwxyz") != "" {
				t.Fatalf("%q is stored under %q, which has the token %q", key, subject, token)
			}
		}
		if back, ok := subjectToKey(subject); !ok || back != key {
			t.Fatalf("%q comes back as %q", key, back)
		}
		for i := range len(key) + 1 {
			filter := strings.TrimSuffix(prefixToFilter(key[:i]), ">")
			if !strings.HasPrefix(subject, filter) || subject == filter {
				t.Fatalf("the filter of %q, %q, does not match %q", key[:i], filter, subject)
			}
		}
	})
}

func FuzzVersion(f *testing.F) {
	f.Add("1.00112233445566778899aabbccddeeff")
	f.Add("")
	f.Add("18446744073709551616.")
	f.Fuzz(func(t *testing.T, text string) {
		number, ok := numberOf(store.Version(text))
		if ok && (number == 0 || !strings.Contains(text, ".")) {
			t.Fatalf("%q is taken for a version", text)
		}
	})
}
