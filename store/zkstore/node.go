package zkstore

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/go-zookeeper/zk"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// opening begins the content of a register's node. The number is the format's.
const opening = "snowfence 1 "

// errExhausted is returned by a swap that would make ZooKeeper's data version
// wrap around: a version could repeat. At one swap in 20 seconds this takes 1,360 years.
var errExhausted = errors.New("zkstore: the register has been swapped 2³¹−1 times, as often as ZooKeeper can count")

// guard is the content of a store.Version. ZooKeeper compares the number alone. The key makes it a
// guard of one register only, and the token distinguishes two states of one number, which a rollback can
// bring about.
//
// Until an operator removes nodes or takes the ensemble back to an earlier state, the
// number only grows, and comparing it is enough. After a rollback it comes again, and an earlier guard
// can match a later write. In part ZooKeeper prevents this: a server that is behind a client's last
// state refuses that client, until it has caught up or the client is started again.
type guard struct {
	number int32  // ZooKeeper's data version, from 0
	key    string // digits of the key's hash
	token  string // random digits, written with each swap
}

// version returns the guard as a store.Version.
func (g guard) version() store.Version {
	return store.Version(strconv.Itoa(int(g.number)) + "." + g.key + "." + g.token)
}

// parseGuard returns the guard that a version of the key holds. It is false of a text that was never
// the version of this key's register.
func parseGuard(v store.Version, key string) (guard, bool) {
	number, rest, _ := strings.Cut(string(v), ".")
	sum, token, _ := strings.Cut(rest, ".")
	// 31 bits: −1 would mean any version to ZooKeeper.
	n, err := strconv.ParseUint(number, 10, 31)
	g := guard{number: int32(n), key: sum, token: token}
	return g, err == nil && sum == keySum(key) && storeclient.IsToken(token) && g.version() == v
}

// next returns errExhausted if a swap under the guard would overflow the
// number that ZooKeeper counts with.
func (g guard) next() error {
	if g.number == math.MaxInt32 {
		return errExhausted
	}
	return nil
}

// keySum returns 64 bits of the key's hash.
func keySum(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:8])
}

// folderName returns the name of the folder that a key's node is in: two
// hexadecimal digits of its hash. Of a million registers some four thousand are
// in each of the 256 folders, and the list of their names is at most four fifths of ZooKeeper's largest
// answer (jute.maxbuffer, 1 MiB), even if each is 200 bytes long. More folders would make List slower,
// which asks for each.
func folderName(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[8:9])
}

// isFolder reports whether a child of the prefix is a folder.
func isFolder(name string) bool {
	b, err := hex.DecodeString(name)
	return err == nil && len(b) == 1 && hex.EncodeToString(b) == name
}

// nodeName returns the name of a key's node. A slash becomes a colon, and "."
// and "..", which ZooKeeper takes for itself, become "!" and "!!": no key has
// either byte.
func nodeName(key string) string {
	if key == "." || key == ".." {
		return strings.ReplaceAll(key, ".", "!")
	}
	return strings.ReplaceAll(key, "/", ":")
}

// keyOf returns the key whose node has the name in the folder, and false if
// that is no key's.
func keyOf(folder, name string) (string, bool) {
	key := strings.ReplaceAll(name, ":", "/")
	if name == "!" || name == "!!" {
		key = strings.ReplaceAll(name, "!", ".")
	}
	return key, store.ValidateKey(key) == nil && nodeName(key) == name && folderName(key) == folder
}

// encode returns the content of a register's node.
func encode(token string, value []byte) []byte {
	data := make([]byte, 0, len(opening)+len(token)+1+len(value))
	data = append(data, opening...)
	data = append(data, token...)
	data = append(data, '\n')
	return append(data, value...)
}

// decode returns the register that a node holds, or an error that is
// store.ErrDamaged.
func decode(key string, data []byte, stat *zk.Stat) (store.Entry, error) {
	damaged := func(what string) (store.Entry, error) {
		return store.Entry{}, fmt.Errorf("%w: the node of register %q %s", store.ErrDamaged, key, what)
	}
	rest, ok := strings.CutPrefix(string(data), opening)
	token, value, line := strings.Cut(rest, "\n")
	switch {
	case !ok:
		return damaged(fmt.Sprintf("does not begin with %q", opening))
	case !line || !storeclient.IsToken(token):
		return damaged("has no version")
	case len(value) > store.MaxValue:
		return damaged(fmt.Sprintf("has a value of %d bytes", len(value)))
	case stat.EphemeralOwner != 0:
		return damaged("is not a persistent one: it can vanish")
	case stat.Version < 0:
		return damaged("has a data version that has wrapped around")
	}
	g := guard{number: stat.Version, key: keySum(key), token: token}
	return store.Entry{Key: key, Value: []byte(value), Version: g.version()}, nil
}
