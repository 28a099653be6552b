package kubernetesstore

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestClusterThatMayBeOnSQLiteIsRefused opens an empty store on servers of all versions.
func TestClusterThatMayBeOnSQLiteIsRefused(t *testing.T) {
	const remedy = "say durable=true if the cluster is on etcd, or loss=15s"
	for name, test := range map[string]struct {
		version, query, refusal string // an empty version is kept secret
	}{
		"etcd":               {"v1.37.2", "", ""},
		"etcd of a vendor":   {"v1.37.2+rke2r1", "", ""},
		"k3s":                {"v1.37.2+k3s1", "", "version v1.37.2+k3s1: can be on SQLite"},
		"k0s":                {"v1.37.2+k0s.0", "", "version v1.37.2+k0s.0: can be on SQLite"},
		"no right":           {"", "", "where that is forbidden, "},
		"k3s, durable":       {"v1.37.2+k3s1", "&durable=true", ""},
		"k3s, with a loss":   {"v1.37.2+k3s1", "&loss=15s", ""},
		"no right, durable":  {"", "&durable=true", ""},
		"no right, but loss": {"", "&loss=15s", ""},
	} {
		played := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set(auditID, r.Header.Get(auditID))
			code, body := http.StatusNotFound, `{"reason": "NotFound", "message": "not found", "details": {"name": "snowfence"}}`
			switch {
			case r.URL.Path == "/version" && test.version == "":
				code, body = http.StatusForbidden, `{"reason": "Forbidden", "message": "forbidden"}`
			case r.URL.Path == "/version":
				code, body = http.StatusOK, fmt.Sprintf(`{"gitVersion": %q}`, test.version)
			}
			w.WriteHeader(code)
			_, _ = w.Write([]byte(body))
		}))
		kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
		content := fmt.Sprintf("{current-context: c, contexts: [{name: c, context: {cluster: c}}], clusters: [{name: c, cluster: {server: %q}}]}", played.URL)
		if err := os.WriteFile(kubeconfig, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := OpenURL(t.Context(), "kubernetes:///ids?kubeconfig="+kubeconfig+test.query)
		switch {
		case test.refusal != "" && (err == nil || !strings.Contains(err.Error(), test.refusal) || !strings.Contains(err.Error(), remedy)):
			t.Errorf("%s: %v", name, err)
		case test.refusal == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			traits, err := s.Traits(t.Context())
			if lossy := strings.Contains(test.query, "loss"); err != nil || traits.Durable == lossy || lossy && traits.Loss != 15*time.Second {
				t.Errorf("%s: %v, %v", name, traits, err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
		played.Close()
	}
}
