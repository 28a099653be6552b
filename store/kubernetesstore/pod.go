package kubernetesstore

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// ActiveLabel is the label of a pod that says whether it gives ids: "true" or "false".
const ActiveLabel = "snowfence.example/active"

const (
	podTime             = 5 * time.Second // for one write of the label
	podPause, podPauses = time.Second, 30 * time.Second
)

// Pod keeps ActiveLabel on a pod, so that a Service leads to the one of a pair that gives ids. Ids do not depend on it.
type Pod struct {
	client *Store
	path   string
	wanted chan bool // the latest; room for one
}

// OpenPod returns the pod of that name in the namespace that the program runs in, or in a kubeconfig's. It connects to
// nothing.
func OpenPod(name string) (*Pod, error) {
	if !regexp.MustCompile(`^[a-z0-9]([-.a-z0-9]{0,251}[a-z0-9])?$`).MatchString(name) {
		return nil, fmt.Errorf("kubernetesstore: pod %.80q: must have 1 to 253 of [a-z0-9.-], with a letter or a digit at both ends", name)
	}
	client, err := Config{}.client()
	if err != nil {
		return nil, err
	}
	path := "/api/v1/namespaces/" + client.place.namespace + "/pods/" + name
	return &Pod{client: client, path: path, wanted: make(chan bool, 1)}, nil
}

// Set says whether the pod gives ids. It does not wait. One goroutine may call it.
func (p *Pod) Set(active bool) {
	select {
	case <-p.wanted:
	default:
	}
	p.wanted <- active
}

// Run writes the label at first, since the container before may have left it, and whenever Set changes it. A write that
// fails is told, and tried again after a pause. When ctx ends it takes the label away, or fails to within podTime.
func (p *Pod) Run(ctx context.Context, failed func(error)) error {
	want, written, known, pause := false, false, false, podPause
	for ctx.Err() == nil {
		next, cancel := context.WithCancel(ctx)
		if !known || want != written {
			if err := p.write(ctx, want); err == nil {
				known, written, pause = true, want, podPause
			} else {
				known = false // the write may be under way
				failed(err)
				next, cancel = context.WithTimeout(ctx, pause)
				pause = min(2*pause, podPauses)
			}
		}
		select {
		case want = <-p.wanted:
		case <-next.Done():
		}
		cancel()
	}
	if written || !known {
		if err := p.write(context.WithoutCancel(ctx), false); err != nil {
			failed(err)
		}
	}
	return p.client.Close()
}

// write writes the label once. The server, too, gives up in time, so an earlier write does not land after a later one.
func (p *Pod) write(ctx context.Context, active bool) error {
	ctx, cancel := context.WithTimeout(ctx, podTime+time.Second)
	defer cancel()
	patch := []map[string]string{{"op": "add", "path": "/metadata/labels/snowfence.example~1active", "value": strconv.FormatBool(active)}}
	err := p.client.send(ctx, http.MethodPatch, p.path+"?timeout="+podTime.String(), patch, &struct{}{})
	if err != nil {
		return fmt.Errorf("kubernetesstore: label %s of %s: %w", ActiveLabel, p.path, err)
	}
	return nil
}
