package kubernetesstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"
)

// ActiveLabel is the label of a pod that shows whether it gives ids: "true" or "false".
const ActiveLabel = "snowfence.example/active"

const podTime, podPause, podPauses = 5 * time.Second, time.Second, 30 * time.Second // of a write, and between two

// Pod keeps ActiveLabel on a pod, so that a Service leads to the one of a pair that gives ids. Ids do not depend on it.
type Pod struct {
	client *Store
	path   string
	wanted chan string // the latest label; room for one
}

// OpenPod returns the pod of that name in the namespace that the program runs in, or in a kubeconfig's. It connects to
// nothing.
func OpenPod(name string) (*Pod, error) {
	client, err := Config{}.client()
	if err != nil {
		return nil, fmt.Errorf("pod %s: %w", name, err)
	}
	path := "/api/v1/namespaces/" + client.place.namespace + "/pods/" + url.PathEscape(name) + "?timeout=" + podTime.String()
	return &Pod{client: client, path: path, wanted: make(chan string, 1)}, nil
}

// Set records whether the pod gives ids. It does not wait. One goroutine may call it.
func (p *Pod) Set(active bool) {
	select {
	case <-p.wanted:
	default:
	}
	p.wanted <- strconv.FormatBool(active)
}

// Run writes the label at first, since the container before may have left it, and whenever Set changes it. A write that
// fails is reported, and tried again after a pause. When ctx ends Run takes the label away, or fails to within podTime.
func (p *Pod) Run(ctx context.Context, failed func(error)) {
	want, written, pause := "false", "", podPause
	for ctx.Err() == nil {
		next := podPauses
		if want != written {
			written = want
			if err := p.write(ctx, want); err == nil {
				pause = podPause
			} else if written = ""; ctx.Err() == nil { // the write may be under way
				failed(err)
				next, pause = pause, min(2*pause, podPauses)
			}
		}
		over, cancel := context.WithTimeout(ctx, next)
		select {
		case want = <-p.wanted:
		case <-over.Done():
		}
		cancel()
	}
	var err error
	if written != "false" {
		err = p.write(context.WithoutCancel(ctx), "false")
	}
	if err = errors.Join(err, p.client.Close()); err != nil {
		failed(err)
	}
}

// write writes the label once. The server, too, gives up in time, so an earlier write does not land after a later one.
func (p *Pod) write(ctx context.Context, label string) error {
	ctx, cancel := context.WithTimeout(ctx, podTime+time.Second)
	defer cancel()
	patch := []map[string]string{{"op": "add", "path": "/metadata/labels/snowfence.example~1active", "value": label}}
	if err := p.client.send(ctx, http.MethodPatch, p.path, patch, &struct{}{}); err != nil {
		return fmt.Errorf("kubernetesstore: label %s of %s: %w", ActiveLabel, p.path, err)
	}
	return nil
}
