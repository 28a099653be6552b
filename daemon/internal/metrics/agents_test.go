package metrics

import (
	"fmt"
	"net/http"
	"net/http/httptest"
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
	registry, err := NewRegistry("v0")
	if err != nil {
		t.Fatal(err)
	}
	if err := registry.Register(front); err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	Handler(registry).ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", http.NoBody))
	wantLines(
		t, w.Body.String(),
		`snowfence_front_agent_ids_total{agent="agent-0",front="thrift"} 3`,
		`snowfence_front_agent_ids_total{agent="agent-99",front="thrift"} 3`,
		`snowfence_front_agent_ids_total{agent="other",front="thrift"} 150`,
	)
	if n := strings.Count(w.Body.String(), "snowfence_front_agent_ids_total{"); n != maxAgents+1 {
		t.Errorf("%d series, want %d", n, maxAgents+1)
	}
}
