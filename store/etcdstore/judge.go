package etcdstore

import (
	"context"
	"fmt"
	"time"
)

// judgeLimit bounds how long one endpoint is asked for its version.
const judgeLimit = time.Second

// judge returns an error if the cluster is known to lose acknowledged swaps in
// failures that etcd is made for, and no loss was declared. What can't be read
// is the operator's to ensure: a user may have no right to it.
func (s *Store) judge(ctx context.Context) error {
	if s.config.Loss > 0 {
		return nil
	}
	members, err := s.client.MemberList(ctx)
	if err != nil {
		return ctx.Err()
	}
	for _, endpoint := range s.config.Endpoints {
		limited, cancel := context.WithTimeout(ctx, judgeLimit)
		status, err := s.client.Status(limited, endpoint)
		cancel()
		if err == nil {
			return sound(status.Version, len(members.Members))
		}
	}
	return ctx.Err()
}

// sound returns an error if a cluster of so many members, one of which runs the
// version, can lose what it acknowledged:
//
//   - 3.5.0 to 3.5.2: a member that is killed can come back with another state
//     than the others have (etcd-io/etcd, issue 13766);
//   - before 3.4.21, and 3.5.0 to 3.5.4: a lone member can acknowledge before
//     it has written to its log (issue 14370).
func sound(version string, members int) error {
	var major, minor, patch int
	if n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 || err != nil {
		return nil //nolint:nilerr // a version that can't be read is the operator's to judge
	}
	old := major < 3 || major == 3 && minor < 4
	lone := members == 1 && major == 3 && (minor == 4 && patch < 21 || minor == 5 && patch < 5)
	torn := major == 3 && minor == 5 && patch < 3
	if old || lone || torn {
		return fmt.Errorf("etcdstore: version %s with %d members: can lose acknowledged swaps when it is killed: "+
			"must be 3.4.21 or later, of 3.5 it must be 3.5.5 or later, or say loss=", version, members)
	}
	return nil
}
