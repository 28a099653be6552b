//go:build servers

package manifests

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"snowfence.example/snowfence/internal/testkit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	lifetime.End()
	os.Exit(code)
}

var lifetime testkit.Lifetime

// cluster is the API server of all tests.
var cluster = sync.OnceValue(func() *testkit.Kubernetes { return testkit.StartKubernetes(&lifetime) })

// ask sends a request with the token, and returns the status, the warnings and the content of the answer.
func ask(t *testing.T, token, method, path string, body any) (status int, warnings []string, content string) {
	t.Helper()
	sent, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+cluster().Addr()+path, bytes.NewReader(sent))
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := client().Do(request)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header.Values("Warning"), string(got)
}

var client = sync.OnceValue(testkit.Client)

// accepted has the API server judge objects in YAML as kubectl apply does with --dry-run=server --validate=strict, or make
// them. ServiceMonitors are left out: their kind is not of the API server.
func accepted(t *testing.T, text, what, query string) {
	t.Helper()
	for document := range strings.SplitSeq(text, "---\n") {
		var object unstructured.Unstructured
		if err := yaml.Unmarshal([]byte(document), &object.Object); err != nil {
			t.Fatal(err)
		}
		if object.GetKind() == "" || object.GetKind() == monitoring.ServiceMonitorsKind {
			continue
		}
		status, warnings, content := ask(t, cluster().Token, http.MethodPost, pathOf(object)+query, object.Object)
		if status != http.StatusCreated && status != http.StatusConflict || len(warnings) > 0 {
			t.Errorf("%s: %s %s: status %d, warnings %q, %s", what, object.GetKind(), object.GetName(), status, warnings, content)
		}
	}
}

const dryRun = "?dryRun=All&fieldValidation=Strict"

// pathOf is where objects of its kind are made.
func pathOf(object unstructured.Unstructured) string {
	path := "/api/v1"
	if strings.Contains(object.GetAPIVersion(), "/") {
		path = "/apis/" + object.GetAPIVersion()
	}
	if namespace := object.GetNamespace(); namespace != "" {
		path += "/namespaces/" + namespace
	}
	kind := strings.ToLower(object.GetKind())
	return path + "/" + strings.TrimSuffix(kind, "y") + map[bool]string{true: "ies", false: "s"}[strings.HasSuffix(kind, "y")]
}

// podOf is a pod as the workload among objects makes it.
func podOf(all []runtime.Object) map[string]any {
	for _, object := range all {
		var template core.PodTemplateSpec
		switch o := object.(type) {
		case *apps.Deployment:
			template = o.Spec.Template
		case *apps.DaemonSet:
			template = o.Spec.Template
		case *apps.StatefulSet:
			template = o.Spec.Template
		default:
			continue
		}
		template.Name = "snowfence-0"
		return map[string]any{"apiVersion": "v1", "kind": "Pod", "metadata": template.ObjectMeta, "spec": template.Spec}
	}
	return nil
}

func TestAPIServerTakesEveryRendering(t *testing.T) {
	k := cluster()
	strict := map[string]string{"pod-security.kubernetes.io/enforce": "restricted"}
	k.Must(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": "production", "labels": strict}}, nil)
	accepted(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: snowfence, labels: {pod-security.kubernetes.io/enforce: restricted}}\n", "namespace", "")
	judge := func(text, namespace, what string) {
		accepted(t, text, what, dryRun)
		all, err := objects(text)
		if err != nil {
			t.Fatal(err)
		}
		status, warnings, content := ask(t, k.Token, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods"+dryRun, podOf(all))
		if status != http.StatusCreated || len(warnings) > 0 {
			t.Errorf("%s: a pod in a restricted namespace: status %d, warnings %q, %s", what, status, warnings, content)
		}
	}
	for _, values := range combinations() {
		text, err := render("ids", "production", values)
		if err != nil {
			t.Fatal(err)
		}
		judge(text, "production", values)
	}
	for name := range plain() {
		judge(kustomize(t, name, ""), "snowfence", name)
	}
}

// install makes the objects of a folder in a namespace, and returns a token of their service account and the daemon's
// configuration.
func install(t *testing.T, folder, namespace string) (token, config string) {
	t.Helper()
	k, text := cluster(), kustomize(t, folder, namespace)
	accepted(t, "apiVersion: v1\nkind: Namespace\nmetadata: {name: "+namespace+"}\n", "namespace", "") // it takes a moment until objects can be made there
	accepted(t, text, folder, "")
	var account core.ServiceAccount
	k.Must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/snowfence", nil, &account)
	all, err := objects(text)
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		if c, ok := object.(*core.ConfigMap); ok {
			config = c.Data["snowfence.yaml"]
		}
	}
	return k.AccountToken(t, namespace, "snowfence", string(account.UID), time.Hour), config
}

// start starts the daemon as in a pod: with the shipped configuration, and with the token in its place, by a mount
// namespace of its own.
func start(t *testing.T, namespace, token, config string, environ ...string) *testkit.Daemon {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	k, files := cluster(), t.TempDir()
	ca, err := os.ReadFile(k.CAFile)
	if err != nil {
		t.Fatal(err)
	}
	user := ""
	if os.Getuid() != 0 {
		user = "--user --map-root-user"
	}
	script := fmt.Sprintf(`#!/bin/sh
exec unshare %s --mount sh -ec '
mount -t tmpfs tmpfs /run
mkdir -p /run/secrets/kubernetes.io/serviceaccount
cd %s && cp token ca.crt namespace /run/secrets/kubernetes.io/serviceaccount
exec %s "$@"' sh "$@"
`, user, files, binary)
	for name, content := range map[string]string{"token": token, "namespace": namespace, "ca.crt": string(ca), "snowfence.yaml": config, "run": script} {
		if err := os.WriteFile(filepath.Join(files, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	host, port, err := net.SplitHostPort(k.Secure())
	if err != nil {
		t.Fatal(err)
	}
	return testkit.StartDaemon(t, filepath.Join(files, "run"), append(environ,
		"KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port, "SNOWFENCE_HEALTH=127.0.0.1:0", "SNOWFENCE_LOG_FORMAT=text",
	), "--config", filepath.Join(files, "snowfence.yaml"))
}

func TestRoleAsShippedIsEnoughAndNoMore(t *testing.T) {
	const namespace = "minting"
	token, config := install(t, "deployment", namespace)
	d := start(t, namespace, token, config)
	d.WaitReady()
	if ids, err := testkit.Mint(t.Context(), client(), d.URL, "default", 10, nil); err != nil || len(ids) != 10 {
		t.Fatalf("%d ids, %v", len(ids), err)
	}
	leases := cluster().Leases(namespace)
	for request, want := range map[string]int{
		"GET " + leases: 200, "GET " + leases + "/snowfence": 200,
		"GET " + leases + "?watch=1": 403, "PUT " + leases + "/snowfence": 403, "DELETE " + leases + "/snowfence": 403, "DELETE " + leases: 403,
		"GET " + cluster().Leases("default"): 403, "POST " + cluster().Leases("kube-system"): 403, "GET /apis/coordination.k8s.io/v1/leases": 403,
		"GET /api/v1/namespaces/minting/secrets": 403, "GET /api/v1/namespaces/minting/configmaps/snowfence": 403,
		"GET /api/v1/namespaces/minting/pods": 403, "PATCH /api/v1/namespaces/minting/pods/snowfence-0": 403, "GET /api/v1/nodes": 403,
		"POST /api/v1/namespaces/minting/serviceaccounts/snowfence/token": 403,
	} {
		method, path, _ := strings.Cut(request, " ")
		if got, _, content := ask(t, token, method, path, map[string]any{}); got != want {
			t.Errorf("%s: status %d, want %d: %.300s", request, got, want, content)
		}
	}
}

func TestRoleOfAPairNamesItsTwoPods(t *testing.T) {
	const namespace = "paired"
	token, _ := install(t, "pair", namespace)
	for name, want := range map[string]int{"snowfence-0": 200, "snowfence-1": 200, "snowfence-2": 403, "other": 403} {
		makePod(t, namespace, name)
		patch := map[string]any{"metadata": map[string]any{"labels": map[string]any{"snowfence.example/active": "true"}}}
		path := fmt.Sprintf("/api/v1/namespaces/%s/pods/%s", namespace, name)
		if got, _, content := ask(t, token, http.MethodPatch, path, patch); got != want {
			t.Errorf("patch of pod %s: status %d, want %d: %s", name, got, want, content)
		}
		if got, _, _ := ask(t, token, http.MethodGet, path, nil); got != 403 {
			t.Errorf("get of pod %s: status %d", name, got)
		}
		if got, _, _ := ask(t, token, http.MethodDelete, path, nil); got != 403 {
			t.Errorf("delete of pod %s: status %d", name, got)
		}
	}
}

// TestServiceOfAPairFollowsTheIDs has two daemons stand for the pods of a pair, with the shipped configuration and Role.
func TestServiceOfAPairFollowsTheIDs(t *testing.T) {
	const namespace = "following"
	token, config := install(t, "pair", namespace)
	pods := []string{"snowfence-0", "snowfence-1"}
	daemons := map[string]*testkit.Daemon{}
	for _, pod := range pods {
		makePod(t, namespace, pod)
		daemons[pod] = start(t, namespace, token, config, "SNOWFENCE_POD="+pod)
	}
	active := func(n int) (names []string) {
		testkit.Eventually(t, func(ctx context.Context) error {
			var found core.PodList
			names = nil
			path := "/api/v1/namespaces/" + namespace + "/pods?labelSelector=snowfence.example/active%3Dtrue,app.kubernetes.io/name%3Dsnowfence"
			if err := cluster().Call(ctx, http.MethodGet, path, nil, &found); err != nil {
				return err
			}
			for _, pod := range found.Items {
				names = append(names, pod.Name)
			}
			if len(names) != n {
				return fmt.Errorf("active pods: %q, want %d", names, n)
			}
			return nil
		})
		return names
	}
	first := active(1)[0]
	other := pods[0]
	if first == other {
		other = pods[1]
	}
	if ids, err := testkit.Mint(t.Context(), client(), daemons[first].URL, "default", 1, nil); err != nil || len(ids) != 1 {
		t.Errorf("%s has the label and gives no id: %v", first, err)
	}
	daemons[first].Signal(syscall.SIGTERM)
	testkit.Eventually(t, func(context.Context) error {
		if got := active(1)[0]; got != other {
			return fmt.Errorf("%s is active", got)
		}
		return nil
	})
	if code := daemons[first].WaitEnded(); code != 0 {
		t.Errorf("exit code %d:\n%s", code, daemons[first].Log())
	}
	if ids, err := testkit.Mint(t.Context(), client(), daemons[other].URL, "default", 1, nil); err != nil || len(ids) != 1 {
		t.Errorf("%s has the label and gives no id: %v", other, err)
	}
	daemons[other].Signal(syscall.SIGTERM)
	active(0)
}

// makePod makes a pod, which no node runs.
func makePod(t *testing.T, namespace, name string) {
	t.Helper()
	cluster().Must(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/pods", map[string]any{
		"metadata": map[string]any{"name": name, "labels": map[string]string{"app.kubernetes.io/name": "snowfence", "snowfence.example/active": "false"}},
		"spec":     map[string]any{"containers": []any{map[string]any{"name": "snowfence", "image": "snowfence"}}},
	}, nil)
}
