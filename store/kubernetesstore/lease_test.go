package kubernetesstore

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	coordination "k8s.io/api/coordination/v1"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// subdomain is Kubernetes' form of a Lease's name (RFC 1123), besides its length.
var subdomain = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

func TestPlainKeyIsReadInItsName(t *testing.T) {
	for key, name := range map[string]string{
		"ns/default/worker/0007": "ids.ns.default.worker.0007",
		"a-b":                    "ids.a-b",
		"7":                      "ids.7",
	} {
		if got := leaseName("ids", key); got != name {
			t.Errorf("%q is named %q, want %q", key, got, name)
		}
	}
}

func TestEachKeyHasANameOfItsOwn(t *testing.T) {
	keys := []string{strings.Repeat("k", store.MaxKey), strings.Repeat("/", store.MaxKey), strings.TrimPrefix(leaseName("ids", "a.b"), "ids.")}
	alphabet := store.KeyAlphabet[:6] + "_ax"
	for _, a := range alphabet {
		keys = append(keys, string(a))
		for _, b := range alphabet {
			keys = append(keys, string([]rune{a, b}))
			for _, c := range alphabet {
				keys = append(keys, string([]rune{a, b, c}))
			}
		}
	}
	for _, prefix := range []string{"ids", strings.Repeat("p", 63)} {
		named := map[string]string{prefix: "the anchor"}
		for _, key := range keys {
			name := leaseName(prefix, key)
			if other, taken := named[name]; taken || !subdomain.MatchString(name) || len(name) > maxName {
				t.Errorf("%q is named %q, as is %q", key, name, other)
			}
			named[name] = key
		}
	}
}

func FuzzValueIsReadAsItWasWritten(f *testing.F) {
	f.Add([]byte("value\n\"\\"))
	f.Add([]byte("<\x00\xff\u2028"))
	f.Fuzz(func(t *testing.T, value []byte) {
		if len(value) > store.MaxValue {
			return
		}
		l := newLease("ids", "id", "key", strings.Repeat("a", 32), value, "host/1")
		l.ResourceVersion = "7"
		content, err := json.Marshal(l)
		if err != nil || len(content) > 7*len(value)+1000 || len(content) > maxAnswer/500 {
			t.Errorf("%q has %d bytes, %v", value, len(content), err)
		}
		var read coordination.Lease
		if err := json.Unmarshal(content, &read); err != nil {
			t.Fatal(err)
		}
		if e, err := entry(&read, "ids"); err != nil || !bytes.Equal(e.Value, value) {
			t.Errorf("%q is read as %q, %v", value, e.Value, err)
		}
	})
}

func FuzzAnswerIsReadOrRefused(f *testing.F) {
	whole, err := json.Marshal(newLease("ids", "id", "a/b", strings.Repeat("a", 32), []byte("value"), "host/1"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(whole)
	f.Add(bytes.Replace(whole, []byte(`"name"`), []byte(`"resourceVersion":"7","name"`), 1))
	f.Fuzz(func(t *testing.T, content []byte) {
		var l coordination.Lease
		if json.Unmarshal(content, &l) != nil {
			return
		}
		if e, err := entry(&l, "ids"); err == nil {
			token, resource, _ := strings.Cut(string(e.Version), ".")
			if !storeclient.IsToken(token) || resource == "" || store.ValidateKey(e.Key) != nil || store.ValidateValue(e.Value) != nil {
				t.Errorf("%s is read as %+v", content, e)
			}
		}
	})
}
