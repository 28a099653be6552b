package daemon

import (
	"context"
	"fmt"

	"snowfence.example/snowfence/store/kubernetesstore"
)

// podOf is the pod whose label is kept, or nil.
func podOf(settings Settings) (*kubernetesstore.Pod, error) {
	if settings.Pod == "" {
		return nil, nil //nolint:nilnil // none is asked for
	}
	pod, err := kubernetesstore.OpenPod(settings.Pod)
	if err != nil {
		return nil, fmt.Errorf("pod: %w", err)
	}
	return pod, nil
}

// label keeps the pod's label until the context ends.
func (d *daemon) label(ctx context.Context) {
	if d.pod == nil {
		return
	}
	failed := func(err error) {
		d.log.Warn("can't label the pod: requests by its Service may meet one that stands by", "error", err)
	}
	if err := d.pod.Run(ctx, failed); err != nil {
		failed(err)
	}
}
