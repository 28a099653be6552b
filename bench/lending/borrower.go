package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"path"
	"strconv"
	"time"
)

// verb is a borrower's request.
type verb int

const (
	claim verb = iota
	extend
	release
)

// request and answer have the fields of docs/lending.md that a borrower needs which makes no ids.
type request struct {
	Now   int64  `json:"now"`
	PID   int    `json:"pid"`
	Lease string `json:"lease,omitempty"`
	Mark  string `json:"mark,omitempty"`
	Next  string `json:"next,omitempty"`
}

type answer struct {
	Lease, Mark, Floor, Type, Detail string
	Worker                           int64
	ExtendAfter                      int64 `json:"extend_after_ms"`
}

// borrow is the life of a borrower: a claim, extensions, and a release once the crowd is to leave. It returns an error if the
// lease is lost, or if the context ends before.
func (c *crowd) borrow(ctx context.Context, pid int) error {
	r, sent := request{PID: pid}, time.Now()
	a, err := c.ask(ctx, claim, http.MethodPost, "", r)
	if err != nil {
		return err
	}
	if _, twice := c.workers.LoadOrStore(a.Worker, true); twice {
		return fmt.Errorf("worker %d is lent twice", a.Worker)
	}
	c.leases.Add(1)
	defer c.leases.Add(-1)
	at := "/" + strconv.FormatInt(a.Worker, 10)
	for {
		if err := wait(ctx, time.Until(sent.Add(time.Duration(a.ExtendAfter)*time.Millisecond))); err != nil {
			return err
		}
		r.Lease, r.Mark, sent = a.Lease, fmt.Sprintf("%016x", rand.Uint64()), time.Now() //nolint:forbidigo // It need not be secret.
		if c.leaving.Load() {
			r.Next = a.Floor // nothing was stamped
			_, err := c.ask(ctx, release, http.MethodPost, at+"/release", r)
			return err
		}
		if a, err = c.ask(ctx, extend, http.MethodPut, at, r); err != nil {
			return err
		}
	}
}

// ask repeats a request until it is granted, with pauses that double. A lease that is gone is an error.
func (c *crowd) ask(ctx context.Context, v verb, method, at string, r request) (answer, error) {
	for pause := 250 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		begun := time.Now()
		r.Now = begun.UnixMilli()
		a, status, err := c.exchange(ctx, method, at, r)
		c.record(v, time.Since(begun), a, status)
		switch status {
		case http.StatusOK:
			return a, err
		case http.StatusConflict, http.StatusBadRequest:
			return a, fmt.Errorf("%s: %s", path.Base(a.Type), a.Detail)
		}
		if err := wait(ctx, pause); err != nil {
			return a, err
		}
	}
}

// record counts an exchange. One without an answer has the status 0.
func (c *crowd) record(v verb, took time.Duration, a answer, status int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch status {
	case http.StatusOK:
		c.took[v] = append(c.took[v], took)
	case 0:
		c.refused["no answer"]++
	default:
		c.refused[path.Base(a.Type)]++
	}
}

// exchange sends a request on a connection of its own.
func (c *crowd) exchange(ctx context.Context, method, at string, r request) (a answer, status int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := json.Marshal(r)
	if err != nil {
		return a, 0, err
	}
	asked, err := http.NewRequestWithContext(ctx, method, c.url+"/v1/generators/default/leases"+at, bytes.NewReader(body))
	if err != nil {
		return a, 0, err
	}
	asked.Header.Set("Content-Type", "application/json")
	response, err := c.client.Do(asked)
	if err != nil {
		return a, 0, err
	}
	defer func() { _ = response.Body.Close() }()
	if err := json.NewDecoder(response.Body).Decode(&a); err != nil {
		return a, 0, err
	}
	return a, response.StatusCode, nil
}

func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
