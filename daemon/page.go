package daemon

import "snowfence.example/snowfence/daemon/internal/page"

// pageFront is the front that has the page: that of operators.
func (d *daemon) pageFront() string {
	if d.settings.Admin != "" {
		return "admin"
	}
	return "http"
}

// newPage makes the page.
func (d *daemon) newPage() (*page.Page, error) {
	return page.New(page.Config{Source: d.view, Clock: d.clock, Guarded: d.service.Guarded(), Public: d.pageFront() == "http", RESP: d.settings.RESP})
}
