package filestore

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"snowfence.example/snowfence/store"
)

// Names in the store's folder. See the package's documentation.
const (
	markerName    = "snowfence.store"
	markerNewName = "snowfence.store+new"
	lockName      = "snowfence.lock"
	registersName = "registers"
	newName       = "+new" // in a shard: a swap under way
	suffix        = ".reg"

	// ignoredName is what file systems put into the root of a volume.
	ignoredName = "lost+found"
)

// shards is how many folders the registers are spread over.
const shards = 256

// A shard is the name of one of those folders: two hex digits.
type shard string

// shardAt returns the ith shard.
func shardAt(i int) shard { return shard(hex.EncodeToString([]byte{byte(i)})) }

// shardOf returns the shard of a key. A hash spreads keys evenly that differ
// only in their last digits, as keys do.
func shardOf(key string) shard {
	sum := sha256.Sum256([]byte(key))
	return shardAt(int(sum[0]))
}

// folder returns the shard's path below the store's folder.
func (s shard) folder() string { return path.Join(registersName, string(s)) }

// newPath returns the path of the shard's swap under way.
func (s shard) newPath() string { return path.Join(s.folder(), newName) }

// registerPath returns the path of key's register.
func registerPath(key string) string {
	return path.Join(shardOf(key).folder(), flat(key)+suffix)
}

// flat turns a key, or a prefix of one, into a part of a file name. Keys have
// no '+', so no two keys share a name, and the suffix keeps "." and ".." from
// meaning folders. The longest name has 204 bytes. Keys have no capitals, so
// file systems that fold case are fine too.
func flat(key string) string { return strings.ReplaceAll(key, "/", "+") }

// keyAt returns the key of the register with the given file name in shard s.
// Its error is a *FileError without a path.
func keyAt(s shard, name string) (string, error) {
	key := strings.ReplaceAll(strings.TrimSuffix(name, suffix), "+", "/")
	if err := store.ValidateKey(key); err != nil {
		return "", &FileError{Err: ErrForeign, Detail: "its name is not that of a register"}
	}
	if right := shardOf(key); right != s {
		return "", &FileError{Err: ErrForeign, Detail: fmt.Sprintf("a register of this name belongs into %s", right.folder())}
	}
	return key, nil
}
