package kubernetesstore

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"snowfence.example/snowfence/store"
)

// judge reads the anchor, and asks what the user may do. An error says what is wrong with the server, or which right
// is missing.
func (s *Store) judge(ctx context.Context) error {
	if _, err := s.findAnchor(ctx); err != nil {
		var status *statusError
		if errors.As(err, &status) && status.Code == http.StatusNotFound {
			return fmt.Errorf("the server has no Leases (coordination.k8s.io/v1): %w", err)
		}
		return err
	}
	missing, err := s.missing(ctx)
	if err != nil || len(missing) == 0 {
		return err
	}
	return fmt.Errorf("%s: the user may not %s leases (coordination.k8s.io) in namespace %s: grant it by a Role there",
		forbidden, strings.Join(missing, ", "), s.place.namespace)
}

// missing lists the verbs that the user lacks, as far as the server can tell.
func (s *Store) missing(ctx context.Context) (verbs []string, err error) {
	type rule struct {
		Verbs         []string `json:"verbs"`
		APIGroups     []string `json:"apiGroups"`
		Resources     []string `json:"resources"`
		ResourceNames []string `json:"resourceNames"`
	}
	var review struct {
		Status struct {
			Incomplete bool   `json:"incomplete"` // an authorizer besides RBAC can't list its rules
			Rules      []rule `json:"resourceRules"`
		} `json:"status"`
	}
	err = s.send(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", nil, "application/json", map[string]any{
		"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectRulesReview", "spec": map[string]any{"namespace": s.place.namespace},
	}, &review)
	var status *statusError
	if errors.As(err, &status) && status.Reason == forbidden || review.Status.Incomplete {
		return nil, nil // a call that needs a right will say so
	}
	for _, verb := range []string{"get", "list", "create", "patch"} {
		if !slices.ContainsFunc(review.Status.Rules, func(r rule) bool {
			return has(r.Verbs, verb) && has(r.APIGroups, "coordination.k8s.io") && has(r.Resources, "leases") && len(r.ResourceNames) == 0
		}) {
			verbs = append(verbs, verb)
		}
	}
	return verbs, err
}

func has(granted []string, one string) bool {
	return slices.Contains(granted, one) || slices.Contains(granted, "*")
}

// findAnchor reads the anchor, and returns whether there is one. The anchor is a Lease by the name of the prefix. It
// is made with the first register, and its uid, which the server draws, tells this store from every other. If it is
// gone or another one, the namespace was deleted, or another cluster answers: then a register that is not found says
// nothing. A store that has seen no anchor takes the first.
func (s *Store) findAnchor(ctx context.Context) (found bool, err error) {
	l, err := s.get(ctx, s.config.Prefix)
	if errors.Is(err, store.ErrNotFound) {
		err = nil
	}
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.anchor == "" {
		s.anchor = l.Metadata.UID
	}
	if l.Metadata.UID != s.anchor {
		return false, fmt.Errorf("the Lease %s/%s has uid %q, and had %q: its registers are gone, or another cluster answers",
			s.place.namespace, s.config.Prefix, l.Metadata.UID, s.anchor)
	}
	return s.anchor != "", nil
}

// castAnchor makes the anchor unless there is one.
func (s *Store) castAnchor(ctx context.Context) error {
	found, err := s.findAnchor(ctx)
	if err != nil || found {
		return err
	}
	var made lease
	err = s.send(ctx, http.MethodPost, s.leases, own(), "application/json", lease{
		APIVersion: "coordination.k8s.io/v1", Kind: "Lease", Metadata: metadata{Name: s.config.Prefix}, Spec: spec{HolderIdentity: "snowfence: do not delete"},
	}, &made)
	if err != nil && !rejected(err) {
		return err
	}
	if found, err := s.findAnchor(ctx); err != nil || !found { // another process may have made it
		return errors.Join(err, errors.New("the anchor can't be made"))
	}
	return nil
}
