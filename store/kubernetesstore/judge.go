package kubernetesstore

import (
	"context"
	"fmt"
	"strings"
)

// judge returns an error if the cluster may keep its Leases in SQLite, and the operator has not said what it loses.
//
// k3s and k0s can put kine and an SQL database in the place of etcd. With SQLite, the default of a lone k3s server,
// writes are acknowledged before they are on the disk. No client can see which one is there.
func (s *Store) judge(ctx context.Context) error {
	if s.config.Durable || s.config.Loss > 0 {
		return nil
	}
	const remedy = "say durable=true if the cluster is on etcd, or loss=15s if it is on PostgreSQL or MySQL"
	var version struct {
		Text string `json:"gitVersion"`
	}
	if err := s.read(ctx, "/version", &version); err != nil {
		return fmt.Errorf("read /version, which shows whether it can be on SQLite: %w; where that is forbidden, %s", err, remedy)
	}
	if strings.Contains(version.Text, "+k3s") || strings.Contains(version.Text, "+k0s") {
		return fmt.Errorf("version %.80s: can be on SQLite, which loses acknowledged swaps when power fails: %s", version.Text, remedy)
	}
	return nil
}
