package metrics

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestAgentsAreCountedOneByOneUpToALimit(t *testing.T) {
	front := NewFront("thrift", func() time.Duration { return 0 })
	for round := range 2 {
		for i := range maxAgents + 50 {
			count := front.Agent(fmt.Sprintf("agent-%d", i))
			for range round + 1 {
				count()
			}
		}
	}
	body := scraped(t, front)
	wantLines(
		t, body,
		`snowfence_front_agent_ids_total{agent="agent-0",front="thrift"} 3`,
		`snowfence_front_agent_ids_total{agent="agent-99",front="thrift"} 3`,
		`snowfence_front_agent_ids_total{agent="other",front="thrift"} 150`,
	)
	if n := strings.Count(body, "snowfence_front_agent_ids_total{"); n != maxAgents+1 {
		t.Errorf("%d series, want %d", n, maxAgents+1)
	}
}
