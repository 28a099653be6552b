package manifests

import (
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	core "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const folder = "../../deploy/kubernetes"

var write = flag.Bool("manifests.write", false, "write the plain YAML")

// plain are the values of the folders with plain YAML.
func plain() map[string]string {
	return map[string]string{
		"deployment": "{kind: Deployment}", "daemonset": "{kind: DaemonSet}", "statefulset": "{kind: StatefulSet}", "pair": "{kind: Pair}",
	}
}

// render returns the YAML that the chart makes of values, as a release by the name in the namespace.
func render(name, namespace, values string) (string, error) {
	var given map[string]any
	if err := yaml.UnmarshalStrict([]byte(values), &given); err != nil {
		return "", err
	}
	chart, err := loader.Load(filepath.Join(folder, "chart"))
	if err != nil {
		return "", err
	}
	complete, err := util.ToRenderValues(chart, given, common.ReleaseOptions{Name: name, Namespace: namespace, IsInstall: true}, common.DefaultCapabilities)
	if err != nil {
		return "", err
	}
	files, err := engine.Render(chart, complete)
	if err != nil {
		return "", err
	}
	text := ""
	for _, file := range slices.Sorted(maps.Keys(files)) {
		if content := strings.Trim(files[file], "\n"); content != "" {
			text += "---\n" + strings.TrimPrefix(content, "---\n") + "\n"
		}
	}
	return text, nil
}

// objects decodes YAML strictly.
func objects(text string) (all []runtime.Object, err error) {
	types := runtime.NewScheme()
	if err := errors.Join(scheme.AddToScheme(types), monitoring.AddToScheme(types)); err != nil {
		return nil, err
	}
	decoder := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer()
	for document := range strings.SplitSeq(text, "---\n") {
		if strings.TrimSpace(document) == "" {
			continue
		}
		object, _, err := decoder.Decode([]byte(document), nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, document)
		}
		all = append(all, object)
	}
	return all, nil
}

// program builds the daemon.
var program = sync.OnceValues(func() (string, error) {
	path, err := filepath.Abs("../../.bin/tests/snowfence-manifests")
	if err != nil {
		return "", err
	}
	build := exec.Command("go", "build", "-o", path, ".")
	build.Dir, build.Env = "../../cmd/snowfence", append(os.Environ(), "GOWORK=")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return path, nil
})

// checkConfig has the daemon check the configuration in a ConfigMap. Files of secrets stand in for those of a pod.
func checkConfig(t *testing.T, all []runtime.Object) {
	t.Helper()
	binary, err := program()
	if err != nil {
		t.Fatal(err)
	}
	for _, object := range all {
		config, ok := object.(*core.ConfigMap)
		if !ok {
			continue
		}
		given := strings.ReplaceAll(config.Data["snowfence.yaml"], "&ca=/etc/snowfence/store/ca.crt", "")
		text := regexp.MustCompile(`(?m)^(tls:\n  .*\n  .*|token-file: .*)\n`).ReplaceAllString(given, "")
		if text != given {
			text += "insecure: true\n"
		}
		file := filepath.Join(t.TempDir(), "snowfence.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		check := exec.CommandContext(t.Context(), binary, "config", "check", "--config", file)
		check.Env = append(os.Environ(), "KUBECONFIG="+kubeconfig(t), "PASSWORD=secret")
		if out, err := check.CombinedOutput(); err != nil {
			t.Errorf("%v: %s\n%s", err, out, text)
		}
	}
}

// kubeconfig is of a server that nobody asks.
func kubeconfig(t *testing.T) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "kubeconfig")
	content := `{apiVersion: v1, kind: Config, current-context: a, clusters: [{name: a, cluster: {server: "https://127.0.0.1:1"}}],
users: [{name: a, user: {token: a}}], contexts: [{name: a, context: {cluster: a, user: a, namespace: ids}}]}`
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestPlainYAMLIsOfTheChart(t *testing.T) {
	for name, values := range plain() {
		text, err := render("snowfence", "snowfence", values)
		if err != nil {
			t.Fatal(err)
		}
		text = "# The chart made this. Change the chart, and run \"make manifests\".\n" + text
		file := filepath.Join(folder, name, "snowfence.yaml")
		if *write {
			if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != text {
			t.Errorf("%s is not what the chart makes (%v): run make manifests", file, err)
		}
	}
}

// kustomize builds a folder of the plain YAML, in a namespace of its own if one is named.
func kustomize(t *testing.T, name, namespace string) string {
	t.Helper()
	path := filepath.Join(folder, name)
	if namespace != "" {
		overlay := t.TempDir()
		base, err := filepath.Abs(path)
		if err == nil {
			base, err = filepath.Rel(overlay, base) // resources must be relative
		}
		if err != nil {
			t.Fatal(err)
		}
		text := fmt.Sprintf("namespace: %s\nresources: [%s]\n", namespace, base)
		if err := os.WriteFile(filepath.Join(overlay, "kustomization.yaml"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		path = overlay
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), path)
	if err != nil {
		t.Fatal(err)
	}
	text, err := built.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestKustomizeBuildsEachFolderInAnyNamespace(t *testing.T) {
	for name := range plain() {
		all, err := objects(kustomize(t, name, ""))
		if err != nil || len(all) < 8 {
			t.Errorf("%s: %d objects, %v", name, len(all), err)
		}
		checkConfig(t, all)
		if text := kustomize(t, name, "elsewhere"); strings.Contains(text, "namespace: snowfence\n") {
			t.Errorf("%s: a reference stays behind in\n%s", name, text)
		}
	}
}

// example returns the values of the page of the folder.
func example() string {
	page, err := os.ReadFile(filepath.Join(folder, "README.md"))
	if err != nil {
		return err.Error()
	}
	_, rest, _ := strings.Cut(string(page), "\n```yaml\n")
	values, _, _ := strings.Cut(rest, "\n```\n")
	return values
}

// combinations are all values that matter together.
func combinations() (all []string) {
	stores := []string{
		"", "store: 'postgres://ids:${PASSWORD}@db/ids?durable=true', env: [{name: PASSWORD, valueFrom: {secretKeyRef: {name: db, key: password}}}]",
		"store: main, config: {stores: {main: 'etcd://etcd-1,etcd-2/ids'}}",
	}
	for _, kind := range []string{"Deployment", "DaemonSet", "StatefulSet", "Pair"} {
		for _, store := range stores {
			for _, secrets := range []string{"", "tls: cert, tokens: tokens, networkPolicy: {enabled: false}", "tls: cert, tokens: tokens"} {
				for _, monitor := range []string{"", "monitor: {enabled: true, endpoint: {interval: 15s, tlsConfig: {insecureSkipVerify: true}}}"} {
					parts := slices.DeleteFunc([]string{"kind: " + kind, store, secrets, monitor}, func(s string) bool { return s == "" })
					all = append(all, "{"+strings.Join(parts, ", ")+"}")
				}
			}
		}
	}
	return append(all,
		example(),
		"{store: 'redis://redis/0', config: {generators: {orders: {window: 2m}}}}",
		"{replicas: 1, store: 'file:/data', claim: ids}",
		"{replicas: 1, config: {generators: {default: {worker: 7}}}}",
		"{replicas: 1000}",
		"{replicas: 7, config: {layout: ms41-worker3-seq19}}",
		"{replicas: 15, config: {generators: {orders: {preset: sonyflake-v2, workers: 0-15}}}}",
		"{config: {log: {level: debug}, limits: {batch: 100}, generators: {orders: {}, invoices: {kind: segment}, big-ones: {kind: wide, namespace: big, workers: 0-99}}}}",
		"{kind: StatefulSet, replicas: 8, config: {generators: {orders: {}, big-ones: {namespace: big, layout: ms41-worker3-seq19}}}}",
		"{kind: DaemonSet, config: {layout: twitter}}",
		"{kind: Pair, config: {generators: {orders: {window: 2s}}}}",
		"{ports: {http: 8080, resp: 0, grpc: 0, thrift: 7609}, cpu: 2, memory: 2047, linger: 30, drain: 60, image: {repository: example.com/ids, tag: v1}}",
		"{scheduling: {nodeSelector: {pool: ids}, tolerations: [{operator: Exists}], priorityClassName: system-cluster-critical, imagePullSecrets: [{name: pull}]}}",
	)
}

func TestEveryRenderingDecodesStrictlyAndConfiguresTheDaemon(t *testing.T) {
	checked := map[string]bool{} // configurations, of which there are fewer than renderings
	for _, values := range combinations() {
		text, err := render("ids", "production", values)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		all, err := objects(text)
		if err != nil {
			t.Errorf("%s: %v", values, err)
			continue
		}
		for _, object := range all {
			if config, ok := object.(*core.ConfigMap); ok && !checked[config.Data["snowfence.yaml"]] {
				checked[config.Data["snowfence.yaml"]] = true
				checkConfig(t, all)
			}
		}
	}
	t.Logf("%d renderings, %d configurations", len(combinations()), len(checked))
}

func TestPodHasTheFilesThatItsStoreNeeds(t *testing.T) {
	for values, want := range map[string][]string{
		example():                          {"mountPath: /etc/snowfence/store,", "items: [{key: ca.crt, path: ca.crt}]", "{name: data, emptyDir: {}}"},
		"{store: 'redis://redis/0'}":       {"{name: data, emptyDir: {}}", "    data: /data\n"},
		"{store: 'etcd://a/ids?loss=10s'}": {"{name: data, emptyDir: {}}"},
		"{store: main, config: {stores: {main: 'nats://a,b/ids'}}}": {"{name: data, emptyDir: {}}"},
		"{config: {journal: true}}":                                 {"{name: data, emptyDir: {}}"},
		"{replicas: 1, store: 'file:/data', claim: ids}":            {"claimName: ids", "    data: /data\n"},
		"{store: 'postgres://ids@db/ids?durable=true'}":             nil,
		"{store: kubernetes:///}":                                   nil,
	} {
		text, err := render("ids", "production", values)
		if err != nil {
			t.Errorf("%s: %v", values, err)
		}
		for _, part := range want {
			if !strings.Contains(text, part) {
				t.Errorf("%s: the pod lacks %q", values, part)
			}
		}
		if want == nil && strings.Contains(text, "name: data,") {
			t.Errorf("%s: the pod has a folder that it does not need", values)
		}
	}
}

func TestUnsafeValuesAreRefusedWithAReason(t *testing.T) {
	for values, reason := range map[string]string{
		"{networkPolicy: {enabled: false}}":                                                                 "anybody who reaches the pods gets ids",
		"{networkPolicy: {enabled: false}, tokens: tokens}":                                                 "anybody who reaches the pods gets ids",
		"{networkPolicy: {clients: []}}":                                                                    "minItems",
		"{networkPolicy: {clients: [{}]}}":                                                                  "minProperties",
		"{networkpolicy: {enabled: true}}":                                                                  "networkpolicy",
		"{config: {insecure: true}}":                                                                        "insecure",
		"{config: {store: 'mem://'}}":                                                                       "store",
		"{config: {limits: {linger: 0s}}}":                                                                  "linger",
		"{env: [{name: SNOWFENCE_STORE, value: 'mem://'}]}":                                                 "env",
		"{store: 'mem://'}":                                                                                 "pods can't share it",
		"{store: '${STORE}'}":                                                                               "pods can't share it",
		"{config: {stores: {other: 'mem://'}}}":                                                             "pods can't share it",
		"{store: 'file:/data', claim: ids, replicas: 2}":                                                    "a folder is of one host",
		"{store: main, config: {stores: {main: 'file:/data'}}, claim: ids}":                                 "a folder is of one host",
		"{store: 'file:/data', claim: ids, kind: DaemonSet, replicas: 1}":                                   "a folder is of one host",
		"{store: 'file:/data', replicas: 1}":                                                                "an emptyDir",
		"{store: 'file:/tmp', claim: ids, replicas: 1}":                                                     "where the claim is",
		"{store: 'file:/data/../tmp', claim: ids, replicas: 1}":                                             "where the claim is",
		"{claim: ids, replicas: 1}":                                                                         "is for a store file:/data alone",
		"{replicas: 1000, config: {generators: {orders: {}, invoices: {}}}}":                                "there are 1024",
		"{replicas: 8, config: {layout: ms41-worker3-seq19}}":                                               "there are 8",
		"{replicas: 8, config: {layout: ms41-datacenter2-worker1-seq19@2026-01-01}}":                        "there are 8",
		"{replicas: 2, config: {generators: {a: {layout: ms41-datacenter2-worker1-seq19, datacenter: 1}}}}": "there are 2",
		"{config: {generators: {orders: {workers: 7-9}}}}":                                                  "there are 3",
		"{kind: StatefulSet, replicas: 9, config: {layout: ms41-worker3-seq19}}":                            "there are 8",
		"{config: {layout: sonyflake-v2}}":                                                                  "is not known here",
		"{config: {generators: {orders: {preset: twitter}}}}":                                               "is not known here",
		"{config: {generators: {orders: {worker: 7}}}}":                                                     "one worker id is for one pod",
		"{kind: DaemonSet, config: {generators: {orders: {worker: 7}}}}":                                    "one worker id is for one pod",
		"{kind: StatefulSet, config: {generators: {orders: {worker: 0}}}}":                                  "the ordinal of the pod",
		"{kind: StatefulSet, config: {generators: {orders: {}, invoices: {}}}}":                             "a namespace of its own",
		"{config: {generators: {orders: {standby: true, layout: ms41-seq22}}}}":                             "is for kind: Pair",
		"{kind: Pair, config: {layout: ms41-worker10-seq12}}":                                               "without worker bits",
		"{kind: Pair, config: {generators: {orders: {worker: 1}}}}":                                         "one worker id is for one pod",
		"{ports: {http: 0, resp: 0, grpc: 0}}":                                                              "no program could ask",
		"{ports: {http: 0}, monitor: {enabled: true}}":                                                      "which is off",
		"{ports: {http: 80}}":                                                                               "http",
		"{ports: {http: 7680}}":                                                                             "http",
		"{linger: 0}":                                                                                       "linger",
	} {
		if text, err := render("ids", "production", values); err == nil || !strings.Contains(err.Error(), reason) {
			t.Errorf("%s: %.200s %v, want %q", values, text, err, reason)
		}
	}
}
