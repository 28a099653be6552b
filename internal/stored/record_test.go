package stored

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"snowfence.example/snowfence/store"
)

func encoded(t testing.TB, record interface{ Encode() ([]byte, error) }) []byte {
	t.Helper()
	value, err := record.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return value
}

func TestRegisterIsReadAsItWasWritten(t *testing.T) {
	marked := released(77)
	marked.Quarantined = true
	for _, r := range []Register{held(5), released(77), marked} {
		got, err := DecodeRegister(encoded(t, r))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, r) {
			t.Errorf("read as %+v, written as %+v", got, r)
		}
	}
}

func TestRegisterTextIsForPeopleToo(t *testing.T) {
	const want = `{"format":1,"layout":"ms41-datacenter1-worker1-seq12@2026-01-01T00:00:00Z","incarnation":"00112233445566778899aabbccddeeff",` +
		`"term":4,"floor":999500,"until":1000900,"holder":"ffeeddccbbaa99887766554433221100","write":"0123456789abcdef",` +
		`"clock":"2026-01-01T00:16:40Z","window":"900ms","quarantined":false,"host":"host-b","pid":8,"version":"v1","started":"2025-12-31T23:16:40Z"}`
	if got := encoded(t, held(900)); string(got) != want {
		t.Errorf("it is\n%s\nnot\n%s", got, want)
	}
	var indented bytes.Buffer
	if err := json.Indent(&indented, []byte(want), "", "  "); err != nil {
		t.Fatal(err)
	}
	if _, err := DecodeRegister(indented.Bytes()); err != nil {
		t.Errorf("with blanks: %v", err)
	}
}

func TestLongestRegisterFits(t *testing.T) {
	r := held(1 << 40)
	r.Process.Host = strings.Repeat("\x01", 255)
	r.Process.Version = strings.Repeat("\x01", 128)
	if n := len(encoded(t, r)); n > store.MaxValue {
		t.Errorf("it has %d bytes", n)
	}
}

func TestRegisterThatThisProgramWouldNotWriteIsRefused(t *testing.T) {
	good := string(encoded(t, held(900)))
	tests := []struct{ name, from, to string }{
		{"a newer format", `"format":1`, `"format":2`},
		{"an older format", `"format":1`, `"format":0`},
		{"an unknown field", `"term":4`, `"term":4,"more":1`},
		{"a missing field", `"until":1000900,`, ``},
		{"a null", `"until":1000900`, `"until":null`},
		{"a repeated field", `"until":1000900`, `"until":1000900,"until":1`},
		{"another case", `"until"`, `"Until"`},
		{"a number with a point", `"until":1000900`, `"until":1000900.0`},
		{"a number too large", `"until":1000900`, `"until":99999999999999999999`},
		{"until below the floor", `"until":1000900`, `"until":999499`},
		{"a negative floor", `"floor":999500`, `"floor":-1`},
		{"no term", `"term":4`, `"term":0`},
		{"a short nonce", `"holder":"ff`, `"holder":"`},
		{"no incarnation", `"incarnation":"00112233445566778899aabbccddeeff"`, `"incarnation":""`},
		{"no mark", `"write":"0123456789abcdef"`, `"write":""`},
		{"a window that is none", `"window":"900ms"`, `"window":"soon"`},
		{"a negative window", `"window":"900ms"`, `"window":"-900ms"`},
		{"another zone", `"clock":"2026-01-01T00:16:40Z"`, `"clock":"2026-01-01T01:16:40+01:00"`},
		{"more after it", `}`, `}{}`},
		{"a list", good, `[` + good + `]`},
		{"nothing", good, ``},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			bad := strings.Replace(good, test.from, test.to, 1)
			if bad == good {
				t.Fatal("the test changes nothing")
			}
			if _, err := DecodeRegister([]byte(bad)); !errors.Is(err, ErrRecord) {
				t.Errorf("the error is %v", err)
			} else if strings.Contains(test.name, "newer") && !strings.Contains(err.Error(), "newer program") {
				t.Errorf("the error does not show that it is newer: %v", err)
			}
		})
	}
}

func TestNamespaceIsReadAsItWasWritten(t *testing.T) {
	for _, datacenters := range [][]int64{nil, {0}, {1, 5, 31}} {
		n := testNamespace()
		n.Datacenters = datacenters
		got, err := DecodeNamespace(encoded(t, n))
		if err != nil {
			t.Fatal(err)
		}
		if got.Layout != n.Layout || got.Incarnation != n.Incarnation || !got.Created.Equal(n.Created) || len(got.Datacenters) != len(datacenters) {
			t.Errorf("read as %+v, written as %+v", got, n)
		}
	}
	good := string(encoded(t, testNamespace()))
	for _, bad := range []string{
		strings.Replace(good, `[]`, `[3,3]`, 1), strings.Replace(good, `[]`, `[-1]`, 1), strings.Replace(good, `[]`, `null`, 1),
		strings.Replace(good, `"format":1`, `"format":3`, 1), strings.Replace(good, testIncarnation, "", 1), "",
	} {
		if _, err := DecodeNamespace([]byte(bad)); !errors.Is(err, ErrRecord) {
			t.Errorf("%s is read: %v", bad, err)
		}
	}
}

func TestNamesOfNamespaces(t *testing.T) {
	for name, ok := range map[string]bool{
		"default": true, "a": true, "eu-west.orders_2": true, strings.Repeat("n", 64): true,
		"": false, "Orders": false, "a/b": false, "a b": false, "ö": false, strings.Repeat("n", 65): false,
	} {
		if err := CheckNamespace(name); (err == nil) != ok {
			t.Errorf("%q: %v", name, err)
		}
	}
	if err := store.ValidateKey(RegisterKey(strings.Repeat("n", 64), testLayout(), 3)); err != nil {
		t.Error(err)
	}
}

func TestKeysAreAsWideAsTheGreatestWorker(t *testing.T) {
	layout := testLayout()
	layout.Fields[2].Bits = 9 // 1,024 workers with the datacenter's bit
	for worker, want := range map[int64]string{0: "ns/a/worker/0000", 7: "ns/a/worker/0007", 1023: "ns/a/worker/1023"} {
		key := RegisterKey("a", layout, worker)
		if key != want {
			t.Errorf("the key of %d is %q", worker, key)
		}
		if got, ok := WorkerOf("a", layout, key); !ok || got != worker {
			t.Errorf("%q is worker %d, %t", key, got, ok)
		}
	}
	for _, key := range []string{"ns/a/worker/1024", "ns/a/worker/007", "ns/a/worker/00007", "ns/a/worker/-001", "ns/b/worker/0007", "ns/a/worker/"} {
		if got, ok := WorkerOf("a", layout, key); ok {
			t.Errorf("%q is worker %d", key, got)
		}
	}
}

func FuzzDecodeRegister(f *testing.F) {
	f.Add(encoded(f, held(900)))
	f.Add(encoded(f, released(3)))
	f.Add([]byte(`{"format":2}`))
	f.Add([]byte(`{"format":1,"until":null}`))
	f.Fuzz(func(t *testing.T, value []byte) {
		r, err := DecodeRegister(value)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		// The input is in this program's own form.
		again, err := DecodeRegister(encoded(t, r))
		if err != nil || !reflect.DeepEqual(again, r) {
			t.Errorf("%+v became %+v, %v", r, again, err)
		}
	})
}

func FuzzDecodeNamespace(f *testing.F) {
	f.Add(encoded(f, testNamespace()))
	f.Fuzz(func(t *testing.T, value []byte) {
		n, err := DecodeNamespace(value)
		if err != nil {
			if !errors.Is(err, ErrRecord) {
				t.Errorf("the error is %v", err)
			}
			return
		}
		if _, err := DecodeNamespace(encoded(t, n)); err != nil {
			t.Errorf("%+v: %v", n, err)
		}
	})
}
