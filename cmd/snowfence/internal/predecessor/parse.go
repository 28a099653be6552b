package predecessor

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// NodeError is returned for a node that is not as its system writes it: whose it
// is then can't be told, and so not which worker id it stands for.
type NodeError struct {
	Path   string
	Reason string
}

// Error names the node and what is wrong with it.
func (e *NodeError) Error() string {
	return fmt.Sprintf("snowfence: node %q: %s: name the worker ids with --workers instead, or remove what does not belong there", e.Path, e.Reason)
}

// leafNode reads the name of one of Leaf's persistent sequential nodes,
// IP:PORT-NNNNNNNNNN, for its worker id.
func leafNode(name string) (worker int64, ok bool) {
	// The address of a host may have a hyphen in it; ZooKeeper's number has none,
	// and at least ten digits.
	at := strings.LastIndexByte(name, '-')
	if at <= 0 || len(name)-at-1 < 10 {
		return 0, false
	}
	return number(name[at+1:])
}

// recyclableNode reads the name of a node of the recyclable pools, workId:N.
func recyclableNode(name string) (worker int64, ok bool) {
	digits, ok := strings.CutPrefix(name, "workId:")
	if !ok {
		return 0, false
	}
	return number(digits)
}

// number reads decimal digits without a sign.
func number(digits string) (int64, bool) {
	n, err := strconv.ParseInt(digits, 10, 64)
	return n, err == nil && digits[0] != '+' && digits[0] != '-'
}

// upload is what Leaf's nodes say, of both kinds.
type upload struct {
	Timestamp         *int64 `json:"timestamp"`
	WorkID            *int64 `json:"workId"`
	LastUsedTimestamp *int64 `json:"lastUsedTimestamp"`
}

// last is the later timestamp of an upload, zero if it has none: the recyclable
// pools begin with nodes that were never used.
func (u upload) last() time.Time {
	var last int64
	for _, ms := range []*int64{u.Timestamp, u.LastUsedTimestamp} {
		if ms != nil {
			last = max(last, *ms)
		}
	}
	if last == 0 {
		return time.Time{}
	}
	return time.UnixMilli(last).UTC()
}

// readUpload reads the data of a node.
func readUpload(data []byte) (upload, error) {
	var u upload
	if err := json.Unmarshal(data, &u); err != nil {
		return u, fmt.Errorf("its data is not the JSON that Leaf writes: %w", err)
	}
	return u, nil
}

// Final reports whether an error is about what is there, or is not, so that
// trying again does not help.
func Final(err error) bool {
	var node *NodeError
	var none *NoPathError
	return errors.As(err, &node) || errors.As(err, &none)
}
