package kubernetesstore

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLabelFollowsThePod has a server note each label, and refuse the test's choice.
func TestLabelFollowsThePod(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex // guards labels
		var labels, failures []string
		refused := 0
		s, played := on(t, func(r *http.Request) reply {
			var patch []struct{ Op, Path, Value string }
			if err := json.NewDecoder(r.Body).Decode(&patch); err != nil || patch[0].Path != "/metadata/labels/snowfence.example~1active" {
				t.Errorf("patch %v, %v", patch, err)
			}
			if refused > 0 {
				refused--
				return refuse(http.StatusForbidden, "Forbidden", "")
			}
			mu.Lock()
			defer mu.Unlock()
			labels = append(labels, patch[0].Value)
			return reply{code: http.StatusOK, body: map[string]string{}}
		})
		p := &Pod{client: s, path: "/api/v1/namespaces/ns/pods/ids-0", wanted: make(chan string, 1)}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			p.Run(ctx, func(err error) { failures = append(failures, err.Error()) })
			close(ended)
		}()
		see := func(what string, want ...string) {
			t.Helper()
			synctest.Wait()
			mu.Lock()
			defer mu.Unlock()
			if !slices.Equal(labels, want) {
				t.Errorf("%s: labels %q, want %q", what, labels, want)
			}
		}
		see("a container before may have left the label", "false")
		p.Set(true)
		see("ids are given", "false", "true")
		p.Set(true)
		see("nothing changed", "false", "true")
		refused = 2
		p.Set(false)
		see("the label is refused", "false", "true")
		<-time.After(3 * podPause) // by the bubble's clock
		see("it is tried again, after one pause and two", "false", "true", "false")
		if len(failures) != 2 || !strings.Contains(failures[0], "snowfence.example/active of /api/v1/namespaces/ns/pods/ids-0: ") {
			t.Errorf("failures %q", failures)
		}
		p.Set(true)
		see("ids are given again", "false", "true", "false", "true")
		cancel()
		see("the end takes the label away", "false", "true", "false", "true", "false")
		<-ended
		if want := "PATCH /api/v1/namespaces/ns/pods/ids-0"; played.requests[0] != want {
			t.Errorf("request %s, want %s", played.requests[0], want)
		}
	})
}
