package kubernetesstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	authorization "k8s.io/api/authorization/v1"
	coordination "k8s.io/api/coordination/v1"

	"snowfence.example/snowfence/store"
)

// judge reads the anchor, and asks what the user may do. An error says what is wrong with the server, or which right
// is missing.
func (s *Store) judge(ctx context.Context) error {
	if _, err := s.findAnchor(ctx); err != nil {
		if refusal(err).Code == http.StatusNotFound {
			return fmt.Errorf("the server has no Leases of coordination.k8s.io/v1: %w", err)
		}
		return err
	}
	review := authorization.SelfSubjectRulesReview{Spec: authorization.SelfSubjectRulesReviewSpec{Namespace: s.place.namespace}}
	err := s.send(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", nil, review, &review)
	if refusal(err).Code == http.StatusForbidden || review.Status.Incomplete {
		return nil // a call that needs a right will say so
	}
	has := func(granted []string, one string) bool {
		return slices.Contains(granted, one) || slices.Contains(granted, "*")
	}
	var missing []string
	for _, verb := range []string{"get", "list", "create", "patch"} {
		if !slices.ContainsFunc(review.Status.ResourceRules, func(r authorization.ResourceRule) bool {
			return has(r.Verbs, verb) && has(r.APIGroups, "coordination.k8s.io") && has(r.Resources, "leases") && len(r.ResourceNames) == 0
		}) {
			missing = append(missing, verb)
		}
	}
	if err != nil || missing == nil {
		return err
	}
	return fmt.Errorf("the user may not %s leases (coordination.k8s.io) in namespace %s: grant it by a Role there",
		strings.Join(missing, ", "), s.place.namespace)
}

// findAnchor reads the anchor, and returns whether there is one. The anchor is a Lease by the name of the prefix. It is
// made before the first register, and its uid, which the server draws, tells this store from every other. If it is
// gone or another one, the namespace was deleted, or another cluster answers: then a register that is not found says
// nothing. A store that has seen no anchor takes the first.
func (s *Store) findAnchor(ctx context.Context) (found bool, err error) {
	l, err := s.get(ctx, s.config.Prefix)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anchor == "" {
		s.anchor = string(l.UID)
	}
	if string(l.UID) != s.anchor {
		return false, fmt.Errorf("the Lease %s/%s has uid %q, and had %q: the registers are gone, or another cluster answers: restart to begin anew",
			s.place.namespace, s.config.Prefix, string(l.UID), s.anchor)
	}
	return s.anchor != "", nil
}

// castAnchor makes the anchor unless there is one.
func (s *Store) castAnchor(ctx context.Context) error {
	if found, err := s.findAnchor(ctx); err != nil || found {
		return err
	}
	anchor := &coordination.Lease{Spec: coordination.LeaseSpec{HolderIdentity: new("do not delete")}}
	anchor.Name = s.config.Prefix
	err := s.send(ctx, http.MethodPost, s.leases, nil, anchor, anchor)
	found, lost := s.findAnchor(ctx) // another process may have made it
	if lost == nil && found {
		return nil
	}
	return fmt.Errorf("make the Lease %s: %w", s.config.Prefix, errors.Join(err, lost))
}
