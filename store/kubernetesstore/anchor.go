package kubernetesstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	coordination "k8s.io/api/coordination/v1"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

// same returns an error unless the id is the store's. The first one that is seen is.
//
// The anchor, a Lease by the name of the prefix, is made before the first register. It has a random id, and so has each
// register. A client notices by it that the namespace was deleted, or that another cluster answers: its
// readings there, and missing ones, prove nothing.
func (s *Store) same(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anchor == "" {
		s.anchor = id
	}
	if id != s.anchor {
		return fmt.Errorf("a Lease of store %q in place of %q: another cluster answers, or the Lease %s/%s was deleted: "+
			"put it back, or stop all holders and begin anew", id, s.anchor, s.place.namespace, s.config.Prefix)
	}
	return nil
}

// entry reads a register of this store.
func (s *Store) entry(l *coordination.Lease) (store.Entry, error) {
	e, err := entry(l, s.config.Prefix)
	if err == nil {
		err = s.same(l.Annotations[storeAnnotation])
	}
	return e, err
}

// findAnchor reads the anchor, and returns the store's id, which is empty before the first register.
func (s *Store) findAnchor(ctx context.Context) (id string, err error) {
	s.mu.Lock()
	empty := s.anchor == "" // another call may make the anchor meanwhile
	s.mu.Unlock()
	l, err := s.get(ctx, s.config.Prefix)
	switch absent := errors.Is(err, store.ErrNotFound); {
	case absent && empty:
		return "", nil
	case err != nil && !absent:
		return "", err
	}
	id = l.Annotations[storeAnnotation]
	return id, s.same(id)
}

// castAnchor makes the anchor unless there is one, and returns the store's id.
func (s *Store) castAnchor(ctx context.Context, drawn storeclient.Token) (id string, err error) {
	if id, err = s.findAnchor(ctx); err != nil || id != "" {
		return id, err
	}
	l := &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: new("do not delete")}}
	l.Name, l.Annotations = s.config.Prefix, map[string]string{storeAnnotation: drawn.String()}
	failed := s.send(ctx, http.MethodPost, s.leases, l, l)
	if id, err = s.findAnchor(ctx); err == nil && id == "" { // unless another process has made it
		err = fmt.Errorf("make the Lease %s: %w", s.config.Prefix, errors.Join(failed, store.ErrNotFound))
	}
	return id, err
}
