package metrics

import (
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// Front counts the connections and requests of one front. Use [NewFront] to make one. It is safe for
// concurrent use.
type Front struct {
	now      func() time.Duration
	requests prometheus.Counter
	problems *prometheus.CounterVec
	duration prometheus.Histogram
	open     prometheus.Gauge
	refused  *prometheus.CounterVec
	ids      *prometheus.CounterVec // by agent

	mu     sync.Mutex          // guards agents
	agents map[string]struct{} // that are counted one by one
}

// maxAgents is how many agents are counted one by one. Later agents are counted as one, so clients
// can't make up a series for each request.
const maxAgents = 100

// NewFront returns the counts of a front with a name, by a monotonic clock.
func NewFront(name string, now func() time.Duration) *Front {
	labels := prometheus.Labels{"front": name}
	return &Front{
		now: now,
		requests: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "snowfence_front_requests_total", Help: "Requests that the front answered, whatever the answer.", ConstLabels: labels,
		}),
		problems: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowfence_front_problems_total", Help: "Requests that the front answered with a problem, by the problem's type.", ConstLabels: labels,
		}, []string{"problem"}),
		duration: prometheus.NewHistogram(prometheus.HistogramOpts{
			Name:        "snowfence_front_request_duration_seconds",
			Help:        "How long the front took from a request to its answer. A pipeline of requests that is answered at once counts once.",
			ConstLabels: labels,
			Buckets:     []float64{50e-6, 100e-6, 250e-6, 500e-6, 1e-3, 2e-3, 5e-3, 10e-3, 50e-3, 250e-3, 1, 5, 30},
		}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "snowfence_front_connections", Help: "Connections that are open.", ConstLabels: labels,
		}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowfence_front_connections_refused_total", Help: "Connections that were closed at once, by the limit in their way: connections, or address-connections.", ConstLabels: labels,
		}, []string{"limit"}),
		ids: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "snowfence_front_agent_ids_total", Help: "Ids by the user agent that asked for them. After the first 100 agents it is other.", ConstLabels: labels,
		}, []string{"agent"}),
		agents: map[string]struct{}{},
	}
}

// Began returns when a request began, for Answered.
func (f *Front) Began() time.Duration { return f.now() }

// Answered counts requests that were answered together. It returns the time of its clock.
func (f *Front) Answered(began time.Duration, requests int) (now time.Duration) {
	now = f.now()
	f.requests.Add(float64(requests))
	f.duration.Observe((now - began).Seconds())
	return now
}

// Failed counts a request that was answered with a problem, by the name of its type.
func (f *Front) Failed(problem string) { f.problems.WithLabelValues(problem).Inc() }

// Agent returns a function that counts an id of clients that call themselves so. A client keeps it.
func (f *Front) Agent(name string) (count func()) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.agents) < maxAgents {
		f.agents[name] = struct{}{}
	}
	if _, known := f.agents[name]; !known {
		name = "other"
	}
	return f.ids.WithLabelValues(name).Inc
}

// Opened counts a connection that is now open.
func (f *Front) Opened() { f.open.Inc() }

// Closed takes a connection out of the count of Opened.
func (f *Front) Closed() { f.open.Dec() }

// Refused counts a connection that a limit did not let in.
func (f *Front) Refused(limit string) { f.refused.WithLabelValues(limit).Inc() }

// Describe sends the descriptions of Collect's metrics.
func (f *Front) Describe(descs chan<- *prometheus.Desc) {
	for _, c := range f.collectors() {
		c.Describe(descs)
	}
}

// Collect sends the present figures.
func (f *Front) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range f.collectors() {
		c.Collect(metrics)
	}
}

func (f *Front) collectors() []prometheus.Collector {
	return []prometheus.Collector{f.requests, f.problems, f.duration, f.open, f.refused, f.ids}
}
