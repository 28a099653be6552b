package daemon

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"snowfence.example/snowfence"
)

// Probe asks a daemon at a URL whether it is "ready" or "active", for one generator or, without a name, for all. It returns
// why not, or nil. It takes any certificate, and sends no token. The error has [snowfence.ClassUnavailable].
func Probe(ctx context.Context, at, what, generator string) error {
	at += "/" + what + "z"
	if generator != "" {
		at += "/" + url.PathEscape(generator)
	}
	status, body, err := ask(ctx, at)
	switch {
	case err != nil:
		return snowfence.NewError(snowfence.ClassUnavailable, "no daemon answers: "+err.Error())
	case strings.HasPrefix(status, "200"):
		return nil
	}
	var says struct {
		Detail     string
		Generators []struct{ Name, Problem string }
	}
	_ = json.Unmarshal(body, &says) // of another server: the status shows enough
	var reasons strings.Builder
	for _, g := range says.Generators {
		if g.Problem != "" {
			fmt.Fprintf(&reasons, "; %s: %s", g.Name, g.Problem[strings.LastIndex(g.Problem, "/")+1:])
		}
	}
	return snowfence.NewError(snowfence.ClassUnavailable, fmt.Sprintf("not %s: %s answers %s: %s%s", what, at, status, says.Detail, &reasons))
}

// ask takes any certificate: a probe sends no secret, and a daemon's certificate is rarely for 127.0.0.1.
func ask(ctx context.Context, at string) (status string, body []byte, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return "", nil, err
	}
	anyone := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // see above
	answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: anyone, DisableKeepAlives: true}}).Do(request)
	if err != nil {
		return "", nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	body, _ = io.ReadAll(io.LimitReader(answer.Body, 1<<20)) // of another server: its status shows enough
	return answer.Status, body, nil
}

// Live reports whether a daemon answers /livez at the settings' own address, within a second.
func Live(ctx context.Context, settings Settings) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	at, err := OwnProbeURL(settings)
	if err != nil {
		return false
	}
	_, body, err := ask(ctx, at+"/livez")
	return err == nil && string(body) == "live\n"
}

// ProbeURL returns where to ask, without the probe's path, of a URL that names a daemon.
func ProbeURL(text string) (string, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" {
		return "", fmt.Errorf("URL is %q, must be a daemon's address such as http://127.0.0.1:7600", text)
	}
	return u.Scheme + "://" + u.Host, nil
}

// OwnProbeURL returns where to ask, without the probe's path, a daemon of this host that has the configuration.
func OwnProbeURL(c Settings) (string, error) {
	address, scheme := c.Health, "http"
	if address == "" {
		address = cmp.Or(c.HTTP, c.Admin)
		if c.TLS.ClientCA != "" {
			return "", errors.New("every client needs a certificate (tls.client-ca): set health, an address for probes, or give a URL")
		}
		if c.TLS.Certificate != "" {
			scheme = "https"
		}
	}
	if address == "" {
		return "", errors.New("health, http and admin are all turned off: set health, an address for probes, or give a URL")
	}
	host, port, err := net.SplitHostPort(address)
	if err != nil || port == "0" {
		return "", fmt.Errorf("the address %s has no certain port: give a URL", address)
	}
	switch host {
	case "", "0.0.0.0":
		host = "127.0.0.1"
	case "::":
		host = "::1"
	}
	return scheme + "://" + net.JoinHostPort(host, port), nil
}
