package daemon

import (
	"context"

	"snowfence.example/snowfence/store/kubernetesstore"
)

// openPod returns the pod whose label is kept, or nil.
func openPod(settings Settings) (*kubernetesstore.Pod, error) {
	if settings.Pod == "" {
		return nil, nil //nolint:nilnil // the settings name no pod
	}
	return kubernetesstore.OpenPod(settings.Pod)
}

// label keeps the pod's label until the context ends.
func (d *daemon) label(ctx context.Context) {
	if d.pod != nil {
		d.pod.Run(ctx, func(err error) {
			d.log.Warn("can't label the pod: requests by its Service may meet one that stands by", "error", err)
		})
	}
}
