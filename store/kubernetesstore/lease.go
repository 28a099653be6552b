package kubernetesstore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// What the metadata of a Lease says.
const (
	prefixLabel     = "snowfence.example/prefix"
	keyAnnotation   = "snowfence.example/key"
	tokenAnnotation = "snowfence.example/token"
	valueAnnotation = "snowfence.example/value"

	annotations = "/metadata/annotations/snowfence.example~1" // begins the path of an annotation in a JSON patch

	encoded = "base64:" // begins the text of a value that is not plain

	maxName = 253
	hashed  = "x-" // begins what stands for a key that can't be a part of a name
)

// lease is a Lease of coordination.k8s.io/v1, as far as this package reads and writes it.
type lease struct {
	APIVersion string   `json:"apiVersion,omitempty"`
	Kind       string   `json:"kind,omitempty"`
	Metadata   metadata `json:"metadata"`
	Spec       spec     `json:"spec,omitzero"`
}

type metadata struct {
	Name            string            `json:"name"`
	UID             string            `json:"uid,omitempty"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Labels          map[string]string `json:"labels,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`

	// Each makes a Lease vanish.
	DeletionTimestamp string            `json:"deletionTimestamp,omitempty"`
	OwnerReferences   []json.RawMessage `json:"ownerReferences,omitempty"`
}

type spec struct {
	HolderIdentity string `json:"holderIdentity,omitempty"`
	RenewTime      string `json:"renewTime,omitempty"`
}

// leaseName is the name of the Lease of a key. Each key has a name of its own: plain keys that of their own text, with
// dots for the slashes, and the others a hash of 160 bits. A Lease says whose it is, and that is compared.
func leaseName(prefix, key string) string {
	name := prefix + "." + strings.ReplaceAll(key, "/", ".")
	if len(name) <= maxName && plainKey(key) {
		return name
	}
	sum := sha256.Sum256([]byte(key))
	return prefix + "." + hashed + hex.EncodeToString(sum[:20])
}

// plainKey reports whether a key is made of parts that may stand between the dots of a name, and not taken for a hash.
func plainKey(key string) bool {
	for part := range strings.SplitSeq(key, "/") {
		if strings.Trim(part, "-") != part || part == "" || strings.ContainsAny(part, "._") {
			return false
		}
	}
	return !strings.HasPrefix(key, hashed)
}

// valueText is a value as an annotation has it: as it is, where people can read it, or in base64. No character of a
// plain text takes more than two bytes in JSON.
func valueText(value []byte) string {
	for _, c := range value {
		if c != '\n' && (c < ' ' || c > '~') || strings.IndexByte("<>&", c) >= 0 {
			return encoded + base64.StdEncoding.EncodeToString(value)
		}
	}
	if strings.HasPrefix(string(value), encoded) {
		return encoded + base64.StdEncoding.EncodeToString(value)
	}
	return string(value)
}

// valueOf is the reverse of valueText, which makes one text of a value only.
func valueOf(text string) (value []byte, ok bool) {
	value = []byte(text)
	if code, is := strings.CutPrefix(text, encoded); is {
		value, _ = base64.StdEncoding.DecodeString(code)
	}
	return value, valueText(value) == text && store.ValidateValue(value) == nil
}

// newVersion is a token, which the writer draws, and the resource version, which the server gives.
func newVersion(token, resource string) store.Version {
	return store.Version(token + "." + resource)
}

// parseVersion is the reverse of newVersion.
func parseVersion(v store.Version) (token, resource string, ok bool) {
	token, resource, ok = strings.Cut(string(v), ".")
	return token, resource, ok && storeclient.IsToken(token) && resource != ""
}

// entry reads a register. What this package would not have written is damaged, and so is a Lease that vanishes by
// itself or with its owner.
func (l lease) entry(prefix string) (store.Entry, error) {
	key, token := l.Metadata.Annotations[keyAnnotation], l.Metadata.Annotations[tokenAnnotation]
	text, written := l.Metadata.Annotations[valueAnnotation]
	value, sound := valueOf(text)
	e := store.Entry{Key: key, Value: value, Version: newVersion(token, l.Metadata.ResourceVersion)}
	_, _, whole := parseVersion(e.Version)
	vanishes := l.Metadata.DeletionTimestamp != "" || len(l.Metadata.OwnerReferences) > 0
	if !written || !sound || !whole || vanishes || store.ValidateKey(key) != nil ||
		l.Metadata.Labels[prefixLabel] != prefix || l.Metadata.Name != leaseName(prefix, key) {
		return store.Entry{}, fmt.Errorf("kubernetesstore: Lease %.253q: %w", l.Metadata.Name, store.ErrDamaged)
	}
	return e, nil
}

// newLease is a register as it is created.
func newLease(prefix, key, token string, value []byte, s spec) lease {
	return lease{APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Spec: s, Metadata: metadata{
		Name: leaseName(prefix, key), Labels: map[string]string{prefixLabel: prefix},
		Annotations: map[string]string{keyAnnotation: key, tokenAnnotation: token, valueAnnotation: valueText(value)},
	}}
}

// operation is one of a JSON patch (RFC 6902). The server carries out all or none.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value string `json:"value"`
}

// patch changes a register if both parts of its version are those given.
func patch(token, resource, next string, value []byte, s spec) []operation {
	return []operation{
		{"test", "/metadata/resourceVersion", resource},
		{"test", annotations + "token", token},
		{"replace", annotations + "token", next},
		{"replace", annotations + "value", valueText(value)},
		{"add", "/spec/holderIdentity", s.HolderIdentity},
		{"add", "/spec/renewTime", s.RenewTime},
	}
}

// microTime is how Kubernetes writes a time within a Lease.
func microTime(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }
