package testkit_test

import (
	"sync"
	"testing"

	"snowfence.example/snowfence/internal/testkit"
)

// TestFreePortsDifferAndAreLeftAloneByConnections draws as many as a test with
// many servers does, at once. The first port that Linux gives to a connection, or
// to a proxy's listener, is 32768.
func TestFreePortsDifferAndAreLeftAloneByConnections(t *testing.T) {
	ports := make([]int, 200)
	var drawing sync.WaitGroup
	for i := range ports {
		drawing.Go(func() { ports[i] = testkit.FreePort(t) })
	}
	drawing.Wait()
	seen := make(map[int]bool)
	for _, port := range ports {
		if seen[port] {
			t.Errorf("port %d is given out twice", port)
		}
		seen[port] = true
		if port < 1024 || port >= 32768 {
			t.Errorf("port %d may be taken by a connection", port)
		}
	}
}
