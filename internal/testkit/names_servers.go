//go:build servers

package testkit

// EngineNames are the engines that StartEngine knows and that outlive a process.
func EngineNames() []string {
	return []string{"file", "etcd", "zookeeper", "redis", "postgres", "mysql", "nats"}
}
