package testkit

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// KubernetesNamespace is the namespace in which tests keep their registers.
	KubernetesNamespace = "ids"

	kubernetesProgram = "kube-apiserver-1.37.2" // in .bin, see the Makefile
	kubernetesIssuer  = "https://kubernetes.default.svc"
	kubernetesAdmin   = "admin-hush" // the token of a user who may do anything
)

// Kubernetes is a kube-apiserver on an etcd of its own. There are no nodes, no controllers and no
// scheduler: objects are stored, and RBAC and admission judge requests. The first port takes plain HTTP,
// as kubectl proxy does: it passes requests on, with the admin's token if they have none. So a [Proxy] in front of
// it sees requests as text. The second port is the API server's own, with TLS.
type Kubernetes struct {
	*Server // the API server

	// Etcd holds the API server's objects.
	Etcd *Server

	// CAFile has the certificate of the authority that the API server's is of.
	CAFile string

	// Token lets in a user who may do anything.
	Token string

	accounts *ecdsa.PrivateKey // signs the tokens of service accounts
	front    *kubernetesFront
}

// Busy has the first port refuse all requests with status 429, as an API server with too many, or ends that.
func (k *Kubernetes) Busy(begin bool) { k.front.busy.Store(begin) }

// Expire has the first port pass requests on with a token that has expired, which the API server refuses, or ends that.
func (k *Kubernetes) Expire(t testing.TB, begin bool) {
	if !begin {
		k.front.expired.Store(nil)
		return
	}
	token := k.AccountToken(t, KubernetesNamespace, "expired", "none", -time.Minute)
	k.front.expired.Store(&token)
}

// StartKubernetes starts etcd and a kube-apiserver, with the namespace KubernetesNamespace. More arguments are added
// to the command line of the API server.
func StartKubernetes(t testing.TB, arguments ...string) *Kubernetes {
	t.Helper()
	program := os.Getenv("SNOWFENCE_TEST_PROGRAM_KUBE_APISERVER")
	if program == "" {
		program = filepath.Join(root(t), ".bin", kubernetesProgram)
	}
	if !fileExists(program) {
		t.Fatalf("%s is missing: run make .bin/%s", program, kubernetesProgram)
	}
	authority := NewAuthority(t)
	certificate, key := authority.Issue(t, "kube-apiserver", "127.0.0.1", "localhost")
	k := &Kubernetes{Etcd: Etcd(t), CAFile: authority.File, Token: kubernetesAdmin, accounts: newKey(t), front: &kubernetesFront{}}
	k.Server = StartServer(t, Program{
		Name: program, Ports: 2,
		Prepare: func(s *Server) error {
			secret, err := x509.MarshalECPrivateKey(k.accounts)
			if err != nil {
				return err
			}
			writePEM(t, filepath.Join(s.Dir, "accounts.pem"), "EC PRIVATE KEY", secret)
			tokens := fmt.Sprintf("%s,admin,admin,\"system:masters\"\n", kubernetesAdmin)
			if err := os.WriteFile(filepath.Join(s.Dir, "tokens.csv"), []byte(tokens), 0o600); err != nil {
				return err
			}
			return k.front.start(t, s, authority.Pool())
		},
		Arguments: func(s *Server) []string {
			accounts := filepath.Join(s.Dir, "accounts.pem")
			return append([]string{
				"--etcd-servers", "http://" + k.Etcd.Addr(), "--bind-address", "127.0.0.1", "--secure-port", fmt.Sprint(s.Ports[1]),
				"--tls-cert-file", certificate, "--tls-private-key-file", key, "--cert-dir", s.Dir,
				"--token-auth-file", filepath.Join(s.Dir, "tokens.csv"), "--authorization-mode", "RBAC",
				"--service-account-issuer", kubernetesIssuer, "--service-account-key-file", accounts, "--service-account-signing-key-file", accounts,
				"--disable-admission-plugins", "ServiceAccount", "--service-cluster-ip-range", "10.0.0.0/24",
				"--endpoint-reconciler-type", "none", "--profiling=false", "--shutdown-delay-duration", "0s",
			}, arguments...)
		},
		Ready: func(ctx context.Context, s *Server) error {
			return call(ctx, s, http.MethodGet, "/readyz", nil, nil)
		},
	})
	k.Must(t, http.MethodPost, "/api/v1/namespaces", map[string]any{"metadata": map[string]any{"name": KubernetesNamespace}}, nil)
	return k
}

// Secure is the address of the API server's own port, which speaks TLS.
func (k *Kubernetes) Secure() string { return k.Address(1) }

// Leases is the path of the leases of a namespace, and of one of them if a name is given.
func (k *Kubernetes) Leases(namespace string, name ...string) string {
	return "/apis/coordination.k8s.io/v1/namespaces/" + strings.Join(append([]string{namespace, "leases"}, name...), "/")
}

// Call asks the API server as the admin. body is encoded as JSON, and the answer decoded, unless they are nil.
func (k *Kubernetes) Call(ctx context.Context, method, path string, body, answer any) error {
	return call(ctx, k.Server, method, path, body, answer)
}

// Must is Call that has to succeed, in the end: a server that has just started may not be ready for everything.
func (k *Kubernetes) Must(t testing.TB, method, path string, body, answer any) {
	t.Helper()
	Eventually(t, func(ctx context.Context) error {
		err := k.Call(ctx, method, path, body, answer)
		if err != nil && strings.Contains(err.Error(), `"reason":"AlreadyExists"`) {
			return nil
		}
		return err
	})
}

// ServiceAccount makes a service account that may do the verbs to the leases of its namespace, and to no other
// object, by a Role. It returns the account's uid, for [Kubernetes.AccountToken].
func (k *Kubernetes) ServiceAccount(t testing.TB, namespace, name string, verbs ...string) (uid string) {
	t.Helper()
	const rbac = "rbac.authorization.k8s.io"
	meta := map[string]any{"name": name, "namespace": namespace}
	k.Must(t, http.MethodPost, "/api/v1/namespaces/"+namespace+"/serviceaccounts", map[string]any{"metadata": meta}, nil)
	k.Must(t, http.MethodPost, "/apis/"+rbac+"/v1/namespaces/"+namespace+"/roles", map[string]any{
		"metadata": meta,
		"rules":    []any{map[string]any{"apiGroups": []string{"coordination.k8s.io"}, "resources": []string{"leases"}, "verbs": verbs}},
	}, nil)
	k.Must(t, http.MethodPost, "/apis/"+rbac+"/v1/namespaces/"+namespace+"/rolebindings", map[string]any{
		"metadata": meta,
		"roleRef":  map[string]any{"apiGroup": rbac, "kind": "Role", "name": name},
		"subjects": []any{map[string]any{"kind": "ServiceAccount", "name": name, "namespace": namespace}},
	}, nil)
	var account struct {
		Metadata struct {
			UID string `json:"uid"`
		} `json:"metadata"`
	}
	k.Must(t, http.MethodGet, "/api/v1/namespaces/"+namespace+"/serviceaccounts/"+name, nil, &account)
	Eventually(t, func(ctx context.Context) error { // the authorizer learns of the role a little later
		var review struct {
			Status struct {
				Allowed bool `json:"allowed"`
			} `json:"status"`
		}
		err := k.Call(ctx, http.MethodPost, "/apis/authorization.k8s.io/v1/subjectaccessreviews", map[string]any{"spec": map[string]any{
			"user": "system:serviceaccount:" + namespace + ":" + name,
			"resourceAttributes": map[string]any{
				"group": "coordination.k8s.io", "resource": "leases", "namespace": namespace, "verb": verbs[0],
			},
		}}, &review)
		if err == nil && !review.Status.Allowed {
			err = errors.New("the role is not in force yet")
		}
		return err
	})
	return account.Metadata.UID
}

// AccountToken signs a token of a service account. The API server goes on to take it for up to 10 seconds after
// its end, from its cache.
func (k *Kubernetes) AccountToken(t testing.TB, namespace, name, uid string, lifetime time.Duration) string {
	t.Helper()
	now := time.Now()
	claims, err := json.Marshal(map[string]any{
		"iss": kubernetesIssuer, "aud": []string{kubernetesIssuer}, "sub": "system:serviceaccount:" + namespace + ":" + name,
		"iat": now.Unix(), "nbf": now.Unix() - 1, "exp": now.Add(lifetime).Unix(),
		"kubernetes.io": map[string]any{"namespace": namespace, "serviceaccount": map[string]any{"name": name, "uid": uid}},
	})
	if err != nil {
		t.Fatal(err)
	}
	text := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"ES256"}`)) + "." + base64.RawURLEncoding.EncodeToString(claims)
	digest := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, k.accounts, digest[:])
	if err != nil {
		t.Fatal(err)
	}
	signature := make([]byte, 64)
	r.FillBytes(signature[:32])
	s.FillBytes(signature[32:])
	return text + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// Kubeconfig writes a kubeconfig for a server, such as https://127.0.0.1:6443, and returns its path. A token is not
// sent to a server without TLS, as kubectl does not.
func (k *Kubernetes) Kubeconfig(t testing.TB, server, token string) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "kubeconfig")
	config := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
clusters: [{name: test, cluster: {server: %q%s}}]
users: [{name: test, user: {token: %q}}]
contexts: [{name: test, context: {cluster: test, user: test, namespace: %s}}]
`, server, k.authorityOf(server), token, KubernetesNamespace)
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func (k *Kubernetes) authorityOf(server string) string {
	if k == nil || !strings.HasPrefix(server, "https:") {
		return ""
	}
	return fmt.Sprintf(", certificate-authority: %q", k.CAFile)
}

// Snapshot stops the API server and copies etcd's data. Its result puts the data back in the same way: API
// servers must not run while their etcd goes back.
func (k *Kubernetes) Snapshot() (restore func(context.Context) error, err error) {
	k.Stop()
	back, err := k.Etcd.Snapshot("data")
	restore = func(ctx context.Context) error {
		k.Stop()
		return errors.Join(back(ctx), k.TryStart())
	}
	return restore, errors.Join(err, k.TryStart())
}

// Compact makes etcd forget its revisions but the present one.
func (k *Kubernetes) Compact(ctx context.Context) error {
	var status struct {
		Header struct {
			Revision string `json:"revision"`
		} `json:"header"`
	}
	err := call(ctx, k.Etcd, http.MethodPost, "/v3/maintenance/status", struct{}{}, &status)
	if err != nil {
		return err
	}
	err = call(ctx, k.Etcd, http.MethodPost, "/v3/kv/compaction", map[string]any{"revision": status.Header.Revision, "physical": true}, nil)
	if err != nil && strings.Contains(err.Error(), "has been compacted") {
		return nil
	}
	return err
}

// call asks a server over HTTP. body is encoded as JSON, and the answer decoded, unless they are nil.
func call(ctx context.Context, s *Server, method, path string, body, answer any) error {
	var content []byte
	if body != nil {
		encoded, err := json.Marshal(body)
		if err != nil {
			return err
		}
		content = encoded
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+s.Addr()+path, bytes.NewReader(content))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		request.Header.Set("Content-Type", "application/merge-patch+json")
	}
	response, err := Client().Do(request)
	if err != nil {
		return err
	}
	got, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return err
	}
	if !slices.Contains([]int{http.StatusOK, http.StatusCreated}, response.StatusCode) {
		return fmt.Errorf("%s %s: %s: %s", method, path, response.Status, got)
	}
	if answer == nil {
		return nil
	}
	return json.Unmarshal(got, answer)
}
