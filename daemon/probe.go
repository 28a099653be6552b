package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"snowfence.example/snowfence"
)

// Probe asks the /readyz of a daemon at a URL, and returns why it is not ready, or nil. It sends no token, and takes any
// certificate. The error has [snowfence.ClassUnavailable].
func Probe(ctx context.Context, at string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at, http.NoBody)
	if err != nil {
		return err
	}
	// No secret is sent, and a daemon's certificate is rarely for 127.0.0.1.
	anyone := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS12} //nolint:gosec // see above
	answer, err := (&http.Client{Transport: &http.Transport{TLSClientConfig: anyone}}).Do(request)
	if err != nil {
		return snowfence.NewError(snowfence.ClassUnavailable, "no daemon answers: "+err.Error())
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode == http.StatusOK {
		return nil
	}
	var says struct {
		Detail     string
		Generators []struct{ Name, Problem string }
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<20))
	_ = json.Unmarshal(body, &says) // of another server: the status says enough
	var reasons strings.Builder
	for _, g := range says.Generators {
		if g.Problem != "" {
			fmt.Fprintf(&reasons, "; %s: %s", g.Name, g.Problem[strings.LastIndex(g.Problem, "/")+1:])
		}
	}
	return snowfence.NewError(snowfence.ClassUnavailable, fmt.Sprintf("not ready: %s answers %s: %s%s", at, answer.Status, says.Detail, &reasons))
}
