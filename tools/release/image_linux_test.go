package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/x509"
	"debug/elf"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	oci "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

// build builds a program of this tree for an architecture, with the flags of "make build".
func build(t *testing.T, arch, program string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "snowfence")
	command := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-buildvcs=auto", "-o", file, program)
	command.Dir, command.Env = "../..", append(os.Environ(), "GOWORK=", "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+arch)
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build for %s: %v\n%s", arch, err, out)
	}
	return file
}

// images makes a release of programs, and returns the digest and the images of its index.
func images(t *testing.T, programs ...string) (digest string, images []oci.Image) {
	t.Helper()
	r := release{version: "v0.0.0-trial", out: t.TempDir()}
	if err := r.write(programs); err != nil {
		t.Fatal(err)
	}
	top, err := layout.ImageIndexFromPath(filepath.Join(r.out, "image"))
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := top.IndexManifest()
	if err != nil || len(manifest.Manifests) != 1 {
		t.Fatalf("layout: %v %v", manifest, err)
	}
	index, err := top.ImageIndex(manifest.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	inner, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range inner.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		images = append(images, image)
	}
	return manifest.Manifests[0].Digest.String(), images
}

// unpack writes the files of an image below a folder, with their owners if this process may give files away.
func unpack(t *testing.T, image oci.Image) (root string) {
	t.Helper()
	root = t.TempDir()
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	files := mutate.Extract(image)
	defer func() { _ = files.Close() }()
	for r := tar.NewReader(files); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return root
		} else if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(root, filepath.Clean("/"+h.Name))
		if h.FileInfo().IsDir() {
			err = os.Mkdir(path, h.FileInfo().Mode())
		} else {
			var data []byte
			if data, err = io.ReadAll(r); err == nil {
				err = os.WriteFile(path, data, h.FileInfo().Mode())
			}
		}
		if err == nil && os.Geteuid() == 0 {
			err = os.Lchown(path, h.Uid, h.Gid)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// container is a command in the root of an image, as the image's user: the root is for reading alone, and the user's folder is
// another file system. mounts are further lines of its shell.
func container(t *testing.T, root, mounts string, config oci.Config, args ...string) *exec.Cmd {
	t.Helper()
	namespace, drop, owner := []string{"-m"}, `chroot --userspec=`+config.User+` "$ROOT"`, ",uid=65532,gid=65532"
	if os.Geteuid() != 0 { // then the user is the only one of its namespace
		namespace, drop, owner = []string{"-r", "-m"}, `unshare --user --map-user=65532 --map-group=65532 --root="$ROOT"`, ""
	}
	script := `mount --bind "$ROOT" "$ROOT" && mount -t tmpfs -o mode=700` + owner + ` data "$ROOT/var/lib/snowfence" && ` + mounts +
		`mount -o remount,bind,ro "$ROOT" && exec ` + drop + ` "$@"`
	command := exec.CommandContext(t.Context(), "unshare", append(append(namespace, "sh", "-c", script, "sh"), append(config.Entrypoint, args...)...)...)
	command.Env = append(config.Env, "PATH=/usr/sbin:/usr/bin:/sbin:/bin", "ROOT="+root)
	return command
}

// TestImageRunsWithNothingElse runs this tree's image as its own user on a root that can't be written to.
func TestImageRunsWithNothingElse(t *testing.T) {
	native, other := build(t, runtime.GOARCH, "./cmd/snowfence"), "arm64"
	if runtime.GOARCH == other {
		other = "amd64"
	}
	// A small program stands in for the whole, which takes minutes to compile: "make reproducible" builds that.
	digest, both := images(t, native, build(t, other, "./internal/sim/simulate"))
	if len(both) != 2 {
		t.Fatalf("%d images", len(both))
	}
	file, err := both[0].ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	config, root := file.Config, unpack(t, both[0])
	if config.User != "65532:65532" || len(config.Env) > 0 || !slices.Equal(config.Entrypoint, []string{"/snowfence"}) || !slices.Equal(config.Cmd, []string{"serve"}) ||
		config.Labels["org.opencontainers.image.version"] != "v0.0.0-trial" || config.Labels["org.opencontainers.image.licenses"] != "Apache-2.0" {
		t.Errorf("configuration: %+v", config)
	}

	t.Run("equal programs make equal images", func(t *testing.T) {
		again := build(t, runtime.GOARCH, "./cmd/snowfence")
		one, err := both[0].Digest()
		if err != nil {
			t.Fatal(err)
		}
		_, second := images(t, again)
		if two, err := second[0].Digest(); err != nil || one != two {
			t.Errorf("%s and %s of the same tree: %v; the index is %s", one, two, err, digest)
		}
	})
	t.Run("the other architecture", func(t *testing.T) {
		program, err := elf.Open(filepath.Join(unpack(t, both[1]), "snowfence"))
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = program.Close() }()
		machine := map[string]elf.Machine{"arm64": elf.EM_AARCH64, "amd64": elf.EM_X86_64}[other]
		if file, err := both[1].ConfigFile(); err != nil || file.Architecture != other || program.Machine != machine || program.Section(".interp") != nil {
			t.Errorf("%v for %s, linked to a loader: %v (%v)", program.Machine, file.Architecture, program.Section(".interp") != nil, err)
		}
	})
	t.Run("no store is set", func(t *testing.T) {
		out, err := container(t, root, "", config, config.Cmd...).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "set --data") {
			t.Errorf("it starts without a store: %v\n%s", err, out)
		}
	})
	t.Run("the root is not written to", func(t *testing.T) {
		out, err := container(t, root, "", config, "next", "--data", "/data").CombinedOutput()
		if err == nil || !strings.Contains(string(out), "read-only file system") {
			t.Errorf("%v\n%s", err, out)
		}
	})
	t.Run("it mints", func(t *testing.T) { mints(t, root, config) })
	t.Run("it has authorities", func(t *testing.T) { trusts(t, root, config) })
}

// mints asks a daemon in the image for an id, and for a number of a day in a zone.
func mints(t *testing.T, root string, config oci.Config) {
	t.Helper()
	daemon := container(t, root, "", config, append(config.Cmd, "--data", "/var/lib/snowfence", "--http", "127.0.0.1:0", "--resp=", "--grpc=", "--thrift=")...)
	daemon.Env = append(daemon.Env, "SNOWFENCE_GENERATORS_DEFAULT_KIND=snowflake", "SNOWFENCE_GENERATORS_DAY_KIND=daily", "SNOWFENCE_GENERATORS_DAY_SETTINGS_ZONE=Europe/Berlin")
	stderr, err := daemon.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := daemon.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = daemon.Wait() }()
	defer func() { _ = daemon.Process.Kill() }() // unshare and chroot became it
	address, log := "", strings.Builder{}
	for lines := bufio.NewScanner(stderr); lines.Scan() && lines.Text() != "snowfence: ready"; log.WriteString(lines.Text() + "\n") {
		if at, ok := strings.CutPrefix(lines.Text(), "snowfence: listening on "); ok {
			address = at
		}
	}
	go func() { _, _ = io.Copy(io.Discard, stderr) }()
	for _, generator := range []string{"default", "day"} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address+"/v1/generators/"+generator+"/ids", http.NoBody)
		if err != nil {
			t.Fatalf("%v\n%s", err, &log)
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatalf("%v\n%s", err, &log)
		}
		var answer struct{ IDs []string }
		err = json.NewDecoder(response.Body).Decode(&answer)
		_ = response.Body.Close()
		if err != nil || len(answer.IDs) != 1 {
			t.Errorf("%s: %s: %v %v\n%s", generator, response.Status, answer, err, &log)
		}
	}
}

// trusts shows that the program reads the file of authorities, and refuses a server that none of them vouches for.
func trusts(t *testing.T, root string, config oci.Config) {
	t.Helper()
	path := filepath.Join(root, "etc/ssl/certs/ca-certificates.crt")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	pool, n := x509.NewCertPool(), bytes.Count(text, []byte("BEGIN CERTIFICATE"))
	if !pool.AppendCertsFromPEM(text) || n < 100 {
		t.Errorf("%d authorities", n)
	}
	server := httptest.NewTLSServer(http.NotFoundHandler())
	defer server.Close()
	args := []string{"namespace", "list", "--store", "rediss://" + server.Listener.Addr().String() + "/0"}
	const unknown = "certificate signed by unknown authority"
	if out, err := container(t, root, "", config, args...).CombinedOutput(); err == nil || !strings.Contains(string(out), unknown) {
		t.Errorf("a server of no known authority: %v\n%s", err, out)
	}
	own := filepath.Join(t.TempDir(), "own.pem")
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(own, certificate, 0o644); err != nil {
		t.Fatal(err)
	}
	mount := `mount --bind '` + own + `' "$ROOT/etc/ssl/certs/ca-certificates.crt" && `
	if out, err := container(t, root, mount, config, args...).CombinedOutput(); err == nil || strings.Contains(string(out), unknown) {
		t.Errorf("with the server's own certificate among the authorities: %v\n%s", err, out)
	}
}
