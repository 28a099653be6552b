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

const (
	prefixLabel       = "snowfence.example/prefix"
	keyAnnotation     = "snowfence.example/key"
	versionAnnotation = "snowfence.example/version"
	valueAnnotation   = "snowfence.example/value"
	storeAnnotation   = "snowfence.example/store" // the anchor's

	hashed  = "x-" // begins the name of a key that can't be a part of a name
	maxName = 253
)

// leaseName is the name of the Lease of a key, and of no other: of a plain key its own text, with dots for the slashes,
// and of any other a hash of 160 bits. A Lease shows whose it is, and that is compared.
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

// entry reads a register. A Lease in another form than this package writes is damaged, and so is a
// Lease that vanishes by itself or with its owner.
func entry(l *coordination.Lease, prefix string) (store.Entry, error) {
	key, token := l.Annotations[keyAnnotation], l.Annotations[versionAnnotation]
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
	l.Annotations = map[string]string{storeAnnotation: id, keyAnnotation: key, versionAnnotation: token, valueAnnotation: valueText(value)}
	return l
}

// patch writes next into a register, if both parts of its version are the given ones: all of it or
// nothing (RFC 6902).
func patch(token, resource string, next *coordination.Lease) []map[string]any {
	const annotations = "/metadata/annotations/snowfence.example~1"
	operation := func(op, path string, value any) map[string]any {
		return map[string]any{"op": op, "path": path, "value": value}
	}
	return []map[string]any{
		operation("test", "/metadata/resourceVersion", resource),
		operation("test", annotations+"version", token),
		operation("replace", annotations+"version", next.Annotations[versionAnnotation]),
		operation("replace", annotations+"value", next.Annotations[valueAnnotation]),
		operation("add", "/spec/holderIdentity", next.Spec.HolderIdentity),
		operation("add", "/spec/renewTime", next.Spec.RenewTime),
	}
}
