package metrics

import (
	"errors"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// NewRegistry returns a registry that shows the process, the Go runtime and
// the program's version.
func NewRegistry(version string) (*prometheus.Registry, error) {
	registry := prometheus.NewRegistry()
	build := prometheus.NewGaugeFunc(prometheus.GaugeOpts{
		Name:        "snowfence_build_info",
		Help:        "Always 1: the program's version.",
		ConstLabels: prometheus.Labels{"version": version},
	}, func() float64 { return 1 })
	return registry, errors.Join(
		registry.Register(collectors.NewGoCollector()),
		registry.Register(collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})),
		registry.Register(build),
	)
}

// Handler answers scrapes of the registry.
func Handler(registry *prometheus.Registry) http.Handler {
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
}
