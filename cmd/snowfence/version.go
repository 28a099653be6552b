package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// build is what the binary says of itself.
type build struct {
	Version  string `json:"version"` // of the module, "devel" when built from a work tree
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"` // of the revision
	Modified bool   `json:"modified"`       // the tree differed from the revision
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// thisBuild is the running binary's.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return buildOf(info)
}

// buildOf reads what the toolchain stored.
func buildOf(info *debug.BuildInfo) build {
	b := build{Version: "devel", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info == nil {
		return b
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		b.Version = v
	}
	stored := map[string]string{}
	for _, s := range info.Settings {
		stored[s.Key] = s.Value
	}
	b.Revision, b.Time, b.Modified = stored["vcs.revision"], stored["vcs.time"], stored["vcs.modified"] == "true"
	return b
}

// String is the line that the verb prints.
func (b build) String() string {
	line := "snowfence " + b.Version
	if b.Revision != "" {
		line += " " + b.Revision
	}
	if b.Modified {
		line += " modified"
	}
	return line + " " + b.Go + " " + b.Platform
}

func (p program) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Show the version, the revision and the Go version",
		Example: "  snowfence version\n  snowfence version -o json",
	}
	f := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		return p.answer(*f, thisBuild(), thisBuild().String()+"\n")
	}
	return cmd
}
