package daemon

import (
	"context"
	"os"

	"snowfence.example/snowfence/daemon/internal/page"
	"snowfence.example/snowfence/daemon/internal/view"
)

// pageFront is the front that has the page: that of operators.
func (d *daemon) pageFront() string {
	if d.settings.Admin != "" {
		return "admin"
	}
	return "http"
}

// newPage makes the page.
func (d *daemon) newPage() (*page.Page, error) {
	return page.New(page.Config{Source: statuses{d}, Clock: d.clock, Guarded: d.service.Guarded(), Public: d.pageFront() == "http"})
}

// statuses shows how the generators stand.
type statuses struct{ *daemon }

// State implements [page.Source].
func (d statuses) State(context.Context) view.State {
	host, _ := os.Hostname() // without one none is shown
	s := view.State{
		Taken: d.clock.Wall().UTC(), Daemon: view.Daemon{Host: host, PID: os.Getpid(), Version: d.config.Version, Started: d.started.UTC()},
		Problems: []view.Problem{}, Generators: []view.Generator{}, Namespaces: []view.Namespace{}, Events: []view.Event{},
	}
	for _, status := range d.service.Statuses() {
		s.Generators = append(s.Generators, view.Generator{Name: status.Name, Kind: status.Kind, Namespace: status.Namespace, Ready: status.Problem == nil, Refused: []view.Refusal{}})
	}
	return s
}

// History implements [page.Source].
func (statuses) History() view.History { return view.History{Times: []int64{}} }

// Workers implements [page.Source].
func (statuses) Workers(context.Context, string, string, int64, int64) ([]view.Worker, error) {
	return nil, nil
}
