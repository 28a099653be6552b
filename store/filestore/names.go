package filestore

import (
	"crypto/sha256"
	"encoding/hex"
	"path"
	"strings"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// Names in the store's folder. See the package's documentation.
const (
	markerName    = "snowfence.store"
	lockName      = "snowfence.lock"
	registersName = "registers"
	unfinished    = "+" // behind the marker's name and the lock's: a file that is to take its place

	// ignoredName is a file system's own name in the root of a volume.
	ignoredName = "lost+found"
)

// Names in the folder of a shard, which begin with the key, and in that of a register.
const (
	registerSuffix = ".v"
	newSuffix      = ".new" // a register's first version, being made
	headSuffix     = ".head"
	earlierSuffix  = ".reg" // a register of format 1
	earlierNew     = "+new" // a swap of format 1 that was not finished

	// absent stands for the version before a register's first.
	absent = "0"
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

// registerPath returns the path of the folder of key's register.
func registerPath(key string) string { return stem(key) + registerSuffix }

// earlierPath returns the path of key's register in format 1.
func earlierPath(key string) string { return stem(key) + earlierSuffix }

// newPath returns the path at which the first version of key's register is made.
func newPath(key string, version storeclient.Token) string {
	return stem(key) + "+" + version.String() + newSuffix
}

// stem is the part of a path that all files of a key's register share.
func stem(key string) string { return shardOf(key).folder() + "/" + flat(key) }

// flat turns a key into a part of a file name. Keys are free of '+', so two keys never share a name,
// and the suffixes keep "." and ".." from meaning folders. The longest name has 237 bytes. Keys have no
// capitals, so file systems that fold case are fine too.
func flat(key string) string { return strings.ReplaceAll(key, "/", "+") }

// isUnfinished reports whether a name in a shard is of a first version of key's register
// that was made beside it.
func isUnfinished(name, key string) bool {
	token, ok := strings.CutPrefix(name, flat(key)+"+")
	return ok && strings.HasSuffix(token, newSuffix) && storeclient.IsToken(strings.TrimSuffix(token, newSuffix))
}

// keyAt returns the key of the register with the given file name in shard s, and no key
// where the name can't be that of a register. Its error is a *FileError.
func keyAt(s shard, name string) (string, error) {
	base, ok := strings.CutSuffix(name, registerSuffix)
	if !ok {
		base, ok = strings.CutSuffix(name, earlierSuffix)
	}
	if !ok {
		return "", nil // a first version being made, or the remains of a file manager
	}
	key := strings.ReplaceAll(base, "+", "/")
	if err := store.ValidateKey(key); err != nil {
		return "", foreign(s.folder()+"/"+name, "its name is not that of a register")
	}
	if right := shardOf(key); right != s {
		return "", foreign(s.folder()+"/"+name, "a register of this name belongs into %s", right.folder())
	}
	return key, nil
}

// A head is the one empty file in a register's folder; its name shows which
// version counts: after came after before.
type head struct{ before, after string }

func (h head) name() string { return h.before + "-" + h.after + headSuffix }

// parseHead returns the head with that name, and whether there is one.
func parseHead(name string) (h head, ok bool) {
	versions, ok := strings.CutSuffix(name, headSuffix)
	if !ok {
		return head{}, false
	}
	h.before, h.after, ok = strings.Cut(versions, "-")
	return h, ok && storeclient.IsToken(h.after) && (h.before == absent || storeclient.IsToken(h.before))
}
