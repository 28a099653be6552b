package opaque_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"snowfence.example/snowfence/opaque"
)

func TestKeysAreReadFromLines(t *testing.T) {
	for _, test := range []struct{ text, ids string }{
		{newKey, "b"},
		{newKey + "\n" + oldKey + "\n", "ba"},
		{"# keys\r\n\r\n\t" + oldKey + "  # until May\r\n\n" + newKey, "ab"},
		{"Z " + strings.Repeat("0F1E", 12), "Z"},
		{"0 " + strings.Repeat("aBcD", 16), "0"},
	} {
		keys, err := opaque.ParseKeys(test.text)
		if err != nil {
			t.Errorf("%q: %v", test.text, err)
			continue
		}
		var want []string
		for _, id := range test.ids {
			want = append(want, fmt.Sprintf("key %q", id))
		}
		if got := fmt.Sprint(keys); got != fmt.Sprint(want) {
			t.Errorf("%q is read as %s, want %s", test.text, got, want)
		}
	}
}

func TestWrongKeysAreRefusedWithTheirLineAndNoSecret(t *testing.T) {
	const secret = "2b7e151628aed2a6abf7158809cf4f3c"
	for _, test := range []struct{ text, reason string }{
		{"", "0 keys in the text"},
		{secret, "line 1: snowfence: invalid opaque setting: it is not an id"},
		{newKey + "\n\n" + secret + " a", "line 3: snowfence: invalid opaque setting: it is not an id of 1 character and a secret"},
		{"\ufeffa " + secret, "it is not an id"},
		{"_ " + secret, "line 1: snowfence: invalid opaque setting: the id of the key is not one of 0-9, A-Z, a-z"},
		{"a " + secret[1:], "line 1: snowfence: invalid opaque setting: the secret is not 32, 48 or 64 hexadecimal digits"},
		{"a " + secret + "00", "line 1: snowfence: invalid opaque setting: the secret of key 'a' has 17 bytes, not 16, 24 or 32"},
		{"a " + secret[:31] + "g", "the secret is not 32, 48 or 64 hexadecimal digits"},
		{"a " + strings.Repeat("0", 48), "line 1: snowfence: invalid opaque setting: the secret of key 'a' is one byte again and again"},
		{"a " + secret + "\n\nb " + strings.ToUpper(secret), "line 3: snowfence: invalid opaque setting: the secret is that of line 1"},
	} {
		keys, err := opaque.ParseKeys(test.text)
		if keys != nil || !errors.Is(err, opaque.ErrSetting) || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%q: error is %v, want one with %q", test.text, err, test.reason)
			continue
		}
		for start := 0; start+4 <= len(secret); start++ {
			if part := secret[start : start+4]; strings.Contains(err.Error(), part) {
				t.Errorf("%q: the error %q shows %q of the secret", test.text, err, part)
			}
		}
	}
}

func TestKeyShowsItsSecretToNoLogAndNoEncoder(t *testing.T) {
	secret := []byte("a secret of 16 b")
	key, err := opaque.NewKey('a', secret)
	if err != nil {
		t.Fatal(err)
	}
	sealed, err := opaque.NewSealed("orders", key)
	if err != nil {
		t.Fatal(err)
	}
	permuted, err := opaque.NewPermuted("orders", key)
	if err != nil {
		t.Fatal(err)
	}
	var shown bytes.Buffer
	for _, value := range []any{key, &key, []opaque.Key{key}, struct{ inner opaque.Key }{key}, sealed, *sealed, permuted} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			fmt.Fprintf(&shown, verb+"\n", value)
		}
		for _, handler := range []slog.Handler{slog.NewTextHandler(&shown, nil), slog.NewJSONHandler(&shown, nil)} {
			slog.New(handler).Info("key", "value", value)
		}
		data, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		shown.Write(data)
	}
	if !strings.Contains(shown.String(), "key 'a'") {
		t.Errorf("the id is missing in %s", shown.String())
	}
	for _, spelling := range []string{
		string(secret), fmt.Sprintf("%x", secret), fmt.Sprintf("%X", secret),
		strings.Trim(fmt.Sprint(secret), "[]"), strings.Trim(fmt.Sprintf("%#v", secret), "[]byte{}"),
		base64.StdEncoding.EncodeToString(secret)[:16],
	} {
		if strings.Contains(shown.String(), spelling) {
			t.Errorf("the secret is shown as %s", spelling)
		}
	}
}

func TestKeysOfOneSecretAreKnownWhateverTheirIDs(t *testing.T) {
	key := func(id byte, secret string) opaque.Key {
		k, err := opaque.NewKey(id, []byte(secret))
		if err != nil {
			t.Fatal(err)
		}
		return k
	}
	a := key('a', "a secret of 16 b")
	for other, want := range map[opaque.Key]bool{
		key('a', "a secret of 16 b"): true, key('b', "a secret of 16 b"): true,
		key('a', "a secret of 16 B"): false, key('a', "a secret of 16 b and 8 b"): false, {}: false,
	} {
		if a.SameSecret(other) != want || other.SameSecret(a) != want {
			t.Errorf("%v has the secret of %v: %v, want %v", other, a, !want, want)
		}
	}
	if (opaque.Key{}).SameSecret(opaque.Key{}) {
		t.Error("two zero Keys have a secret")
	}
}
