package metrics

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"snowfence.example/snowfence/daemon/internal/front"
	"snowfence.example/snowfence/daemon/kind"
)

// figure is one number of a generator's status.
type figure struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(front.Status) (value float64, known bool)
}

// collector reads the service's status at each scrape.
type collector struct {
	service  front.Service
	figures  []figure
	requests *prometheus.Desc
	info     *prometheus.Desc
}

// NewCollector returns a collector of all that the service counts, and of its leases.
func NewCollector(s front.Service) prometheus.Collector {
	const counter, gauge = prometheus.CounterValue, prometheus.GaugeValue
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("snowfence_"+name, help, append([]string{"generator"}, labels...), nil)
	}
	c := &collector{
		service:  s,
		requests: desc("requests_total", "Requests for ids, by result: ok, or the type of the problem.", "result"),
		info:     desc("lease_info", "Always 1: the worker id that the generator holds.", "namespace", "worker", "layout"),
	}
	add := func(kind prometheus.ValueType, name, help string, read func(front.Status) (float64, bool)) {
		c.figures = append(c.figures, figure{desc(name, help), kind, read})
	}
	add(gauge, "store_failing_seconds", "For how long the generator's store has not answered, or has taken no writes; 0 while it does its part.", failingFor)
	lease := func(kind prometheus.ValueType, name, help string, read func(*kind.Lease) float64) {
		add(kind, name, help, func(s front.Status) (float64, bool) {
			if s.Lease == nil {
				return 0, false
			}
			return read(s.Lease), true
		})
	}
	add(counter, "ids_total", "Ids minted.", func(s front.Status) (float64, bool) { return float64(s.IDs), true })
	add(gauge, "generator_ready", "1 while the generator can mint and will be able to for a while yet, else 0.", func(s front.Status) (float64, bool) {
		return one(s.Problem == nil), true
	})
	add(gauge, "generator_standby", "1 while the generator stands by for another process and nothing is wrong, else 0.", func(s front.Status) (float64, bool) {
		return one(s.StandsBy), true
	})
	add(gauge, "generator_ends_timestamp_seconds", "When the generator's ids are used up: at its layout's horizon, or at its counter's limit by the average rate; absent if that is not known.", func(s front.Status) (float64, bool) {
		return float64(s.Ends.Unix()), !s.Ends.IsZero()
	})
	add(gauge, "clock_offset_seconds", "How far the clock was ahead of its reference when a claim last compared them; absent if none did.", func(s front.Status) (float64, bool) {
		if s.Lease == nil || !s.Lease.ClockCompared {
			return 0, false
		}
		return s.Lease.ClockOffset.Seconds(), true
	})
	lease(gauge, "lease_remaining_seconds", "How long ids can be minted if the store does not answer any more.", func(l *kind.Lease) float64 { return l.Left.Seconds() })
	lease(gauge, "lease_window_seconds", "The window, of which lease_remaining_seconds is a part.", func(l *kind.Lease) float64 { return l.Window.Seconds() })
	lease(gauge, "lease_term", "How many times the worker id has been claimed; 0 without a lease.", func(l *kind.Lease) float64 { return float64(term(l)) })
	lease(counter, "lease_losses_total", "Terms that ended against the generator's will.", func(l *kind.Lease) float64 { return float64(l.Losses) })
	lease(counter, "lease_outages_total", "Times at which ids stopped for longer than a call waits.", func(l *kind.Lease) float64 { return float64(l.Outages) })
	lease(counter, "lease_windows_ended_total", "Times at which a window ended before the store had acknowledged the next, however short.", func(l *kind.Lease) float64 { return float64(l.WindowsEnded) })
	lease(counter, "lease_extensions_total", "Extensions of the present term; each term begins at 0.", func(l *kind.Lease) float64 { return float64(l.Extensions) })
	lease(gauge, "drift_seconds", "How far ids are stamped ahead of the clock; negative when behind it.", func(l *kind.Lease) float64 { return l.Generator.Drift.Seconds() })
	lease(gauge, "clock_behind_seconds", "How far the wall clock is behind the generator's time.", func(l *kind.Lease) float64 { return l.Generator.Behind.Seconds() })
	lease(counter, "waits_total", "Requests of the present term that had to wait for a tick or the clock; each term begins at 0.", func(l *kind.Lease) float64 { return float64(l.Generator.Waits) })
	lease(gauge, "horizon_seconds", "How long the layout's time bits last.", func(l *kind.Lease) float64 { return l.HorizonIn.Seconds() })
	counted := func(kind prometheus.ValueType, name, help string, read func(*kind.Counter) (float64, bool)) {
		add(kind, name, help, func(s front.Status) (float64, bool) {
			if s.Counter == nil {
				return 0, false
			}
			return read(s.Counter)
		})
	}
	counted(gauge, "counter_next", "The number that is reserved next, as this process knows; absent where another system's table has it.", func(c *kind.Counter) (float64, bool) { return float64(c.Next), c.Limit > 0 })
	counted(gauge, "counter_left", "Numbers that are left up to the counter's limit; absent where another system's table has it.", func(c *kind.Counter) (float64, bool) { return float64(c.Left), c.Limit > 0 })
	counted(gauge, "counter_waiting", "Calls that wait for numbers.", func(c *kind.Counter) (float64, bool) { return float64(c.Waiting), true })
	counted(gauge, "counter_runs_out_timestamp_seconds", "When no number is left, at the average rate since the counter was created; absent if that is not known.", func(c *kind.Counter) (float64, bool) {
		return float64(c.RunsOut.Unix()), !c.RunsOut.IsZero()
	})
	return c
}

// one returns 1 for true, and else 0.
func one(so bool) float64 {
	if so {
		return 1
	}
	return 0
}

// failingFor returns for how long a generator's store has failed. It returns false for a generator
// without a store.
func failingFor(s front.Status) (seconds float64, ok bool) {
	switch {
	case s.Lease != nil:
		return s.Lease.FailingFor.Seconds(), true
	case s.Counter != nil:
		return s.Counter.FailingFor.Seconds(), true
	}
	return 0, false
}

// term is the term of a lease that has not ended, or 0: the worker id of one
// that has may be another's by now.
func term(lease *kind.Lease) int64 {
	if lease.Left <= 0 {
		return 0
	}
	return lease.Term
}

// Describe sends the descriptions of Collect's metrics.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.requests
	descs <- c.info
	for _, f := range c.figures {
		descs <- f.desc
	}
}

// Collect reads how the generators stand.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for _, s := range c.service.Statuses() {
		send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
			metrics <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{s.Name}, labels...)...)
		}
		for _, f := range c.figures {
			if value, known := f.read(s); known {
				send(f.desc, f.kind, value)
			}
		}
		send(c.requests, prometheus.CounterValue, float64(s.Requests), resultOK)
		for problem, n := range s.Problems {
			send(c.requests, prometheus.CounterValue, float64(n), problem.String())
		}
		if s.Lease != nil && term(s.Lease) > 0 {
			send(c.info, prometheus.GaugeValue, 1, s.Namespace, strconv.FormatInt(s.Lease.Worker, 10), s.Lease.Layout.String())
		}
	}
}

// NewRegistry returns a registry with the process, the Go runtime, the version, and more collectors.
func NewRegistry(version string, more ...prometheus.Collector) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	common := []prometheus.Collector{
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}), newBuild(version),
	}
	for _, c := range append(common, more...) {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return registry, nil
}

func newBuild(version string) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "snowfence_build_info",
		Help:        "Always 1: the program's version.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
}

// NewCertificate returns a collector of the end of the certificate that the fronts show.
func NewCertificate(ends func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "snowfence_certificate_ends_timestamp_seconds",
		Help: "When the certificate of the fronts ends, as last read from its file; absent without TLS.",
	}, func() float64 { return float64(ends().Unix()) })
}

// NewClock returns a collector of the wall clock that the generators go by.
func NewClock(wall func() time.Time) prometheus.Collector {
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name: "snowfence_clock_timestamp_seconds",
		Help: "This host's wall clock at the scrape. Less timestamp() of the same, it is how far the clock is ahead of Prometheus.",
	}, func() float64 { return float64(wall().UnixMilli()) / 1000 })
}

// Handler answers scrapes of the registry.
func Handler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
