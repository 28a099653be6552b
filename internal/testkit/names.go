//go:build !servers

package testkit

// EngineNames are the engines that StartEngine knows and that outlive a process: without the tag
// servers, the ones that need no server.
func EngineNames() []string { return []string{"file"} }
