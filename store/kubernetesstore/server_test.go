//go:build servers

package kubernetesstore_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"snowfence.example/snowfence/internal/servertest"
	"snowfence.example/snowfence/internal/testkit"
	"snowfence.example/snowfence/store"
	"snowfence.example/snowfence/store/kubernetesstore"
)

func TestMain(m *testing.M) {
	code := m.Run()
	lifetime.End()
	os.Exit(code)
}

var lifetime testkit.Lifetime

// shared is an API server that tests share, which leave it running.
var shared = sync.OnceValue(func() *testkit.Kubernetes { return testkit.StartKubernetes(&lifetime) })

// open opens a store as the admin.
func open(t *testing.T, k *testkit.Kubernetes, prefix string) *kubernetesstore.Store {
	t.Helper()
	return servertest.Opened(t, kubernetesstore.Open, kubernetesstore.Config{
		Prefix: prefix, Kubeconfig: k.Kubeconfig(t, "https://"+k.Secure(), k.Token),
	})
}

func TestTokenOfAServiceAccountIsReplaced(t *testing.T) {
	k := shared()
	uid := k.ServiceAccount(t, testkit.KubernetesNamespace, "rotating", "get", "list", "create", "patch")
	config, file := k.Kubeconfig(t, "https://"+k.Secure(), "of the file"), filepath.Join(t.TempDir(), "token")
	text, err := os.ReadFile(config)
	if err == nil {
		err = os.WriteFile(config, []byte(strings.Replace(string(text), `token: "of the file"`, "tokenFile: "+file, 1)), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	replace := func(lifetime time.Duration) {
		token := k.AccountToken(t, testkit.KubernetesNamespace, "rotating", uid, lifetime)
		if err := os.WriteFile(file, []byte(token+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replace(2 * time.Minute)
	s := servertest.Opened(t, kubernetesstore.Open, kubernetesstore.Config{Prefix: "rotating", Kubeconfig: config})
	version := servertest.Swap(t, s, "key", "", "value")
	replace(-2 * time.Minute) // the API server has a leeway of one
	if _, err := s.Get(t.Context(), "key"); err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("get by a token that has expired: %v", err)
	}
	if _, err := s.Swap(t.Context(), "key", version, nil); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap by a token that has expired: %v", err)
	}
	replace(time.Minute)
	version = servertest.Swap(t, s, "key", version, "after")
	if e, err := s.Get(t.Context(), "key"); err != nil || e.Version != version {
		t.Errorf("get: %+v, %v", e, err)
	}
	if want := fmt.Sprintf("kubernetes://%s/ids?prefix=rotating", k.Secure()); s.Name() != want {
		t.Errorf("the store's name is %s, want %s", s.Name(), want)
	}
}

// A pod's files have fixed places. The test runs itself again where they are, in a mount namespace of its own.
func TestPodUsesItsServiceAccount(t *testing.T) {
	const folder = "/var/run/secrets/kubernetes.io/serviceaccount"
	if os.Getenv("SNOWFENCE_TEST_POD") != "" {
		s, err := kubernetesstore.OpenURL(t.Context(), "kubernetes://")
		if err != nil {
			t.Fatal(err)
		}
		servertest.Swap(t, s, "key", "", "by a pod")
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		return
	}
	k := shared()
	uid := k.ServiceAccount(t, testkit.KubernetesNamespace, "pod", "get", "list", "create", "patch")
	host, port, err := net.SplitHostPort(k.Secure())
	if err != nil {
		t.Fatal(err)
	}
	script := `set -e
mount -t tmpfs tmpfs /run
mkdir -p ` + folder + ` && cd ` + folder + `
printf '%s\n' "$TOKEN" >token && cp "$CA" ca.crt && printf ids >namespace
exec "$0" -test.run='^TestPodUsesItsServiceAccount$'`
	command := exec.CommandContext(t.Context(), "unshare", "--mount", "sh", "-c", script, os.Args[0])
	command.Env = append(command.Environ(), "SNOWFENCE_TEST_POD=true", "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port,
		"CA="+k.CAFile, "TOKEN="+k.AccountToken(t, testkit.KubernetesNamespace, "pod", uid, time.Minute))
	if os.Getuid() != 0 {
		command.Args = slices.Insert(command.Args, 1, "--user", "--map-root-user")
	}
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if e, err := open(t, k, "").Get(t.Context(), "key"); err != nil || string(e.Value) != "by a pod" {
		t.Errorf("%+v, %v", e, err)
	}
}

func TestMissingRightIsNamed(t *testing.T) {
	k := shared()
	version := servertest.Swap(t, open(t, k, "rights"), "key", "", "value")
	for missing, call := range map[string]func(store.Store) error{
		"list":   func(s store.Store) error { return servertest.Listed(t.Context(), s, "", nil) },
		"create": func(s store.Store) error { _, err := s.Swap(t.Context(), "new", "", nil); return err },
		"patch":  func(s store.Store) error { _, err := s.Swap(t.Context(), "key", version, nil); return err },
	} {
		verbs := slices.DeleteFunc([]string{"get", "list", "create", "patch", "update"}, func(verb string) bool { return verb == missing })
		token := k.AccountToken(t, testkit.KubernetesNamespace, "no-"+missing, k.ServiceAccount(t, testkit.KubernetesNamespace, "no-"+missing, verbs...), time.Minute)
		s := servertest.Opened(t, kubernetesstore.Open, kubernetesstore.Config{Prefix: "rights", Kubeconfig: k.Kubeconfig(t, "https://"+k.Secure(), token)})
		err := call(s)
		want := fmt.Sprintf("cannot %s resource \"leases\" in API group \"coordination.k8s.io\" in the namespace \"ids\"", missing)
		if err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), want) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
	err := servertest.Refusal(t, kubernetesstore.Open, kubernetesstore.Config{Kubeconfig: k.Kubeconfig(t, "https://"+k.Secure(), "nobody's")})
	if err == nil || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("as nobody: %v", err)
	}
}

func TestCertificateOfAnotherAuthorityIsRefused(t *testing.T) {
	k := shared()
	other := *k
	other.CAFile = testkit.NewAuthority(t).File
	err := servertest.Refusal(t, kubernetesstore.Open, kubernetesstore.Config{Kubeconfig: other.Kubeconfig(t, "https://"+k.Secure(), k.Token)})
	if err == nil || !strings.Contains(err.Error(), "unknown authority") {
		t.Error(err)
	}
}

func TestNamespaceThatDoesNotExistIsNoConflict(t *testing.T) {
	k := shared()
	s := servertest.Opened(t, kubernetesstore.Open, kubernetesstore.Config{
		Namespace: "nowhere", Kubeconfig: k.Kubeconfig(t, "https://"+k.Secure(), k.Token),
	})
	if _, err := s.Swap(t.Context(), "key", "", nil); err == nil || errors.Is(err, store.ErrConflict) || !strings.Contains(err.Error(), "nowhere") {
		t.Errorf("create: %v", err)
	}
}

// A restored etcd gives a resource version again, and a copied Lease has a token again.
func TestSwapComparesBothPartsOfTheVersion(t *testing.T) {
	s := open(t, shared(), "parts")
	first := servertest.Swap(t, s, "key", "", "first")
	second := servertest.Swap(t, s, "key", first, "second")
	old, _, _ := strings.Cut(string(first), ".")
	token, resource, _ := strings.Cut(string(second), ".")
	for name, version := range map[string]store.Version{
		"an earlier token at the present revision": store.Version(old + "." + resource),
		"the present token at another revision":    store.Version(token + "." + resource + "0"),
		"no revision":                              store.Version(token + "."),
	} {
		if _, err := s.Swap(t.Context(), "key", version, nil); !errors.Is(err, store.ErrConflict) {
			t.Errorf("swap under %s: %v", name, err)
		}
	}
	servertest.Swap(t, s, "key", second, "third")
}

func TestWriteByOthersMakesTheVersionAnotherOne(t *testing.T) {
	k := shared()
	s := open(t, k, "labelled")
	version := servertest.Swap(t, s, "key", "", "value")
	k.Must(t, http.MethodPatch, k.Leases(testkit.KubernetesNamespace, "labelled.key"), map[string]any{"metadata": map[string]any{"labels": map[string]string{"a": "b"}}}, nil)
	if _, err := s.Swap(t.Context(), "key", version, nil); !errors.Is(err, store.ErrConflict) {
		t.Errorf("swap: %v", err)
	}
	e, err := s.Get(t.Context(), "key")
	if err != nil || string(e.Value) != "value" || e.Version == version {
		t.Errorf("get: %+v, %v", e, err)
	}
}

func TestLeaseShowsWhoWroteLast(t *testing.T) {
	k := shared()
	s := open(t, k, "shown")
	servertest.Swap(t, s, "ns/default/worker/0007", servertest.Swap(t, s, "ns/default/worker/0007", "", "first"), "second")
	var lease struct {
		Spec struct{ HolderIdentity, RenewTime string }
	}
	k.Must(t, http.MethodGet, k.Leases(testkit.KubernetesNamespace, "shown.ns.default.worker.0007"), nil, &lease)
	host, err := os.Hostname()
	if err != nil || lease.Spec.HolderIdentity != fmt.Sprintf("%s/%d", host, os.Getpid()) {
		t.Errorf("held by %q", lease.Spec.HolderIdentity)
	}
	if at, err := time.Parse(time.RFC3339, lease.Spec.RenewTime); err != nil || time.Since(at) > time.Hour {
		t.Errorf("renewed at %q", lease.Spec.RenewTime)
	}
}

func TestNamespaceThatWasMadeAgainIsNotTakenForEmpty(t *testing.T) {
	k := shared()
	s, witness := open(t, k, "gone"), open(t, k, "gone")
	servertest.Swap(t, s, "key", "", "value")
	if _, err := witness.Get(t.Context(), "other"); !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	for _, name := range []string{"gone", "gone.key"} {
		k.Must(t, http.MethodDelete, k.Leases(testkit.KubernetesNamespace, name), nil, nil)
	}
	check := func(state string) {
		for _, s := range []*kubernetesstore.Store{s, witness} {
			if _, err := s.Get(t.Context(), "key"); err == nil || errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s: get: %v", state, err)
			}
			if _, err := s.Swap(t.Context(), "key", "", nil); err == nil || errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: create: %v", state, err)
			}
		}
	}
	check("deleted")
	servertest.Swap(t, open(t, k, "gone"), "key", "", "in the new one") // by a process that has seen nothing
	check("made again")
}

func TestListIsWholeThoughEtcdIsCompacted(t *testing.T) {
	k := shared()
	s := open(t, k, "compacted")
	const n = 1100 // three pages
	var writing sync.WaitGroup
	for part := range 10 {
		writing.Go(func() {
			for i := part; i < n; i += 10 {
				if _, err := s.Swap(t.Context(), fmt.Sprintf("k/%d", i), "", []byte("value")); err != nil {
					t.Error(err)
				}
			}
		})
	}
	writing.Wait()
	seen := map[string]bool{}
	for e, err := range s.List(t.Context(), "k/") {
		if err != nil || seen[e.Key] {
			t.Fatalf("%+v, %v", e, err)
		}
		if seen[e.Key] = true; len(seen)%400 == 0 {
			if err := k.Compact(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(seen) != n {
		t.Errorf("%d registers, want %d", len(seen), n)
	}
}

func TestRegistersOutliveTheAPIServerAndItsEtcd(t *testing.T) {
	t.Parallel()
	k := testkit.StartKubernetes(t)
	s := open(t, k, "outlive")
	version := servertest.Swap(t, s, "key", "", "before")
	for round := range 2 {
		k.Etcd.Kill()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		if _, err := s.Swap(ctx, "key", version, []byte("without etcd")); err == nil || errors.Is(err, store.ErrConflict) {
			t.Errorf("swap without etcd: %v", err)
		}
		cancel()
		if round == 1 { // the other time the API server goes on
			k.Kill()
			k.Etcd.Start()
			k.Start()
		} else {
			k.Etcd.Start()
		}
		version = servertest.Persist(t, s, "key", version, fmt.Sprintf("after %d", round))
	}
	k.Etcd.Pause()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := s.Swap(ctx, "key", version, []byte("lost")); err == nil || errors.Is(err, store.ErrConflict) {
		t.Errorf("swap on an etcd that hangs: %v", err)
	}
	k.Etcd.Resume()
	servertest.Persist(t, s, "key", version, "at last")
}

// TestManyCreateTheFirstRegistersAtOnce is about the anchor, which one of them makes.
func TestManyCreateTheFirstRegistersAtOnce(t *testing.T) {
	k := shared()
	stores := []*kubernetesstore.Store{open(t, k, "first"), open(t, k, "first")}
	var creating sync.WaitGroup
	for i := range 40 {
		creating.Go(func() {
			s := stores[i%len(stores)]
			if _, err := s.Get(t.Context(), fmt.Sprint(i)); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("get: %v", err)
			}
			if _, err := s.Swap(t.Context(), fmt.Sprint(i), "", nil); err != nil {
				t.Error(err)
			}
		})
	}
	creating.Wait()
}
