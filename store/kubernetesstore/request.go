package kubernetesstore

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"snowfence.example/snowfence/internal/storeclient"
	"snowfence.example/snowfence/store"
)

const (
	maxAnswer = 8 << 20 // bytes of an answer: a page of the longest registers has some 5 MiB
	maxPause  = 10 * time.Second
	reads     = 5 // how often a read is sent that the server refuses for its load

	auditID = "Audit-Id" // the header that says which request an answer is to
)

// statusError is the answer of a server that did not do what it was asked for.
type statusError struct {
	Code     int    `json:"-"`      // of HTTP
	Reason   string `json:"reason"` // one word, such as NotFound; empty if it is no answer of Kubernetes
	Message  string `json:"message"`
	Metadata struct {
		Continue string `json:"continue"` // goes on with a list whose token has expired
	} `json:"metadata"`
	Details struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"details"`
}

// Error has the server's own words, cut short.
func (e *statusError) Error() string {
	if e.Reason == "" {
		return fmt.Sprintf("HTTP status %d, and no answer of a Kubernetes API server", e.Code)
	}
	return fmt.Sprintf("%s: %.500s", e.Reason, e.Message)
}

// pause keeps requests back for as long as the server asks for. It is safe for concurrent use.
type pause struct {
	mu     sync.Mutex
	begun  time.Time
	length time.Duration
}

// hold begins a pause, unless one goes on that ends later.
func (p *pause) hold(length time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if length > p.left() {
		p.begun, p.length = storeclient.Now(), length
	}
}

// left is how much of the pause is left. The mutex is held.
func (p *pause) left() time.Duration { return p.length - storeclient.Since(p.begun) }

// wait returns when the pause is over, or the error of a context that ends first.
func (p *pause) wait(ctx context.Context) error {
	p.mu.Lock()
	left := p.left()
	p.mu.Unlock()
	if left <= 0 {
		return nil
	}
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: the API server is busy, and asked for a pause", ctx.Err())
	}
}

// read is send of a request that changes nothing. It is sent again when the server refused it for its load.
func (s *Store) read(ctx context.Context, path string, query url.Values, answer any) (err error) {
	for range reads {
		err = s.send(ctx, http.MethodGet, path, query, "", nil, answer)
		var status *statusError
		if !errors.As(err, &status) || status.Code != http.StatusTooManyRequests {
			break
		}
	}
	return err
}

// send sends one request, once, and reads its answer. An answer that is not of success is a *statusError. All other
// errors mean that the outcome is unknown.
//
// The body can't be rewound, so net/http does not send it again. A server that asks for a pause has one before the
// next request of any call: a swap that it refused is not sent again here, since its caller looks at the register
// first. The pause is up to twice as long as asked for, so that clients which were refused together come back apart.
func (s *Store) send(ctx context.Context, method, path string, query url.Values, kind string, body, answer any) error {
	if err := s.life.Usable(ctx); err != nil {
		return err
	}
	bound, cancel := s.life.Bound(ctx)
	defer cancel()
	if err := s.exchange(bound, method, path, query, kind, body, answer); err != nil {
		if s.life.Ended() {
			return store.ErrClosed
		}
		if ended := ctx.Err(); ended != nil && !errors.Is(err, ended) {
			return fmt.Errorf("%w: %w", ended, err)
		}
		return err
	}
	return nil
}

func (s *Store) exchange(ctx context.Context, method, path string, query url.Values, kind string, body, answer any) error {
	if err := s.pause.wait(ctx); err != nil {
		return err
	}
	id, err := storeclient.DrawToken(s.config.Rand)
	if err != nil {
		return err
	}
	at := s.place.base.JoinPath(path)
	at.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, method, at.String(), nil)
	if err != nil {
		return err
	}
	if body != nil {
		content, err := json.Marshal(body)
		if err != nil {
			return err
		}
		request.Body, request.ContentLength = io.NopCloser(bytes.NewReader(content)), int64(len(content))
		request.Header.Set("Content-Type", kind)
	}
	request.Header.Set("Accept", "application/json")
	request.Header.Set("Cache-Control", "no-cache")
	request.Header.Set("User-Agent", "snowfence")
	request.Header.Set(auditID, id.String())
	response, err := s.sender.RoundTrip(request)
	if err != nil {
		return err
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	s.heed(response, id)
	switch {
	case len(content) > maxAnswer:
		return fmt.Errorf("an answer of more than %d bytes", maxAnswer)
	case response.StatusCode/100 != 2:
		return failed(response, id.String(), content)
	case response.Header.Get(auditID) != id.String():
		return errors.New("the answer is none to this request: something between here and the API server caches, or drops the header Audit-Id")
	}
	if err := json.Unmarshal(content, answer); err != nil {
		return fmt.Errorf("an answer that can't be read: %w", err)
	}
	return nil
}

// heed begins the pause that a busy server asks for. The jitter is of the request's random id.
func (s *Store) heed(response *http.Response, id storeclient.Token) {
	seconds, err := strconv.ParseUint(response.Header.Get("Retry-After"), 10, 16)
	busy := response.StatusCode == http.StatusTooManyRequests
	if err != nil && busy {
		seconds = 1
	}
	if busy || err == nil && response.StatusCode == http.StatusServiceUnavailable {
		asked := min(time.Duration(seconds)*time.Second, maxPause)
		s.pause.hold(asked + asked*time.Duration(id[0])/256)
	}
}

// failed reads an answer that is not of success. Only the API server gives a reason, and only in answer to this request.
func failed(response *http.Response, id string, content []byte) error {
	e := &statusError{}
	if json.Unmarshal(content, e) != nil || response.Header.Get(auditID) != id {
		e = &statusError{}
	}
	e.Code = response.StatusCode
	return e
}
