package kubernetesstore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"
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
	storeAnnotation = own + "store" // the anchor's

	hashed  = "x-" // begins what stands for a key that can't be a part of a name
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

// valueText is a value as an annotation has it: a literal of Go, in ASCII. Most values are text, and read well.
func valueText(value []byte) string { return strconv.QuoteToASCII(string(value)) }

// parseVersion takes a version apart: the token, which its writer drew, a dot, and the resource version, which the server gave.
func parseVersion(v store.Version) (token, resource string, ok bool) {
	token, resource, _ = strings.Cut(string(v), ".")
	return token, resource, storeclient.IsToken(token) && resource != ""
}

// entry reads a register. What this package would not have written is damaged, and so is a Lease that vanishes by
// itself or with its owner.
func entry(l *coordination.Lease, prefix string) (store.Entry, error) {
	key, token := l.Annotations[keyAnnotation], l.Annotations[tokenAnnotation]
	text, err := strconv.Unquote(l.Annotations[valueAnnotation])
	value := []byte(text)
	sound := err == nil && valueText(value) == l.Annotations[valueAnnotation] && store.ValidateValue(value) == nil
	vanishes := l.DeletionTimestamp != nil || len(l.OwnerReferences) > 0
	if !sound || vanishes || !storeclient.IsToken(token) || l.ResourceVersion == "" || l.Annotations[storeAnnotation] == "" ||
		store.ValidateKey(key) != nil || l.Labels[prefixLabel] != prefix || l.Name != leaseName(prefix, key) {
		return store.Entry{}, fmt.Errorf("kubernetesstore: Lease %.253q: %w", l.Name, store.ErrDamaged)
	}
	return store.Entry{Key: key, Value: value, Version: store.Version(token + "." + l.ResourceVersion)}, nil
}

// newLease is a register as it is created.
func newLease(prefix, id, key, token string, value []byte, writer string) *coordination.Lease {
	l := &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: &writer, RenewTime: &meta.MicroTime{Time: storeclient.Now()}}}
	l.Name, l.Labels = leaseName(prefix, key), map[string]string{prefixLabel: prefix}
	l.Annotations = map[string]string{storeAnnotation: id, keyAnnotation: key, tokenAnnotation: token, valueAnnotation: valueText(value)}
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
