package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"snowfence.example/snowfence/daemon/internal/view"
)

// Pools is a collector of how many worker ids of each namespace are in which state. A scrape shows the last
// count, and asks for the next one if it is due: so scrapes don't wait for a store, the first one shows
// nothing, and an unwatched daemon counts nothing. A namespace that could not be counted is left out.
// It is safe for concurrent use.
type Pools struct {
	counts func() []view.Census
	desc   *prometheus.Desc
	lent   *prometheus.Desc
	silent *prometheus.Desc
}

// NewPools returns a collector of these counts, as of [view.View.Censuses].
func NewPools(counts func() []view.Census) *Pools {
	return &Pools{counts, prometheus.NewDesc("snowfence_namespace_workers",
		"Worker ids of a namespace by state, as counted a minute ago or so: free, held, resting, quarantined, foreign, unreadable, used-up.",
		[]string{"store", "namespace", "state"}, nil), prometheus.NewDesc("snowfence_namespace_workers_lent",
		"Held worker ids of a namespace that borrowers have, as counted a minute ago or so.", []string{"store", "namespace"}, nil), prometheus.NewDesc("snowfence_namespace_workers_silent",
		"Held worker ids of a namespace whose holders missed the time to extend, as counted a minute ago or so.", []string{"store", "namespace"}, nil)}
}

// Describe sends the descriptions of Collect's metrics.
func (p *Pools) Describe(descs chan<- *prometheus.Desc) {
	descs <- p.desc
	descs <- p.lent
	descs <- p.silent
}

// Collect shows the last count.
func (p *Pools) Collect(metrics chan<- prometheus.Metric) {
	for _, c := range p.counts() {
		metrics <- prometheus.MustNewConstMetric(p.lent, prometheus.GaugeValue, float64(c.Lent), c.StoreName, c.Namespace)
		metrics <- prometheus.MustNewConstMetric(p.silent, prometheus.GaugeValue, float64(c.Silent), c.StoreName, c.Namespace)
		for state, n := range c.Counts {
			metrics <- prometheus.MustNewConstMetric(p.desc, prometheus.GaugeValue, float64(n), c.StoreName, c.Namespace, string(state))
		}
	}
}
