package kubernetesstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	refused "k8s.io/apimachinery/pkg/api/errors"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/internal/storeurl"
	"snowfence.example/snowfence/store"
)

const (
	maxAnswer = 16 << 20 // bytes of an answer: a page of the longest values has some 15 MiB
	maxPause  = 10 * time.Second
	reads     = 5          // how often a read is sent at the most
	auditID   = "Audit-Id" // the header that names the request of an answer
)

// refusal is the answer of failure within an error, or the zero one. Without a reason it is of no API server.
func refusal(err error) (status meta.Status) {
	if e, ok := errors.AsType[*refused.StatusError](err); ok {
		status = e.ErrStatus
	}
	return status
}

// read sends a request that changes nothing. It is sent again when the server refused it for its load.
func (s *Store) read(ctx context.Context, path string, answer any) (err error) {
	for range reads {
		if err = s.send(ctx, http.MethodGet, path, nil, answer); refusal(err).Code != http.StatusTooManyRequests {
			break
		}
	}
	return err
}

// send sends one request, once, when the server's pause is over. An answer of failure is an error with a refusal.
func (s *Store) send(ctx context.Context, method, path string, body, answer any) error {
	if err := s.life.Usable(ctx); err != nil {
		return err
	}
	bound, cancel := s.life.Bound(ctx)
	defer cancel()
	err := s.wait(bound)
	if err == nil {
		err = s.exchange(bound, method, path, body, answer)
	}
	switch {
	case err != nil && s.life.Ended():
		return store.ErrClosed
	case err != nil && ctx.Err() != nil && !errors.Is(err, ctx.Err()):
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return err
}

// exchange sends the request and reads its answer. No layer sends a write again: client-go adds headers only, and
// net/http needs a body that it can rewind. Each request has an Audit-Id, which the API server repeats in its answer: one
// from a cache has another.
func (s *Store) exchange(ctx context.Context, method, path string, body, answer any) error {
	content, err := json.Marshal(body)
	if err != nil {
		return err
	}
	id, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(s.place.base.String(), "/")+path, nil)
	if err != nil {
		return err
	}
	if body != nil {
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
	}
	kind := "application/json"
	if method == http.MethodPatch {
		kind = "application/json-patch+json"
	}
	request.Header = http.Header{auditID: {id.String()}, "Cache-Control": {"no-cache"}, "Content-Type": {kind}, "User-Agent": {"snowfence"}}
	if token, err := storeurl.Password("", s.place.tokenFile); err != nil {
		return err
	} else if token != "" {
		request.Header.Set("Authorization", "Bearer "+string(token))
	}
	response, err := s.sender.RoundTrip(request)
	if err != nil {
		return err
	}
	content, err = io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	s.heed(response, id)
	var status meta.Status
	switch ours, succeeded := response.Header.Get(auditID) == id.String(), response.StatusCode/100 == 2; {
	case len(content) > maxAnswer:
		return fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	case succeeded && ours:
		return json.Unmarshal(content, answer)
	case succeeded:
		return errors.New("the answer is to another request: something before the API server caches answers, or drops the header Audit-Id")
	case !ours || json.Unmarshal(content, &status) != nil:
		status = meta.Status{Message: fmt.Sprintf("HTTP status %d, and no answer of an API server", response.StatusCode)}
	}
	status.Code = int32(response.StatusCode)
	return &refused.StatusError{ErrStatus: status}
}

// heed begins the pause that a busy server asks for. No request of the store is sent meanwhile. It lasts up to twice as
// long, by the request's random id, so that clients which were refused together come back apart.
func (s *Store) heed(response *http.Response, id storeclient.Token) {
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	busy := response.StatusCode == http.StatusTooManyRequests
	if !busy && (err != nil || response.StatusCode != http.StatusServiceUnavailable) {
		return
	}
	asked := min(time.Duration(max(seconds, 1))*time.Second, maxPause)
	until := storeclient.Now().Add(asked + asked*time.Duration(id[0])/256)
	s.mu.Lock()
	defer s.mu.Unlock()
	if until.After(s.paused) {
		s.paused = until
	}
}

// wait returns when the pause is over, or the error of a context that ends first.
func (s *Store) wait(ctx context.Context) error {
	s.mu.Lock()
	over, cancel := context.WithDeadline(ctx, s.paused)
	s.mu.Unlock()
	defer cancel()
	if <-over.Done(); ctx.Err() != nil {
		return fmt.Errorf("%w: the API server is busy, and asked for a pause", ctx.Err())
	}
	return nil
}
