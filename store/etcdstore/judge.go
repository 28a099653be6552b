package etcdstore

import (
	"context"
	"fmt"
	"strings"

	clientv3 "go.etcd.io/etcd/client/v3"

	"snowfence.example/snowfence/internal/storeclient"
)

// judge asks every endpoint for its status, all at once, and returns an error if
// one is not to be relied on. Unreadable settings are the operator's to ensure: a
// member may be away, and a user may have no right to it.
func (s *Store) judge(ctx context.Context) error {
	answers := make([]*clientv3.StatusResponse, len(s.config.Endpoints))
	storeclient.AskAll(ctx, s.config.Endpoints, func(ctx context.Context, i int, endpoint string) bool {
		status, err := s.client.Status(ctx, endpoint)
		if err == nil {
			answers[i] = status
		}
		return err == nil
	})
	for i, status := range answers {
		if status == nil {
			continue
		}
		if err := s.judgeMember(status); err != nil {
			return fmt.Errorf("etcdstore: endpoint %s: %w", s.config.Endpoints[i], err)
		}
	}
	return ctx.Err()
}

func (s *Store) judgeMember(status *clientv3.StatusResponse) error {
	if err := s.same(status.Header.GetClusterId()); err != nil {
		return err
	}
	for _, alarm := range status.Errors {
		if strings.Contains(alarm, "CORRUPT") {
			return fmt.Errorf("the cluster has found that its members' data differ (%s): mend it first", strings.TrimSpace(alarm))
		}
	}
	if s.config.Loss > 0 {
		return nil
	}
	return sound(status.Version)
}

// same returns an error unless it is this store's cluster that answered. Two
// clusters are two spaces: behind one name, or as a copy in the other's place, each would hand out the
// other's ids.
func (s *Store) same(cluster uint64) error {
	if cluster != s.cluster {
		return fmt.Errorf("cluster %x answers, the store was opened on cluster %x: all endpoints must be of one cluster", cluster, s.cluster)
	}
	return nil
}

// sound returns an error if a member of that version is known to lose acknowledged writes, in failures
// that etcd is made for:
//
//   - before 3.4.21, and 3.5.0 to 3.5.4: a lone member can acknowledge, and show,
//     a write that is not in its log yet (etcd-io/etcd, issue 14370);
//   - 3.5.0 to 3.5.2: a member that is killed can come back with another state
//     than the others have (issue 13766);
//   - 3.5.0 to 3.5.5: so can one that is killed while it is defragmented (pull
//     request 14685);
//   - 3.4.20, 3.4.21 and 3.5.5: so can one that joins by a snapshot, with
//     authentication on (pull request 14648).
func sound(version string) error {
	var major, minor, patch int
	if n, err := fmt.Sscanf(version, "%d.%d.%d", &major, &minor, &patch); n < 3 || err != nil {
		return nil //nolint:nilerr // a version that can't be read is the operator's to judge
	}
	if major < 3 || major == 3 && (minor < 4 || minor == 4 && patch < 22 || minor == 5 && patch < 6) {
		return fmt.Errorf("version %s: can lose acknowledged swaps when a member is killed: "+
			"must be 3.4.22 or later, of 3.5 it must be 3.5.6 or later, or say loss=", version)
	}
	return nil
}
