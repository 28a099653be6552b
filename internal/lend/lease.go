package lend

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"math"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/internal/stored"
	"snowfence.example/snowfence/store"
)

// Lease is a borrower's right to a worker id as last answered. Its text is a key: with it anybody extends and releases
// the worker id. Daemons do not trust its content: the register decides.
type Lease struct {
	Incarnation [16]byte // of the namespace
	Secret      [16]byte // of the claim; the register has its hash
	Worker      int64
	Term        int64
	Until       snowfence.Tick
	Version     store.Version // of the register
}

// leaseFormat is the first byte of a lease's text, before it is encoded.
const leaseFormat = 1

// maxVersion is the greatest length of a store's version in a lease.
const maxVersion = 256

// ErrLease is returned for a text that is no lease.
var ErrLease = errors.New("must be a lease as it was answered last, whole")

// String returns the lease as a text: 90 to 450 characters of base64url.
func (l Lease) String() string {
	b := append([]byte{leaseFormat}, l.Incarnation[:]...)
	b = append(b, l.Secret[:]...)
	for _, n := range [...]int64{l.Worker, l.Term, int64(l.Until)} {
		b = binary.AppendUvarint(b, uint64(n))
	}
	return base64.RawURLEncoding.EncodeToString(append(b, l.Version...))
}

// ParseLease reads the text of [Lease.String]. It returns [ErrLease] for every other one.
func ParseLease(text string) (l Lease, err error) {
	b, err := base64.RawURLEncoding.Strict().DecodeString(text)
	if err != nil || len(b) < 1+len(l.Incarnation)+len(l.Secret) || b[0] != leaseFormat {
		return Lease{}, ErrLease
	}
	b = b[1:]
	b = b[copy(l.Incarnation[:], b):]
	b = b[copy(l.Secret[:], b):]
	for _, at := range [...]*int64{&l.Worker, &l.Term, (*int64)(&l.Until)} {
		n, size := binary.Uvarint(b)
		if size <= 0 || n > math.MaxInt64 {
			return Lease{}, ErrLease
		}
		*at, b = int64(n), b[size:]
	}
	l.Version = store.Version(b)
	if len(b) == 0 || len(b) > maxVersion || l.Term < 1 || l.String() != text {
		return Lease{}, ErrLease
	}
	return l, nil
}

// of returns the lease of a register that a claim or an extension has written. The secret is that of the claim.
func of(r stored.Register, worker int64, version store.Version, secret [16]byte) Lease {
	l := Lease{Secret: secret, Worker: worker, Term: r.Term, Until: r.Until, Version: version}
	_, _ = hex.Decode(l.Incarnation[:], []byte(r.Incarnation)) // a register that was read or written has one
	return l
}

// Holder is the holder in the lease's register. A reader of the store can't make the lease from it.
func (l Lease) Holder() string {
	hash := sha256.Sum256(l.Secret[:])
	return hex.EncodeToString(hash[:16])
}

// incarnation is the namespace's, as its record writes it.
func (l Lease) incarnation() string { return hex.EncodeToString(l.Incarnation[:]) }

// mark is the register's trace of a request with this lease. The lease and the process are in it, too:
// a borrower whose marks are constant does not take the write of its forked twin for its own.
func (l Lease) mark(request string, b Borrower) string {
	var text bytes.Buffer
	for _, part := range [...]string{l.String(), request, b.Host} {
		text.Write(binary.AppendUvarint(nil, uint64(len(part))))
		text.WriteString(part)
	}
	text.Write(binary.AppendVarint(nil, int64(b.PID)))
	hash := sha256.Sum256(text.Bytes())
	return hex.EncodeToString(hash[:8])
}
