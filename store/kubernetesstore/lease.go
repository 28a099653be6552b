package kubernetesstore

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	coordination "k8s.io/api/coordination/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// What the metadata of a Lease says.
const (
	own             = "snowfence.example/" // begins the names of our label and annotations
	prefixLabel     = own + "prefix"
	keyAnnotation   = own + "key"
	tokenAnnotation = own + "token"
	valueAnnotation = own + "value"

	encoded = "base64:" // begins the text of a value that is not plain
	hashed  = "x-"      // begins what stands for a key that can't be a part of a name
	maxName = 253
)

// leaseName is the name of the Lease of a key. Each key has a name of its own: plain keys that of their own text, with
// dots for the slashes, and the others a hash of 160 bits. A Lease says whose it is, and that is compared.
func leaseName(prefix, key string) string {
	name, plain := prefix+"."+strings.ReplaceAll(key, "/", "."), !strings.HasPrefix(key, hashed)
	for part := range strings.SplitSeq(key, "/") {
		plain = plain && part != "" && strings.Trim(part, "-") == part && !strings.ContainsAny(part, "._")
	}
	if plain && len(name) <= maxName {
		return name
	}
	sum := sha256.Sum256([]byte(key))
	return prefix + "." + hashed + hex.EncodeToString(sum[:20])
}

// valueText is a value as an annotation has it: as it is, where people can read it, or in base64. No character of a
// plain text takes more than two bytes in JSON.
func valueText(value []byte) string {
	plain := !strings.HasPrefix(string(value), encoded)
	for _, c := range value {
		plain = plain && (c == '\n' || c >= ' ' && c <= '~') && c != '<' && c != '>' && c != '&'
	}
	if plain {
		return string(value)
	}
	return encoded + base64.StdEncoding.EncodeToString(value)
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
func newVersion(token, resource string) store.Version { return store.Version(token + "." + resource) }

// parseVersion is the reverse of newVersion.
func parseVersion(v store.Version) (token, resource string, ok bool) {
	token, resource, _ = strings.Cut(string(v), ".")
	return token, resource, storeclient.IsToken(token) && resource != ""
}

// entry reads a register. What this package would not have written is damaged, and so is a Lease that vanishes by
// itself or with its owner.
func entry(l *coordination.Lease, prefix string) (store.Entry, error) {
	key, token := l.Annotations[keyAnnotation], l.Annotations[tokenAnnotation]
	text, written := l.Annotations[valueAnnotation]
	value, sound := valueOf(text)
	vanishes := l.DeletionTimestamp != nil || len(l.OwnerReferences) > 0
	if !written || !sound || vanishes || !storeclient.IsToken(token) || l.ResourceVersion == "" ||
		store.ValidateKey(key) != nil || l.Labels[prefixLabel] != prefix || l.Name != leaseName(prefix, key) {
		return store.Entry{}, fmt.Errorf("kubernetesstore: Lease %.253q: %w", l.Name, store.ErrDamaged)
	}
	return store.Entry{Key: key, Value: value, Version: newVersion(token, l.ResourceVersion)}, nil
}

// newLease is a register as it is created.
func newLease(prefix, key, token string, value []byte, writer string) *coordination.Lease {
	l := &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: &writer, RenewTime: &meta.MicroTime{Time: storeclient.Now()}}}
	l.Name, l.Labels = leaseName(prefix, key), map[string]string{prefixLabel: prefix}
	l.Annotations = map[string]string{keyAnnotation: key, tokenAnnotation: token, valueAnnotation: valueText(value)}
	return l
}

// operation is one of a JSON patch (RFC 6902). The server carries out all or none.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch makes a register what next is, if both parts of its version are those given.
func patch(token, resource string, next *coordination.Lease) []operation {
	const annotations = "/metadata/annotations/snowfence.example~1"
	return []operation{
		{"test", "/metadata/resourceVersion", resource},
		{"test", annotations + "token", token},
		{"replace", annotations + "token", next.Annotations[tokenAnnotation]},
		{"replace", annotations + "value", next.Annotations[valueAnnotation]},
		{"add", "/spec/holderIdentity", next.Spec.HolderIdentity},
		{"add", "/spec/renewTime", next.Spec.RenewTime},
	}
}
