package metrics

import (
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxAgents is how many agents are counted one by one. Later agents are counted as one, so clients
// can't make up a series for each request.
const maxAgents = 100

// agents counts ids by the name that a client gives itself. It is safe for concurrent use.
type agents struct {
	ids *prometheus.CounterVec

	mu    sync.Mutex // guards known
	known map[string]prometheus.Counter
}

func newAgents(labels prometheus.Labels) *agents {
	return &agents{known: map[string]prometheus.Counter{}, ids: prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "snowfence_front_agent_ids_total", Help: "Ids by the user agent that asked for them. After the first 100 agents it is other.", ConstLabels: labels,
	}, []string{"agent"})}
}

// of returns the counter of an agent.
func (a *agents) of(agent string) prometheus.Counter {
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.known[agent]
	switch {
	case c != nil:
	case len(a.known) < maxAgents:
		c = a.ids.WithLabelValues(agent)
		a.known[agent] = c
	default:
		c = a.ids.WithLabelValues("other")
	}
	return c
}
