package wrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/daemon/kind"
	"snowfence.example/snowfence/internal/lend"
)

// Daemon is a [Lender] over HTTP.
type Daemon struct{ URL, Generator, Token string }

// Claim implements [Lender].
func (d Daemon) Claim(ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
	return read(d.ask(ctx, http.MethodPost, "", f))
}

// Extend implements [Lender].
func (d Daemon) Extend(ctx context.Context, f kind.LeaseForm) (kind.Lent, error) {
	return read(d.ask(ctx, http.MethodPut, "/"+f.Worker, f))
}

// Release implements [Lender].
func (d Daemon) Release(ctx context.Context, f kind.LeaseForm) error {
	_, err := d.ask(ctx, http.MethodPost, "/"+f.Worker+"/release", f)
	return err
}

// ask sends a request on a connection of its own.
func (d Daemon) ask(ctx context.Context, method, path string, f kind.LeaseForm) ([]byte, error) {
	fields := map[string]string{
		"now": f.Now, "host": f.Host, "pid": f.PID, "program": f.Program, "lease": f.Lease, "mark": f.Mark, "next": f.Next, "open": f.Open,
	}
	maps.DeleteFunc(fields, func(_, text string) bool { return text == "" })
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	at := strings.TrimSuffix(d.URL, "/") + "/v1/generators/" + url.PathEscape(d.Generator) + "/leases" + path
	request, err := http.NewRequestWithContext(ctx, method, at, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	if d.Token != "" {
		request.Header.Set("Authorization", "Bearer "+d.Token)
	}
	client := http.Client{
		Transport:     &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", lend.ErrUnavailable, err)
	}
	defer func() { _ = response.Body.Close() }()
	if body, err = io.ReadAll(io.LimitReader(response.Body, 1<<16)); err != nil {
		return nil, fmt.Errorf("%w: %w", lend.ErrUnavailable, err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, refusal(response, body)
	}
	return body, nil
}

// refusal is the error of an answer without a lease. Nothing but the daemon's own word ends a lease: a
// proxy's answer does not.
func refusal(r *http.Response, body []byte) error {
	var problem struct{ Type, Title, Detail string }
	if json.Unmarshal(body, &problem) != nil {
		problem.Title = "no answer of a daemon"
	}
	err := fmt.Errorf("%s: %s: %s", r.Status, problem.Title, problem.Detail)
	_, kind, _ := strings.Cut(problem.Type, ":problem/")
	switch {
	case kind == "lease-gone" || kind == "lease-moved":
		return fmt.Errorf("%w: %w", lend.ErrGone, err)
	case kind == "clock-unsafe":
		return snowfence.NewError(snowfence.ClassClock, err.Error())
	case r.StatusCode == http.StatusTooManyRequests || r.StatusCode >= http.StatusInternalServerError:
		return fmt.Errorf("%w: %w", lend.ErrUnavailable, err)
	}
	return err
}

// read reads the answer.
func read(body []byte, err error) (kind.Lent, error) {
	if err != nil {
		return kind.Lent{}, err
	}
	var told struct {
		Lease, Mark, Check string
		Layout             snowfence.Layout
		Worker, Datacenter int64
		Floor, Until       snowfence.Tick `json:",string"`
		Window             int64          `json:"window_ms"`
		Loss               int64          `json:"loss_ms"`
	}
	if err := json.Unmarshal(body, &told); err != nil || told.Lease == "" || told.Window == 0 {
		return kind.Lent{}, errors.Join(fmt.Errorf("%w: the daemon's answer is no lease", lend.ErrUnavailable), err)
	}
	return kind.Lent{
		Lease: told.Lease, Mark: told.Mark, Check: told.Check, Layout: told.Layout, Worker: told.Worker, Datacenter: told.Datacenter,
		Floor: told.Floor, Until: told.Until, Window: time.Duration(told.Window) * time.Millisecond, Loss: time.Duration(told.Loss) * time.Millisecond,
	}, nil
}
