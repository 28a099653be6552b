// Package build says which build of the program runs.
package build

import (
	"runtime"
	"runtime/debug"
	"strings"
)

// Build is what the binary says of itself.
type Build struct {
	// Version is the module's version, "devel" when built from a work tree.
	Version string `json:"version"`
	// Revision and Time are those of the commit, when version control was
	// there at the build; Modified says that the tree differed from it.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	// Go and Platform are those of the toolchain.
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Of reads what the toolchain stored.
func Of(info *debug.BuildInfo) Build {
	b := Build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.time":
			b.Time = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}

// String is the line that the verb version prints.
func (b Build) String() string {
	var s strings.Builder
	s.WriteString("snowfence " + b.Version)
	if b.Revision != "" {
		s.WriteString(" " + b.Revision)
	}
	if b.Modified {
		s.WriteString(" modified")
	}
	return s.String() + " " + b.Go + " " + b.Platform
}

// This is the running binary's.
func This() Build {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return Of(info)
}
