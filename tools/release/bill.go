package main

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"strings"
	"time"

	"github.com/CycloneDX/cyclonedx-go"
)

// ours begins the paths of this tree's modules. They have the version of the release.
const ours = "snowfence.example/snowfence"

// writeBill writes the modules that the toolchain linked into the program, in the form of CycloneDX.
func (r release) writeBill(p program) error {
	main := r.component(cyclonedx.ComponentTypeApplication, p.info.Main.Path, r.version, "")
	components := []cyclonedx.Component{r.component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(p.info.GoVersion, "go"), "")}
	for _, d := range p.info.Deps {
		components = append(components, r.component(cyclonedx.ComponentTypeLibrary, d.Path, d.Version, d.Sum))
	}
	var refs []string
	for _, c := range components {
		refs = append(refs, c.BOMRef)
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Timestamp: p.committed().Format(time.RFC3339), Component: &main}
	bom.Components = &components
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: main.BOMRef, Dependencies: &refs}}
	var b bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&b, cyclonedx.BOMFileFormatJSON).SetPretty(true).SetEscapeHTML(false).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(r.path(p, "", ".cdx.json"), b.Bytes(), 0o600)
}

// component is one module. sum is its line in go.sum, a SHA-256 in base64, or nothing.
func (r release) component(kind cyclonedx.ComponentType, module, version, sum string) cyclonedx.Component {
	if module == ours || strings.HasPrefix(module, ours+"/") {
		version = r.version
	}
	url := "pkg:golang/" + module + "@" + version
	c := cyclonedx.Component{BOMRef: url, Type: kind, Name: module, Version: version, PackageURL: url}
	if raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(sum, "h1:")); err == nil && len(raw) > 0 {
		c.Hashes = &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: hex.EncodeToString(raw)}}
	}
	return c
}
