package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence/cmd/snowfence/internal/service"
	"snowfence.example/snowfence/fence"
)

// gauge is one figure of a generator's status.
type gauge struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
	read func(service.Status) float64
}

// term is the term of a lease that has not ended, or 0: the worker id of one
// that has may be another's by now.
func term(lease *fence.Status) int64 {
	if lease.Left <= 0 {
		return 0
	}
	return lease.Term
}

// collector reads the service's status at each scrape.
type collector struct {
	service  *service.Service
	ids      *prometheus.Desc
	requests *prometheus.Desc
	ready    *prometheus.Desc
	info     *prometheus.Desc
	offset   *prometheus.Desc
	lease    []gauge
}

// NewCollector returns a collector of all that the service counts and of how
// its generators' leases stand.
func NewCollector(s *service.Service) prometheus.Collector {
	desc := func(name, help string, labels ...string) *prometheus.Desc {
		return prometheus.NewDesc("snowfence_"+name, help, append([]string{"generator"}, labels...), nil)
	}
	count := func(name, help string, read func(service.Status) float64) gauge {
		return gauge{desc(name, help), prometheus.CounterValue, read}
	}
	level := func(name, help string, read func(service.Status) float64) gauge {
		return gauge{desc(name, help), prometheus.GaugeValue, read}
	}
	return &collector{
		service:  s,
		ids:      desc("ids_total", "Ids minted."),
		requests: desc("requests_total", "Requests for ids, by result: ok, or the type of the problem.", "result"),
		ready:    desc("generator_ready", "1 while the generator can mint and will be able to for a while yet, else 0."),
		info:     desc("lease_info", "Always 1: the worker id that the generator holds.", "namespace", "worker", "layout"),
		offset:   desc("clock_offset_seconds", "How far the clock was ahead of its reference when a claim last compared them; absent if none did."),
		lease: []gauge{
			level("lease_remaining_seconds", "How long ids can be minted if the store does not answer any more.", func(s service.Status) float64 { return s.Lease.Left.Seconds() }),
			level("lease_term", "How many times the worker id has been claimed; 0 without a lease.", func(s service.Status) float64 { return float64(term(s.Lease)) }),
			count("lease_losses_total", "Terms that ended against the generator's will.", func(s service.Status) float64 { return float64(s.Lease.Losses) }),
			count("lease_outages_total", "Times at which ids stopped for longer than a call waits.", func(s service.Status) float64 { return float64(s.Lease.Outages) }),
			count("lease_windows_ended_total", "Times at which a window ended before the store had acknowledged the next, however short.", func(s service.Status) float64 { return float64(s.Lease.WindowsEnded) }),
			count("lease_extensions_total", "Extensions of the present term; each term begins at 0.", func(s service.Status) float64 { return float64(s.Lease.Extensions) }),
			level("drift_seconds", "How far ids are stamped ahead of the clock; negative when behind it.", func(s service.Status) float64 { return s.Lease.Generator.Drift.Seconds() }),
			level("clock_behind_seconds", "How far the wall clock is behind the generator's time.", func(s service.Status) float64 { return s.Lease.Generator.Behind.Seconds() }),
			count("waits_total", "Requests of the present term that had to wait for a tick or the clock; each term begins at 0.", func(s service.Status) float64 { return float64(s.Lease.Generator.Waits) }),
			level("horizon_seconds", "How long the layout's time bits last.", func(s service.Status) float64 { return s.Lease.HorizonIn.Seconds() }),
		},
	}
}

// Describe sends what Collect may send.
func (c *collector) Describe(descs chan<- *prometheus.Desc) {
	descs <- c.ids
	descs <- c.requests
	descs <- c.ready
	descs <- c.info
	descs <- c.offset
	for _, g := range c.lease {
		descs <- g.desc
	}
}

// Collect reads how the generators stand.
func (c *collector) Collect(metrics chan<- prometheus.Metric) {
	for _, s := range c.service.Statuses() {
		c.collect(s, metrics)
	}
}

func (c *collector) collect(s service.Status, metrics chan<- prometheus.Metric) {
	send := func(desc *prometheus.Desc, kind prometheus.ValueType, value float64, labels ...string) {
		metrics <- prometheus.MustNewConstMetric(desc, kind, value, append([]string{s.Name}, labels...)...)
	}
	send(c.ids, prometheus.CounterValue, float64(s.IDs))
	send(c.requests, prometheus.CounterValue, float64(s.Requests), resultOK)
	for problem, n := range s.Problems {
		send(c.requests, prometheus.CounterValue, float64(n), problem.String())
	}
	ready := 0.0
	if s.Problem == nil {
		ready = 1
	}
	send(c.ready, prometheus.GaugeValue, ready)
	if s.Lease == nil {
		return
	}
	if term(s.Lease) > 0 {
		send(c.info, prometheus.GaugeValue, 1, s.Namespace, strconv.FormatInt(s.Lease.Worker, 10), s.Lease.Layout.String())
	}
	if s.Lease.ClockCompared {
		send(c.offset, prometheus.GaugeValue, s.Lease.ClockOffset.Seconds())
	}
	for _, g := range c.lease {
		send(g.desc, g.kind, g.read(s))
	}
}
