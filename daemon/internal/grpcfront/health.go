package grpcfront

import (
	"context"
	"maps"
	"time"

	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/api/snowfencev1"
	"snowfence.example/snowfence/daemon/internal/front"
)

// health answers whether generators can mint, and as the server "" whether they do or stand by.
type health struct {
	*grpchealth.Server
	service front.Service
	client  func(context.Context) (front.Client, error)
}

// poll looks each second until the front drains, so that watching clients see changes.
func (h *health) poll(clock snowfence.Clock, draining <-chan struct{}) {
	for {
		expired, stop := clock.After(time.Second)
		select {
		case <-expired:
			h.look()
		case <-draining:
			stop()
			return
		}
	}
}

// Check answers how a generator stands now, to a client that may use it: or names could be guessed. How all
// stand together it answers to everybody.
func (h *health) Check(ctx context.Context, r *grpc_health_v1.HealthCheckRequest) (*grpc_health_v1.HealthCheckResponse, error) {
	if name := r.GetService(); !ofAll(name) {
		client, err := h.client(ctx)
		if err == nil {
			err = client.Admit(name)
		}
		if err != nil {
			return nil, err
		}
	}
	h.look()
	return h.Server.Check(ctx, r)
}

// List answers how the generators stand that the client may use. It shows their names, so it asks for a
// token, as Watch does.
func (h *health) List(ctx context.Context, r *grpc_health_v1.HealthListRequest) (*grpc_health_v1.HealthListResponse, error) {
	client, err := h.client(ctx)
	if err != nil {
		return nil, err
	}
	h.look()
	list, err := h.Server.List(ctx, r)
	maps.DeleteFunc(list.GetStatuses(), func(name string, _ *grpc_health_v1.HealthCheckResponse) bool {
		return !shows(client, name)
	})
	return list, err
}

// Watch sends the client each change of a generator that it may use.
func (h *health) Watch(r *grpc_health_v1.HealthCheckRequest, stream grpc_health_v1.Health_WatchServer) error {
	client, err := h.client(stream.Context())
	if err != nil {
		return err
	}
	if !shows(client, r.GetService()) {
		return client.Admit(r.GetService())
	}
	return h.Server.Watch(r, stream)
}

// shows reports whether a client may see how a name stands.
func shows(client front.Client, name string) bool {
	return ofAll(name) || client.Allows(name)
}

// ofAll reports whether a name stands for all generators together.
func ofAll(name string) bool { return name == "" || name == snowfencev1.Ids_ServiceDesc.ServiceName }

// look updates the health of the generators, for checks and watches.
func (h *health) look() {
	states := map[bool]grpc_health_v1.HealthCheckResponse_ServingStatus{
		true: grpc_health_v1.HealthCheckResponse_SERVING, false: grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	}
	statuses := h.service.Statuses()
	h.SetServingStatus("", states[front.Ready(statuses)]) // of the server, as probes of Kubernetes ask for
	h.SetServingStatus(snowfencev1.Ids_ServiceDesc.ServiceName, states[front.Active(statuses)])
	for _, s := range statuses {
		h.SetServingStatus(s.Name, states[s.Problem == nil])
	}
}
