//go:build servers

// Package kubernetes measures holders that start at once on a real kube-apiserver, each with a store of its own, as
// pods have. To the API server all are one service account, with the rights that docs/engines.md names.
//
//	make bench-kubernetes
//	GOWORK=off go test -tags servers -run '^$' -bench . -benchtime 1x -v ./kubernetes -holders 1000
package kubernetes

import (
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence"
	"snowfence.example/snowfence/fence"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store/kubernetesstore"
)

var (
	holders   = flag.Int("holders", 200, "holders that start at once, at most 1,024")
	arguments = flag.String("arguments", "", "more arguments of the API server")
	counted   = regexp.MustCompile(`(?m)^apiserver_request_total{code="(\d+)",.*resource="leases",.*verb="(GET|LIST|POST|PATCH)".* (\S+)$`)
)

// crowd is the holders of one API server.
type crowd struct {
	*testing.B
	k *testkit.Kubernetes

	mu      sync.Mutex // guards the rest
	ids     map[snowfence.ID]time.Duration
	longest time.Duration // from a holder's first refusal to its next answer that is none
}

func BenchmarkHoldersThatStartAtOnce(b *testing.B) {
	c := &crowd{B: b, k: testkit.StartKubernetes(b, strings.Fields(*arguments)...), ids: map[snowfence.ID]time.Duration{}}
	const namespace, account = testkit.KubernetesNamespace, "snowfence"
	uid := c.k.ServiceAccount(b, namespace, account, "get", "list", "create", "patch")
	token := c.k.AccountToken(b, namespace, account, uid, time.Hour)
	c.measure(fmt.Sprintf("%d holders start at once %s", *holders, *arguments), func() {
		begun, all := time.Now(), sync.WaitGroup{}
		for range *holders {
			all.Go(func() {
				if err := c.hold(token, begun); err != nil {
					b.Error(err)
				}
			})
		}
		all.Wait()
	})
	took := slices.Sorted(maps.Values(c.ids))
	if len(took) != *holders {
		b.Fatalf("there are %d ids", len(took))
	}
	b.Logf("half have an id after %.1f s, the last after %.1f s, and none twice", took[*holders/2].Seconds(), took[*holders-1].Seconds())
	c.measure(fmt.Sprintf("two windows in peace; the model has 67 a second for 1,000, so %.1f", float64(*holders)*.067), func() { <-time.After(2 * time.Minute) })
}

// hold makes a holder, up to its first id. It ends with the measurement.
func (c *crowd) hold(token string, begun time.Time) error {
	front := httptest.NewServer(c.front(token))
	c.Cleanup(front.Close)
	s, err := kubernetesstore.Open(c.Context(), kubernetesstore.Config{Kubeconfig: c.k.Kubeconfig(c, front.URL, "")})
	if err != nil {
		return err
	}
	h, err := fence.Open(c.Context(), fence.Config{Store: s})
	if err != nil {
		return err
	}
	c.Cleanup(func() { _, _ = h.Close(context.Background()), s.Close() })
	id, err := h.Next(c.Context())
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ids[id] = time.Since(begun)
	return err
}

// front passes the requests of one holder on, and sees for how long they are refused.
func (c *crowd) front(token string) http.Handler {
	var since time.Time // of the first refusal; zero after another answer
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	proxy := &httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(&url.URL{Scheme: "https", Host: c.k.Secure()})
		r.Out.Header.Set("Authorization", "Bearer "+token)
	}, ModifyResponse: func(r *http.Response) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		if r.StatusCode != http.StatusTooManyRequests && r.StatusCode < 500 {
			if !since.IsZero() {
				c.longest = max(c.longest, time.Since(since))
			}
			since = time.Time{}
		} else if since.IsZero() {
			since = time.Now()
		}
		return nil
	}}
	return testkit.FullDuplex(c, proxy)
}

// measure prints how the API server answered requests for Leases meanwhile. A PUT would be for its own.
func (c *crowd) measure(what string, during func()) {
	answers, total := map[string]float64{}, 0.0
	add := func(sign float64) {
		response, err := testkit.Client().Get("http://" + c.k.Addr() + "/metrics")
		if err != nil {
			c.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if err := errors.Join(err, response.Body.Close()); err != nil {
			c.Fatal(err)
		}
		for _, match := range counted.FindAllStringSubmatch(string(text), -1) {
			n, _ := strconv.ParseFloat(match[3], 64)
			answers[match[2]+" "+match[1]] += sign * n
			total += sign * n
		}
	}
	add(-1)
	begun := time.Now()
	during()
	seconds := time.Since(begun).Seconds()
	add(1)
	maps.DeleteFunc(answers, func(_ string, n float64) bool { return n == 0 })
	c.mu.Lock()
	defer c.mu.Unlock()
	c.Logf("%s: %.0f requests in %.1f s, %.1f a second: %v; refused for %.1f s at the longest", what, total, seconds, total/seconds, answers, c.longest.Seconds())
	c.longest = 0
}
