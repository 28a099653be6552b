package main

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// build is what the binary says of itself.
type build struct {
	// Version is the module's version, "devel" when built from a work tree.
	Version string `json:"version"`
	// Revision and Time are those of the commit, when version control was
	// there at the build; Modified says that the tree differed from it.
	Revision string `json:"revision,omitempty"`
	Time     string `json:"time,omitempty"`
	Modified bool   `json:"modified"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
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

func (b build) String() string {
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

// thisBuild is the running binary's.
func thisBuild() build {
	info, _ := debug.ReadBuildInfo() // nil where there is none
	return buildOf(info)
}

func (p program) version() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the version, the revision and the Go version",
		Example: `  snowfence version
  snowfence version -o json`,
	}
	f := outputFlag(cmd)
	cmd.RunE = func(*cobra.Command, []string) error {
		b := thisBuild()
		return p.answer(*f, b, table(
			"version, revision, modified, go, platform",
			[][]string{{b.Version, orDash(b.Revision), fmt.Sprint(b.Modified), b.Go, b.Platform}},
		), b.String()+"\n")
	}
	return cmd
}

// orDash fills an empty cell of a table.
func orDash(s string) string { return cmp.Or(s, "-") }
