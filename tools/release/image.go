package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	oci "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	user   = 65532
	labels = "org.opencontainers.image."
)

// writeImage writes the image of all programs as an OCI layout, and for each of them an archive for "docker load".
func (r release) writeImage(programs []program) error {
	tag, err := name.NewTag("snowfence:" + r.version)
	if err != nil {
		return err
	}
	var images []mutate.IndexAddendum
	var notes map[string]string
	for _, p := range programs {
		notes = r.notes(p)
		image, err := imageOf(p, notes)
		if err != nil {
			return err
		}
		if err := tarball.WriteToFile(r.path(p, "_image", ".tar"), tag, image); err != nil {
			return err
		}
		images = append(images, mutate.IndexAddendum{Add: image, Descriptor: oci.Descriptor{Platform: &oci.Platform{OS: p.settings["GOOS"], Architecture: p.settings["GOARCH"]}}})
	}
	none := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	index, ok := mutate.Annotations(mutate.AppendManifests(none, images...), notes).(oci.ImageIndex)
	if !ok {
		return errors.New("the index takes no annotations")
	}
	at, err := layout.Write(filepath.Join(r.out, "image"), none)
	if err != nil {
		return err
	}
	return at.AppendIndex(index, layout.WithAnnotations(map[string]string{labels + "ref.name": r.version}))
}

// notes are the labels of an image, and the annotations of the index.
func (r release) notes(p program) map[string]string {
	return map[string]string{
		labels + "title": "snowfence", labels + "description": "Unique 64-bit ids that no clock can make repeat",
		labels + "source": "https://" + ours, labels + "licenses": "Apache-2.0", labels + "version": r.version,
		labels + "revision": p.settings["vcs.revision"], labels + "created": p.committed().Format(time.RFC3339),
	}
}

// imageOf is the image of one program. Store and folder of data are unset: each container would have
// ids of its own then, equal to those of the next one.
func imageOf(p program, notes map[string]string) (oci.Image, error) {
	var b bytes.Buffer
	if err := writeTar(&b, rootFiles(p.binary), p.committed()); err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b.Bytes())), nil },
		tarball.WithMediaType(types.OCILayer), tarball.WithCompressedCaching)
	if err != nil {
		return nil, err
	}
	at := oci.Time{Time: p.committed()}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer, History: oci.History{Created: at, CreatedBy: "tools/release"}})
	if err != nil {
		return nil, err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config.OS, config.Architecture, config.Created = p.settings["GOOS"], p.settings["GOARCH"], at
	config.Config = oci.Config{
		User: fmt.Sprintf("%d:%d", user, user), Entrypoint: []string{"/snowfence"}, Cmd: []string{"serve"}, Labels: notes,
		ExposedPorts: map[string]struct{}{"7600/tcp": {}, "7601/tcp": {}, "7602/tcp": {}, "7609/tcp": {}},
	}
	return mutate.ConfigFile(image, config)
}

// rootFiles are all files of an image: the program, the authorities that Mozilla trusts without a limit, the user, and a folder
// that is the user's, so that a volume there is, too. Time zones are in the program.
func rootFiles(binary []byte) []file {
	var authorities bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint == nil {
			_ = pem.Encode(&authorities, &pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}) // a buffer takes everything
		}
	}
	return []file{
		{name: "etc/", mode: 0o755},
		{name: "etc/group", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:\nsnowfence:x:%d:\n", user)},
		{name: "etc/passwd", mode: 0o644, data: fmt.Appendf(nil, "root:x:0:0::/:/none\nsnowfence:x:%d:%d::/none:/none\n", user, user)},
		{name: "etc/ssl/", mode: 0o755}, {name: "etc/ssl/certs/", mode: 0o755},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: 0o644, data: authorities.Bytes()},
		{name: "snowfence", mode: 0o755, data: binary},
		{name: "var/", mode: 0o755}, {name: "var/lib/", mode: 0o755}, {name: "var/lib/snowfence/", mode: 0o700, owner: user},
	}
}

// file is one of an image. The name of a folder ends with a slash.
type file struct {
	name  string
	mode  int64
	owner int // user and group
	data  []byte
}

func writeTar(w io.Writer, files []file, at time.Time) error {
	t := tar.NewWriter(w)
	for _, f := range files {
		h := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: f.mode, Uid: f.owner, Gid: f.owner, Size: int64(len(f.data)), ModTime: at}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := t.WriteHeader(h); err != nil {
			return err
		}
		if _, err := t.Write(f.data); err != nil {
			return err
		}
	}
	return t.Close()
}
